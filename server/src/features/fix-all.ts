import { setKey } from '../advice/write/set-key';
import { replaceRange } from '../advice/write/splice';
import { Lines } from '../config/lines';
import { eachEntry, entryAt, entryOf, type KeyPath } from '../config/lookup';
import type { ConfigDocument, ConfigNode } from '../config/node';
import { parseConfig } from '../config/parse';
import type { Dialect } from '../dialects/dialect';
import type { Written } from '../dialects/words';
import { compare } from '../text/place';
import type { Problem } from '../text/problem';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import type { Action } from './action';
import { fileEdits } from './file-edits';

/** Kind of the action that puts right what has one right answer, for `editor.codeActionsOnSave`. */
export const FIX_ALL = 'source.fixAll.oomlint';

/**
 * Codes whose replacement is the one right answer: an old spelling of a key, or a value that the tool reads in no other way.
 * A near name is a guess and no such code.
 */
const MECHANICAL: ReadonlySet<string> = new Set(['deprecated-key', 'yaml-boolean', 'legacy-zero']);

/** Everything mechanical of a file in one action; undefined where there is nothing. */
export function fixAll(analysis: Analysis, text: string): Action | undefined {
  const after = mechanicallyFixed(analysis, text);
  if (after === text) return undefined;
  return {
    title: say('Put right what has one right answer'),
    kind: FIX_ALL,
    edits: fileEdits([{ uri: analysis.uri, before: text, after }]),
  };
}

/**
 * The text with old spellings replaced. Each replacement is read again: one after which the file would say something else,
 * or could not be read, is not made.
 */
export function mechanicallyFixed({ document, dialect, problems, uri }: Analysis, text: string): string {
  const mechanical = problems.filter(isMechanical).sort((a, b) => compare(b.range.start, a.range.start));
  let fixed = text;
  let present = document;
  // From the end on, so that places before stay where they are.
  for (const problem of mechanical) {
    const next = safelyFixed(dialect, present, fixed, problem);
    if (next === undefined) continue;
    fixed = next;
    present = parseConfig(uri, next);
  }
  return fixed;
}

export const isMechanical = ({ code }: Problem): boolean => MECHANICAL.has(code);

/** The text with one such problem put right; undefined where that would change what the file states. */
export function safelyFixed(
  dialect: Dialect,
  document: ConfigDocument,
  text: string,
  problem: Problem,
): string | undefined {
  // What is written into it is read without the scripts that it runs.
  if (document.follows) return undefined;
  const next = oneFixed(text, document, problem);
  if (next === undefined || next === text) return undefined;
  const read = parseConfig(document.uri, next);
  if (read.problems.length > document.problems.length) return undefined;
  return problem.code === 'yaml-boolean' || statesAll(dialect, read, document) ? next : undefined;
}

/** Whether a text still states all that another one states; it may state more, where an old spelling was not even read. */
function statesAll(dialect: Dialect, document: ConfigDocument, before: ConfigDocument): boolean {
  const now = statementsOf(dialect, document);
  return [...statementsOf(dialect, before)].every((statement) => now.has(statement));
}

function statementsOf(dialect: Dialect, document: ConfigDocument): Set<string> {
  const { facts, links } = dialect.read(document, { known: {} });
  const stated = facts.filter(({ origin }) => origin.kind === 'file');
  return new Set([
    ...stated.map(({ field, value }) => `${field}=${JSON.stringify(value)}`),
    ...links.map(({ path }) => path),
  ]);
}

function oneFixed(text: string, document: ConfigDocument, problem: Problem): string | undefined {
  const replacement = problem.data?.replacement;
  if (problem.code === 'legacy-zero') {
    const block = typeof replacement === 'object' && replacement !== null;
    return block ? replaceRange(text, problem.range, JSON.stringify(replacement)) : undefined;
  }
  if (typeof replacement !== 'string') return undefined;
  if (problem.code === 'yaml-boolean') return replaceRange(text, problem.range, replacement);
  return renamed(text, document, problem.range, replacement);
}

/** A key takes its new name in its own block, or moves to where its path leads. */
function renamed(
  text: string,
  document: ConfigDocument,
  range: Problem['range'],
  name: string,
): string | undefined {
  const places: { readonly path: KeyPath; readonly value: ConfigNode }[] = [];
  eachEntry(document.root, ({ keyRange, value }, path) => {
    if (compare(keyRange.start, range.start) === 0 && compare(keyRange.end, range.end) === 0)
      places.push({ path, value });
  });
  const [place] = places;
  if (!place || document.format === 'shell' || document.format === 'python') return undefined;
  const parent = place.path.slice(0, -1);
  const target = name.split('.');
  const own = target.at(-1) ?? '';
  const moves = target.length > 1 && target.slice(0, -1).join('.') !== parent.join('.');
  if (moves) {
    if (entryAt(document.root, target) || place.value.kind !== 'scalar') return undefined;
    const without = setKey(text, document.format, place.path, undefined);
    return without && setKey(without, document.format, target, place.value.value as Written);
  }
  const block = parent.length === 0 ? document.root : entryAt(document.root, parent)?.value;
  if (entryOf(block, own)) return undefined;
  const lines = new Lines(text);
  const written = text.slice(lines.offset(range.start), lines.offset(range.end));
  const quote = /^(["']).*\1$/s.exec(written)?.[1] ?? '';
  const dashes = /^["']?(-*)/.exec(written)?.[1] ?? '';
  return replaceRange(text, range, `${quote}${dashes}${own}${quote}`);
}
