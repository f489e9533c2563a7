import { changedStretches, textLines } from '../advice/write/text-edits';

/** Lines that are shown around a change, as git shows them. */
const CONTEXT = 3;

/** One file before and after. `name` is its path with forward slashes; a created one has no text before. */
interface ChangedText {
  readonly name: string;
  readonly before: string;
  readonly after: string;
  readonly create?: boolean;
}

/** A change of several files as `git apply` and `patch -p1` read it; empty where nothing changes. */
export function unifiedDiff(files: readonly ChangedText[]): string {
  return files.map(diffOf).join('');
}

function diffOf({ name, before, after, create }: ChangedText): string {
  if (before === after && !create) return '';
  const old = textLines(before);
  const now = textLines(after);
  const stretches = changedStretches(old, now);
  const hunks: (typeof stretches)[] = [];
  for (const stretch of stretches) {
    const last = hunks.at(-1)?.at(-1);
    if (last && stretch.from - last.to <= 2 * CONTEXT) hunks.at(-1)?.push(stretch);
    else hunks.push([stretch]);
  }
  const head = create
    ? `diff --git a/${name} b/${name}\nnew file mode 100644\n--- /dev/null\n+++ b/${name}\n`
    : `--- a/${name}\n+++ b/${name}\n`;
  let moved = 0;
  const texts = hunks.map((hunk) => {
    const from = Math.max(0, (hunk[0]?.from ?? 0) - CONTEXT);
    const to = Math.min(old.length, (hunk.at(-1)?.to ?? 0) + CONTEXT);
    const rows: string[] = [];
    let at = from;
    let added = 0;
    for (const stretch of hunk) {
      rows.push(...old.slice(at, stretch.from).map((line) => row(' ', line)));
      rows.push(...old.slice(stretch.from, stretch.to).map((line) => row('-', line)));
      rows.push(...stretch.lines.map((line) => row('+', line)));
      added += stretch.lines.length - (stretch.to - stretch.from);
      at = stretch.to;
    }
    rows.push(...old.slice(at, to).map((line) => row(' ', line)));
    const header = `@@ -${span(from, to - from)} +${span(from + moved, to - from + added)} @@\n`;
    moved += added;
    return header + rows.join('');
  });
  return head + texts.join('');
}

/** First line from 1, and how many; of none, the line before. */
const span = (from: number, count: number) => `${count === 0 ? from : from + 1},${count}`;

const row = (mark: string, line: string) =>
  /\n$/.test(line) ? `${mark}${line}` : `${mark}${line}\n\\ No newline at end of file\n`;
