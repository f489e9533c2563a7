import { Lines } from '../config/lines';
import type { ConfigDocument } from '../config/node';
import { parseConfig } from '../config/parse';
import type { Problem } from '../text/problem';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import type { Action } from './action';
import { fileEdits } from './file-edits';
import { contains } from './ranges';

/** What is reported of words in a comment for Oomlint that have no effect. */
const IDLE = new Set(['unused-ignore', 'directive-overruled', 'directive-repeated', 'directive-empty']);

/** Words that have no effect go from their comment, and the comment with the last of them. */
export function commentActions({ document, uri }: Analysis, problem: Problem, text: string): Action[] {
  if (!IDLE.has(problem.code)) return [];
  const comment = document.directives.find(({ range }) => contains(range, problem.range.start));
  if (!comment) return [];
  const lines = new Lines(text);
  const [start, end] = [lines.offset(problem.range.start), lines.offset(problem.range.end)];
  const words = text.slice(start, end);
  const own = { start: lines.offset(comment.range.start), end: lines.offset(comment.range.end) };
  const left = withoutWords(text.slice(own.start, own.end), start - own.start, end - own.start);
  const after =
    left === undefined ? withoutComment(text, own) : text.slice(0, own.start) + left + text.slice(own.end);
  // What cannot be read any more is no way out.
  if (after === undefined || problemsOf(document, after) > document.problems.length) return [];
  const title = left === undefined ? say('Remove the comment') : say('Remove {0} from the comment', words);
  return [{ title, problem, preferred: true, edits: fileEdits([{ uri, before: text, after }]) }];
}

const problemsOf = ({ uri }: ConfigDocument, text: string) => parseConfig(uri, text).problems.length;

/** The words of a comment without some; undefined where nothing is left that means anything. */
function withoutWords(text: string, start: number, end: number): string | undefined {
  const before = text.slice(0, start);
  const behind = text.slice(end);
  const list = /^(\s*ignore(?:-file)?\s*\[)([^\]]*)$/i.exec(before);
  if (list) {
    // A name goes with the comma behind it, the last one with the comma before it.
    const next = /^\s*,\s*/.exec(behind);
    if (next) return before + behind.slice(next[0].length);
    const others = before.replace(/\s*,?\s*$/, '');
    return others === list[1]?.trimEnd() ? undefined : others + behind;
  }
  const rest = `${before.trimEnd()} ${behind.trimStart()}`.trim();
  return rest === '' ? undefined : rest;
}

/** A text without a comment: with its line where it stands alone. */
function withoutComment(
  text: string,
  { start, end }: { readonly start: number; readonly end: number },
): string | undefined {
  const opener = /[ \t]*(#|\/\/|\/\*)[ \t]*oomlint:[ \t]*$/.exec(text.slice(0, start));
  if (!opener) return undefined;
  const closed = opener[1] === '/*' ? /^[ \t]*\*\//.exec(text.slice(end)) : undefined;
  if (opener[1] === '/*' && !closed) return undefined;
  const until = end + (closed?.[0].length ?? 0);
  const isAlone = /(?:^|[\r\n])$/.test(text.slice(0, opener.index));
  const line = isAlone ? /^[ \t]*(?:\r\n|\n|\r|$)/.exec(text.slice(until)) : undefined;
  return text.slice(0, opener.index) + text.slice(until + (line?.[0].length ?? 0));
}
