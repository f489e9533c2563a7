import { Lines } from '../../config/lines';
import type { Range } from '../../text/place';

/** One replaced stretch of a text. */
export interface TextChange {
  readonly range: Range;
  readonly newText: string;
}

/** Beyond this many lines between the first and the last difference, they become one change. */
const MOST_COMPARED = 2000;

/** The smallest changes, line by line, that turn one text into another; none where they are equal. */
export function textEdits(before: string, after: string): TextChange[] {
  if (before === after) return [];
  const old = textLines(before);
  const lines = new Lines(before);
  const offsets = [0];
  for (const line of old) offsets.push((offsets.at(-1) ?? 0) + line.length);
  return changedStretches(old, textLines(after)).map(({ from, to, lines: inserted }) => {
    const first = offsets[from] ?? before.length;
    const last = offsets[to] ?? before.length;
    return trimmed(before.slice(first, last), inserted.join(''), first, lines);
  });
}

/** Whole lines that go and that come, without their breaks. */
export function changedLines(before: string, after: string): { removed: string[]; added: string[] } {
  const old = textLines(before);
  const hunks = before === after ? [] : changedStretches(old, textLines(after));
  const bare = (line: string) => line.replace(/[\r\n]+$/, '');
  return {
    removed: hunks.flatMap(({ from, to }) => old.slice(from, to).map(bare)),
    added: hunks.flatMap(({ lines }) => lines.map(bare)),
  };
}

/** Stretches of lines that differ: those of the old text that go, `from` up to `to`, and those that come. */
export function changedStretches(old: readonly string[], now: readonly string[]): Hunk[] {
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let oldEnd = old.length;
  let nowEnd = now.length;
  while (oldEnd > start && nowEnd > start && old[oldEnd - 1] === now[nowEnd - 1]) {
    oldEnd--;
    nowEnd--;
  }
  return (oldEnd - start) * (nowEnd - start) > MOST_COMPARED ** 2
    ? [{ from: start, to: oldEnd, lines: now.slice(start, nowEnd) }]
    : hunksOf(old, now, start, oldEnd, nowEnd);
}

/** Lines with their breaks. */
export function textLines(text: string): string[] {
  return text.match(/[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+$/g) ?? [];
}

interface Hunk {
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
}

/** Longest common subsequence of the lines that differ, read backwards into hunks. */
function hunksOf(
  old: readonly string[],
  now: readonly string[],
  start: number,
  oldEnd: number,
  nowEnd: number,
): Hunk[] {
  const rows = oldEnd - start;
  const columns = nowEnd - start;
  const width = columns + 1;
  const common = new Uint16Array((rows + 1) * width);
  for (let i = rows - 1; i >= 0; i--) {
    for (let j = columns - 1; j >= 0; j--) {
      common[i * width + j] =
        old[start + i] === now[start + j]
          ? (common[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(common[(i + 1) * width + j] ?? 0, common[i * width + j + 1] ?? 0);
    }
  }
  const hunks: Hunk[] = [];
  let i = 0;
  let j = 0;
  let from = -1;
  let lines: string[] = [];
  const close = () => {
    if (from >= 0) hunks.push({ from: start + from, to: start + i, lines });
    from = -1;
    lines = [];
  };
  while (i < rows || j < columns) {
    if (i < rows && j < columns && old[start + i] === now[start + j]) {
      close();
      i++;
      j++;
      continue;
    }
    if (from < 0) from = i;
    const down = i < rows ? (common[(i + 1) * width + j] ?? 0) : -1;
    const right = j < columns ? (common[i * width + j + 1] ?? 0) : -1;
    if (down >= right) i++;
    else {
      lines.push(now[start + j] ?? '');
      j++;
    }
  }
  close();
  return hunks;
}

/** Leaves out what both sides begin and end with, so that a changed number changes a number. */
function trimmed(before: string, after: string, offset: number, lines: Lines): TextChange {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  while (
    end < before.length - start &&
    end < after.length - start &&
    before[before.length - 1 - end] === after[after.length - 1 - end]
  ) {
    end++;
  }
  // A line break of two characters stays whole.
  if (start > 0 && before[start - 1] === '\r') start--;
  if (end > 0 && before[before.length - end] === '\n' && before[before.length - end - 1] === '\r') end--;
  return {
    range: lines.range(offset + start, offset + before.length - end),
    newText: after.slice(start, after.length - end),
  };
}

/** The text with changes made, last place first. They must not overlap. */
export function withEdits(text: string, changes: readonly TextChange[]): string {
  const lines = new Lines(text);
  const placed = changes
    .map(({ range, newText }) => ({
      start: lines.offset(range.start),
      end: lines.offset(range.end),
      newText,
    }))
    .sort((a, b) => b.start - a.start);
  let result = text;
  for (const { start, end, newText } of placed) result = result.slice(0, start) + newText + result.slice(end);
  return result;
}
