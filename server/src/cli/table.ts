import { breakdownOutcome } from '../features/breakdown-outcome';
import type { Breakdown } from '../features/protocol';
import type { Verdict } from '../results/estimate';
import { categoryLabel, hostMomentLabel, momentLabel, trainedLabel, verdictLabel } from '../results/labels';
import { timeFacts } from '../results/time-labels';
import { isFieldPath } from '../run/fields';
import { unreadSentence } from '../run/unread';
import { formatBytes, formatBytesOf, formatCount, formatFlops, formatInteger } from '../wording/figures';
import { say } from '../wording/say';
import { supplyExamples } from '../workspace/verdict';
import type { Output, Style } from './output';
import { problemLines } from './problem-lines';
import { displayPath } from './report';

const VERDICT_STYLES: Readonly<Record<Verdict, Style>> = {
  fits: 'green',
  tight: 'yellow',
  exceeds: 'red',
  unknown: 'cyan',
};
const BAR = 32;
/** What decides most stands out; the rest is there. */
const MOST_DECIDING = 2;
/** More assumptions than this are counted, not listed: `--format json` has all. */
const MOST_ASSUMPTIONS = 24;

function bar(bytes: number, largest: number): string {
  const eighths = largest > 0 ? Math.round((bytes / largest) * BAR * 8) : 0;
  const rest = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'][eighths % 8] ?? '';
  return '█'.repeat(Math.floor(eighths / 8)) + rest;
}

/** Two columns, aligned: names and texts. */
function columns(rows: readonly (readonly [string, string])[], indent: string): string[] {
  const width = Math.max(0, ...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `${indent}${name.padEnd(width)}  ${text}`);
}

function verdictLine(breakdown: Breakdown): string {
  const { verdict, peak, hardware } = breakdown;
  if (!peak || !hardware) {
    return verdictLabel(verdict);
  }
  const missing = peak.processBytes - hardware.capacityBytes;
  // A feature that is not modelled: what is left is not known.
  if (verdict === 'unknown')
    return `${verdictLabel(verdict)}: ${formatBytesOf(peak.processBytes, hardware.capacityBytes)}`;
  const rest = missing > 0 ? say('{0} over', formatBytes(missing)) : say('{0} left', formatBytes(-missing));
  return `${breakdownOutcome(breakdown)}: ${formatBytesOf(peak.processBytes, hardware.capacityBytes)}, ${rest}`;
}

function headRows(breakdown: Breakdown): [string, string][] {
  const { model, hardware } = breakdown;
  const rows: [string, string][] = [];
  if (model) {
    const trained = trainedLabel(model);
    const active =
      model.activeParameters === model.totalParameters
        ? []
        : [say('{0} active', formatCount(model.activeParameters))];
    const size = say('{0} parameters', formatCount(model.totalParameters));
    rows.push([say('Model'), [model.id, size, ...active, ...(trained ? [trained] : [])].join(', ')]);
  }
  if (hardware) {
    rows.push([
      say('Hardware'),
      say(
        '{0} × {1} on {2} {2|node|nodes}, {3} usable each',
        hardware.gpus,
        hardware.gpu,
        hardware.nodes,
        formatBytes(hardware.capacityBytes),
      ),
    ]);
  }
  return rows;
}

function memoryLines({ peak, parts }: Breakdown, { paint }: Output): string[] {
  if (!peak) {
    return [];
  }
  const sorted = [...parts].filter(({ bytes }) => bytes > 0).sort((a, b) => b.bytes - a.bytes);
  const largest = sorted[0]?.bytes ?? 0;
  const names = sorted.map(({ category }) => categoryLabel(category));
  const total = say('total');
  const width = Math.max(...[total, ...names].map((name) => name.length));
  const row = (name: string, bytes: number, rest: string) =>
    `  ${name.padEnd(width)}  ${formatBytes(bytes).padStart(9)}  ${rest}`.trimEnd();
  const place = peak.rank === 0 ? peak.label : `${peak.label}, ${say('rank {0}', String(peak.rank))}`;
  return [
    '',
    say('Memory of one GPU at its peak: {0} ({1})', momentLabel(peak.moment), place),
    ...sorted.map(({ bytes }, i) => row(names[i] ?? '', bytes, paint('cyan', bar(bytes, largest)))),
    row(
      total,
      peak.processBytes,
      say('between {0} and {1}', formatBytes(peak.lowerBytes), formatBytes(peak.upperBytes)),
    ),
    paint(
      'dim',
      `  ${say('PyTorch: {0} allocated, {1} reserved', formatBytes(peak.allocatedBytes), formatBytes(peak.reservedBytes))}`,
    ),
  ];
}

