import type { Problem } from '../text/problem';
import { say } from '../wording/say';
import type { Lines } from './lines';

/**
 * Git conflict markers: one problem, and the text with markers and the other side blanked out, so that the rest of
 * the file still reads. Undefined where there is no conflict.
 */
export function resolveConflict(lines: Lines): { text: string; problem: Problem } | undefined {
  const { text } = lines;
  if (!text.includes('<<<<<<<')) return undefined;
  const first = /^<{7}(?: .*)?$/m.exec(text);
  if (!first || !/^>{7}(?: .*)?$/m.test(text)) return undefined;
  let theirs = false;
  const kept = text.replace(/[^\r\n]+/g, (line) => {
    const marker = /^(<{7}|={7}|\|{7}|>{7})(?: |$)/.exec(line)?.[1]?.[0];
    if (marker === '<') theirs = false;
    else if (marker === '=' || marker === '|') theirs = true;
    const blank = marker !== undefined || theirs;
    if (marker === '>') theirs = false;
    return blank ? ' '.repeat(line.length) : line;
  });
  return {
    text: kept,
    problem: {
      code: 'conflict-marker',
      severity: 'error',
      message: say('Unresolved merge conflict. The first side is read until it is resolved.'),
      range: lines.lineRange(lines.position(first.index).line),
    },
  };
}
