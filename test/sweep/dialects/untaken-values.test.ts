import assert from 'node:assert/strict';
import { parseConfig } from '../../../server/src/config/parse';
import type { Dialect, KeySpec } from '../../../server/src/dialects/dialect';
import { readDocument } from '../../../server/src/dialects/templated-values';
import { isDecisive } from '../../../server/src/run/unread';
import { statedVersions } from '../../unit/dialects/reading';
import { keyedSeeds, type Plain, withKey } from './keyed-seeds';

/** What no number, switch or choice of a few words can be. */
const VALUES: Readonly<Record<string, unknown>> = {
  'a word that nobody has': 'zzz_other',
  'a list': ['zzz_other'],
};

/** Families whose seeds are no map of keys, or whose keys stand in blocks of the file's own. */
const ELSEWHERE = /^(?:launch-script|in-house|oomlint-run|python|megatron)$/;

function readingOf(dialect: Dialect, root: Plain) {
  const document = parseConfig('file:///config.json', JSON.stringify(root, null, 1));
  const {
    facts,
    problems,
    unread = [],
  } = readDocument(dialect, document, {
    known: {},
    versions: statedVersions(),
  });
  const stated = new Set<string>(
    facts.flatMap(({ field, origin }) => (origin.kind === 'file' ? [field] : [])),
  );
  const reported = problems.flatMap(({ severity, message }) => (severity === 'hint' ? [] : [message]));
  return {
    facts: facts.map(({ field, value }) => `${field} ${JSON.stringify(value)}`).sort(),
    stated,
    reported,
    unread,
  };
}

/** Whether a row takes numbers, switches or a few words alone. */
const isClosed = ({ type, values }: KeySpec) =>
  /^(?:integer|number|boolean)$/.test(type) || (type === 'string' && values !== undefined);

describe('a value that a key cannot take', function () {
  this.timeout(300_000);

  it('is reported at every key that decides the run, and never passes for the default', () => {
    const untaken: string[] = [];
    let tried = 0;
    for (const { family, dialect, plain } of keyedSeeds(ELSEWHERE)) {
      const base = readingOf(dialect, plain);
      for (const row of dialect.keys) {
        const fields = row.fields ?? (row.sets ? [row.sets] : []);
        if (row.path.includes('*') || !isClosed(row) || !fields.some(isDecisive)) continue;
        // Another key states them already.
        if (fields.every((field) => base.stated.has(field))) continue;
        for (const [words, value] of Object.entries(VALUES)) {
          tried++;
          const { facts, reported, unread } = readingOf(dialect, withKey(plain, row.path, value));
          const isReported =
            unread.length > base.unread.length ||
            reported.some((message) => !base.reported.includes(message));
          if (!isReported && facts.join() === base.facts.join())
            untaken.push(`${family} ${row.path}: ${words}`);
        }
      }
    }
    assert.ok(tried > 300, `${tried} values`);
    assert.deepEqual(untaken, []);
  });
});
