import { setKey } from '../advice/write/set-key';
import { eachEntry, type Spot, spotAt } from '../config/lookup';
import type { ConfigDocument, ConfigNode } from '../config/node';
import { parseConfig } from '../config/parse';
import type { Written } from '../dialects/words';
import { compare, type Position } from '../text/place';
import type { Problem } from '../text/problem';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import type { Action } from './action';
import { fileEdits } from './file-edits';
import { type Remedy, remediesOf } from './remedies';

/**
 * Ways to put a problem right that its rule names. Each is made and read again: one after which the problem stands as before, another one
 * appears or the text cannot be read is not offered. Preferred is what is the only way and takes nothing away. `counted` is how
 * often each rule reports something in the text as it is (`problemCounts`): one answer for all problems of a request.
 */
export function remedyActions(
  analysis: Analysis,
  problem: Problem,
  text: string,
  counted: () => ProblemCounts | undefined,
): Action[] {
  const { document, uri } = analysis;
  // What is written into it is read without the scripts that it runs.
  if (document.follows) return [];
  const spot = placeOf(document, problem.range.start);
  if (!spot?.entry) return [];
  const found = [...remediesOf(problem, document.root), ...unquoted(problem, spot.node)].flatMap((remedy) => {
    const changes = Object.entries(remedy).map(([key, value]) => ({ path: pathOf(key, spot.path), value }));
    let after = text;
    for (const { path, value } of changes) after = setKey(after, document.format, path, value) ?? after;
    if (after === text || !isBetter(counted(), problemCounts(analysis, after), problem.code)) return [];
    return [{ title: titleOf(changes), takes: changes.some(({ value }) => value === undefined), after }];
  });
  const [only] = found;
  const preferred = found.length === 1 && only?.takes === false;
  return found.map(({ title, after }) => ({
    title,
    problem,
    preferred,
    edits: fileEdits([{ uri, before: text, after }]),
  }));
}

/** Rules about the run as a whole, which a text that is read by itself does not report: the value that is offered was worked out from the run. */
const OF_THE_RUN: ReadonlySet<string> = new Set(['engine-share']);

/** The entry that a problem is at. Blocks of a script's commands lie where the command does: a flag is found by where its value begins. */
function placeOf(
  { root, format }: ConfigDocument,
  start: Position,
): Pick<Spot, 'entry' | 'node' | 'path'> | undefined {
  if (format !== 'shell') return spotAt(root, start);
  let found: Pick<Spot, 'entry' | 'node' | 'path'> | undefined;
  eachEntry(root, (entry, path) => {
    const { range } = entry.value;
    const isFlag = path[0] === 'commands' && (path[2] === 'arguments' || path[2] === 'launcher');
    if (isFlag && path.length === 4 && compare(range.start, start) === 0)
      found ??= { entry, node: entry.value, path };
  });
  return found;
}

/** `.` is the key itself, `/a.b` a path from the root, anything else stands beside the key. */
function pathOf(key: string, own: readonly string[]): readonly string[] {
  if (key === '.') return own;
  return key.startsWith('/')
    ? key.slice(1).split('.')
    : [...own.slice(0, -1), spelledLike(own.at(-1) ?? '', key)];
}

/** With the dashes that another key has, in front and within. */
function spelledLike(own: string, key: string): string {
  const [, lead = '', name = ''] = /^(-*)(.*)$/s.exec(own) ?? [];
  return `${lead}${name.includes('-') && !name.includes('_') ? key.replaceAll('_', '-') : key}`;
}

const titleOf = (changes: readonly { readonly path: readonly string[]; readonly value: Written }[]) =>
  changes
    .map(({ path, value }) => {
      const key = path.filter((step) => !/^(commands|arguments|\[\d+\])$/.test(step)).join('.');
      return value === undefined ? say('Remove {0}', key) : say('Set {0} to {1}', key, String(value));
    })
    .join(', ');

/** A number or a flag that stands in quotes where the framework tests the type. */
function unquoted({ code }: Problem, node: ConfigNode): readonly Remedy[] {
  if ((code !== 'wrong-type' && code !== 'bad-value') || node.kind !== 'scalar') return [];
  const { value } = node;
  if (typeof value !== 'string') return [];
  if (/^(true|false)$/i.test(value)) return [{ '.': value.toLowerCase() === 'true' }];
  return value.trim() !== '' && Number.isFinite(Number(value)) ? [{ '.': Number(value) }] : [];
}

/** How often each rule reports something in a text, by code. */
export type ProblemCounts = ReadonlyMap<string, number>;

/** Those of a text; undefined where it cannot be read as well as the one that was analysed. */
export function problemCounts(
  { dialect, document, resolved, uri }: Analysis,
  text: string,
): ProblemCounts | undefined {
  const read = parseConfig(uri, text);
  if (read.problems.length > document.problems.length) return undefined;
  const counts = new Map<string, number>();
  for (const { code } of dialect.read(read, { known: resolved.values }).problems)
    counts.set(code, (counts.get(code) ?? 0) + 1);
  return counts;
}

/** Whether a rule reports less, and none reports more. */
export function isBetter(
  before: ProblemCounts | undefined,
  after: ProblemCounts | undefined,
  code: string,
): boolean {
  if (!before || !after) return false;
  if (!OF_THE_RUN.has(code) && (after.get(code) ?? 0) >= (before.get(code) ?? 0)) return false;
  return [...after].every(([other, count]) => count <= (before.get(other) ?? 0));
}
