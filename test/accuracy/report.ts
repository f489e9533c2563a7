import { type Scored, type Summary, summarize } from './score';

type Cells = readonly string[];

const HEADER: Cells = ['', 'n', 'median', 'mean', '90th', '> 5 % too low'];

/** The table: one line per framework and method, totals per kind. */
export function table(scored: readonly Scored[]): string {
  const lines: Cells[] = [HEADER];
  for (const kind of ['allocated', 'reserved', 'process'] as const) {
    const ofKind = scored.filter((s) => s.kind === kind);
    if (ofKind.length === 0) continue;
    const groups = new Map<string, Scored[]>();
    for (const s of ofKind) {
      const name = `${kind}: ${framework(s.row.framework)}, ${s.row.method}`;
      groups.set(name, [...(groups.get(name) ?? []), s]);
    }
    for (const [name, group] of groups) lines.push(cells(name, summarize(group)));
    lines.push(cells(`${kind}, all`, summarize(ofKind)), []);
  }
  return aligned(lines);
}

/** A line per group; how many lie within the band of their run is its last figure, and what is too high in the mean before it. */
export function namedTable(title: string, groups: readonly (readonly [string, readonly Scored[]])[]): string {
  const lines: Cells[] = [[title, ...HEADER.slice(1), 'too high', 'within the band']];
  for (const [name, group] of groups) {
    const mean = group.reduce((sum, { error }) => sum + error, 0) / group.length;
    const inside = group.filter(({ within }) => within === 'inside').length;
    lines.push([...cells(name, summarize(group)), signed(mean), String(inside)]);
  }
  return aligned(lines);
}

/** How many measurements lie within the bands of their kind of run: a line per meter. */
export function coverage(scored: readonly Scored[]): string {
  const lines: Cells[] = [['measured within the band of its meter', 'below', 'inside', 'above']];
  for (const kind of ['allocated', 'reserved', 'process'] as const) {
    const places = scored.filter((s) => s.kind === kind).map((s) => s.within);
    if (places.length === 0) continue;
    const count = (place: Scored['within']) => String(places.filter((p) => p === place).length);
    lines.push([kind, count('below'), count('inside'), count('above')]);
  }
  return aligned(lines);
}

/** Frameworks by their name, without what the row states about them in brackets. */
function framework(text: string): string {
  return text.replace(/\s*\(lit-gpt\)/, '');
}

/** Every row with what was measured and estimated, worst first. */
export function misses(scored: readonly Scored[]): string {
  const sorted = [...scored].sort((a, b) => Math.abs(b.error) - Math.abs(a.error));
  const lines: Cells[] = [['row', 'what', 'measured GiB', 'estimated GiB', 'error']];
  for (const s of sorted) {
    lines.push([s.row.id, s.kind, gib(s.measured), gib(s.estimated), signed(s.error)]);
  }
  return aligned(lines);
}

function cells(name: string, summary: Summary): Cells {
  return [
    name,
    String(summary.count),
    percent(summary.median),
    percent(summary.mean),
    percent(summary.percentile90),
    percent(summary.tooLow),
  ];
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

function signed(share: number): string {
  return `${share < 0 ? '' : '+'}${percent(share)}`;
}

function gib(bytes: number): string {
  return (bytes / 2 ** 30).toFixed(2);
}

export function aligned(lines: readonly Cells[]): string {
  const widths: number[] = [];
  for (const line of lines) {
    line.forEach((cell, i) => {
      widths[i] = Math.max(widths[i] ?? 0, cell.length);
    });
  }
  return lines
    .map((line) =>
      line.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))),
    )
    .map((line) => line.join('  ').trimEnd())
    .join('\n');
}
