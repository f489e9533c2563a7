import assert from 'node:assert/strict';
import { parseConfig } from '../../../server/src/config/parse';
import type { Dialect, KeySpec } from '../../../server/src/dialects/dialect';
import { readDocument } from '../../../server/src/dialects/templated-values';
import type { FieldPath } from '../../../server/src/run/fields';
import { fieldError } from '../../../server/src/run/parse-field';
import { standingOfUnknown } from '../../../server/src/workspace/unknown-values';
import { statedVersions } from '../../unit/dialects/reading';
import { isPlain, keyedSeeds, type Plain, withKey } from './keyed-seeds';

/** Families whose seeds are no map of keys. */
const ELSEWHERE = /^(?:launch-script|oomlint-run|python)$/;

/** What a key of a type cannot be; a switch may be 0, and a number that is true is one for Python. */
function nonsenseOf({ type, values, spellings }: KeySpec): readonly unknown[] {
  const lists = [[], {}];
  const isWords = values !== undefined || spellings !== undefined;
  if (type === 'boolean') return ['zzz_other', 1.5, 1e30, ...lists];
  if (type === 'integer') return ['zzz_other', 1.5, ...lists];
  if (type === 'number') return ['zzz_other', ...lists];
  return type === 'string' && isWords ? ['zzz_other', 0, 1.5, 1e30, true, ...lists] : [];
}

/** The config without what stands at a path. */
function withoutKey(root: Plain, path: string): Plain {
  const [first = '', ...rest] = path.split('.');
  const { [first]: inner, ...others } = root;
  return rest.length > 0 && isPlain(inner)
    ? { ...others, [first]: withoutKey(inner, rest.join('.')) }
    : others;
}

/** Megatron's flags stand in a block of their own. */
const pathIn = (family: string, path: string): string =>
  family === 'megatron' && !path.startsWith('MODEL_ARGS')
    ? `MODEL_ARGS.--${path.replaceAll('_', '-')}`
    : path;

function readingOf(dialect: Dialect, root: Plain) {
  const text = JSON.stringify(root, null, 1).replaceAll('1e+30', '1e30');
  const document = parseConfig('file:///config.json', text);
  const reading = readDocument(dialect, document, { known: {}, versions: statedVersions() });
  const { facts, problems, unread = [] } = reading;
  return {
    values: new Map(facts.map(({ field, value }) => [field, JSON.stringify(value)])),
    stated: new Set(facts.flatMap(({ field, origin }) => (origin.kind === 'file' ? [field] : []))),
    rejected: new Set(
      facts.flatMap(({ field, value }) => (fieldError(field, value) === undefined ? [] : [field])),
    ),
    reported: problems.flatMap(({ severity, message }) => (severity === 'hint' ? [] : [message])),
    left: unread.map(({ text: words, fields = [] }) => ({ words, fields })),
  };
}
type Read = ReturnType<typeof readingOf>;

/** Whether a value that cannot be meant leaves a field open, or gives it another value than the default. */
function isOpen(field: FieldPath, changed: Read, base: Read): boolean {
  if (changed.rejected.has(field) || changed.left.some(({ fields }) => fields.includes(field))) return true;
  return changed.values.get(field) !== base.values.get(field);
}

describe('a value that a key cannot have', function () {
  this.timeout(600_000);
  const unreported: string[] = [];
  const closed: string[] = [];
  let tried = 0;

  before(() => {
    for (const { family, dialect, plain } of keyedSeeds(ELSEWHERE)) {
      for (const row of dialect.keys) {
        const fields = row.fields ?? (row.sets ? [row.sets] : []);
        if (row.path.includes('*') || fields.length === 0) continue;
        const path = pathIn(family, row.path);
        const values = nonsenseOf(row);
        if (values.length === 0) continue;
        const base = readingOf(dialect, withoutKey(plain, path));
        for (const value of values) {
          // There a block at a switch switches it on.
          if (family === 'in-house' && row.type === 'boolean' && isPlain(value)) continue;
          tried++;
          const changed = readingOf(dialect, withKey(plain, path, value));
          const words = `${family} ${row.path}: ${JSON.stringify(value)}`;
          const isReported =
            changed.left.length > base.left.length ||
            changed.reported.some((message) => !base.reported.includes(message));
          // Another key that stands in the file goes before this one.
          const own = fields.filter((field) => !base.stated.has(field));
          if (!isReported && own.length > 0) unreported.push(words);
          const missing = own.filter((field) => {
            return standingOfUnknown(field) !== 'free' && !isOpen(field, changed, base);
          });
          if (missing.length > 0 && missing.length === own.length) closed.push(`${words}: ${missing.join()}`);
        }
      }
    }
  });

  it('is reported or left open, whichever key of whichever family it stands at', () => {
    assert.ok(tried > 3000, `${tried} values`);
    assert.deepEqual(unreported, []);
  });

  it('leaves open what the key decides, so that no verdict rests on the default', () => {
    assert.deepEqual(closed, []);
  });
});

describe('a switch', function () {
  this.timeout(600_000);

  it('is understood in either position, whichever key of whichever family it is', () => {
    const left: string[] = [];
    let tried = 0;
    for (const { family, dialect, plain } of keyedSeeds(ELSEWHERE)) {
      for (const row of dialect.keys) {
        if (row.path.includes('*') || row.type !== 'boolean') continue;
        const path = pathIn(family, row.path);
        const before = new Set(readingOf(dialect, withoutKey(plain, path)).left.map(({ words }) => words));
        for (const value of [true, false]) {
          tried++;
          const words = readingOf(dialect, withKey(plain, path, value)).left.map((one) => one.words);
          const own = words.filter((one) => !before.has(one) && one.endsWith(`: ${value}`));
          if (own.length > 0) left.push(`${family} ${row.path}: ${own.join()}`);
        }
      }
    }
    assert.ok(tried > 1000, `${tried} switches`);
    assert.deepEqual(left, []);
  });
});