function otherRows({ host, compute }: Breakdown): [string, string][] {
  const rows: [string, string][] = [];
  if (host && host.bytesPerNode > 0) {
    const parts = host.parts.map(({ label, bytes }) => `${label} ${formatBytes(bytes)}`).join(', ');
    const when = say('{0} per node {1}', formatBytes(host.bytesPerNode), hostMomentLabel(host.moment));
    rows.push([say('Host memory'), parts ? `${when} (${parts})` : when]);
  }
  if (compute) {
    const { flopsPerStep, tokensPerStep } = compute;
    rows.push([
      say('Compute'),
      say('{0} per step of {1} tokens, all GPUs', formatFlops(flopsPerStep), formatInteger(tokensPerStep)),
    ]);
    for (const { name, value, detail } of timeFacts(compute)) {
      rows.push([name, detail ? `${value}; ${detail}` : value]);
    }
  }
  return rows;
}

const shown = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

function assumptionLines({ assumptions }: Breakdown, { paint }: Output): string[] {
  if (assumptions.length === 0) {
    return [];
  }
  const listed = assumptions.slice(0, MOST_ASSUMPTIONS);
  const rows = listed.map(({ field, value, source }): [string, string, string] => [
    field,
    shown(value),
    source,
  ]);
  const names = Math.max(...rows.map(([field]) => field.length));
  const values = Math.min(32, Math.max(...rows.map(([, value]) => value.length)));
  const more = assumptions.length - listed.length;
  return [
    '',
    say('Not set by the file itself'),
    ...rows.map(
      ([field, value, source]) =>
        `  ${field.padEnd(names)}  ${value.padEnd(values)}  ${paint('dim', source)}`,
    ),
    ...(more > 0 ? [paint('dim', `  ${say('and {0} more, see --format json', more)}`)] : []),
  ];
}

/** `--gpu H100-SXM5-80GB` where there is an option of that name, else `--set sequence=4096`. */
const asOption = (example: string) =>
  /^(?:gpus?|nodes|model)=/.test(example) ? `--${example.replace('=', ' ')}` : `--set ${example}`;

function unknownLines({ unknown }: Breakdown): string[] {
  if (unknown.length === 0) {
    return [];
  }
  const open = unknown.filter(({ stated }) => !stated);
  const fields = unknown.flatMap(({ field, ...rest }) => (isFieldPath(field) ? { field, ...rest } : []));
  const examples = supplyExamples(fields.filter(({ stated }) => !stated));
  // No comment outweighs the file; the command line does.
  const named = fields.filter(({ field, stated }) => stated && field === 'model.id');
  const supply = [
    `  ${say('Set it with {0}, in a comment', examples.map(asOption).join(' '))}`,
    `  ${say('"# oomlint: {0}" in the file, or with an oomlint.yaml.', examples.join(' '))}`,
  ];
  return [
    '',
    say('Unknown, so there is no verdict'),
    ...columns(
      unknown.map(({ field, reason }) => [field, reason]),
      '  ',
    ),
    ...(open.length > 0 ? supply : []),
    ...supplyExamples(named).map(
      (example) => `  ${say('Another model is taken with {0} on the command line.', asOption(example))}`,
    ),
  ];
}

/** Beside the verdict, as it decides how far that holds; every item with its reason stands further down. */
/** What was not understood, each sentence once: several places may have the same. */
function notUnderstoodLines({ notUnderstood = [] }: Breakdown): string[] {
  const messages = new Set(notUnderstood.map(({ message }) => `  ${message}`));
  return messages.size > 0 ? ['', say('Not understood'), ...messages] : [];
}

function unreadLine({ notUnderstood = [] }: Breakdown, paint: Output['paint']): string[] {
  return notUnderstood.length > 0 ? [paint('yellow', `  ${unreadSentence(notUnderstood)}`)] : [];
}

/** A breakdown for people: aligned, GiB, one bar per part. */
export function breakdownTable(breakdown: Breakdown, folder: string, output: Output): string {
  const { paint } = output;
  const others = breakdown.files.slice(1).map((uri) => displayPath(uri, folder));
  const file = displayPath(breakdown.file, folder);
  const rest = otherRows(breakdown);
  const problems = problemLines(file, breakdown.diagnostics, paint).split('\n').slice(1, -2);
  return [
    `${paint('bold', file)}  ${paint('dim', breakdown.dialect.name)}`,
    ...columns(
      [
        ...(others.length > 0 ? [[say('With'), others.join(', ')] as [string, string]] : []),
        ...headRows(breakdown),
      ],
      '',
    ),
    paint(VERDICT_STYLES[breakdown.verdict], say('Verdict: {0}', verdictLine(breakdown))),
    ...unreadLine(breakdown, paint),
    ...(breakdown.open ?? []).map(({ sentence }, index) =>
      paint(index < MOST_DECIDING ? 'yellow' : 'dim', `  ${sentence}`),
    ),
    ...memoryLines(breakdown, output),
    ...(rest.length > 0 ? ['', ...columns(rest, '')] : []),
    ...assumptionLines(breakdown, output),
    ...unknownLines(breakdown),
    ...notUnderstoodLines(breakdown),
    ...(breakdown.notes.length > 0 ? ['', say('Notes'), ...breakdown.notes.map((note) => `  ${note}`)] : []),
    ...(problems.length > 0 ? ['', say('Problems'), ...problems] : []),
    '',
  ].join('\n');
}
