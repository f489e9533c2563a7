import assert from 'node:assert/strict';
import type { Dialect } from '../../../server/src/dialects/dialect';
import { KeyTable } from '../../../server/src/dialects/key-table';
import { corpusFiles, corpusIsThere, sampled } from '../../corpus/corpus-files';
import { runs } from '../../unit/long';
import {
  configOf,
  exampleConfigs,
  type ReadConfig,
  valuesIn,
  type WrittenValue,
  withoutValue,
  withValue,
} from './replaced-values';

/** A word that no framework has. */
const NONSENSE = 'zzz_other';

/** Names of files and models, which are reported by who looks for them, and how long a run is. */
const NAMES =
  /^(ms-swift deepspeed|nemo-rl defaults|torchtitan model\.name|torchtune model\._component_|gpt-neox vocab.file|llm-foundry (parameters\.)?max_duration)$/;

/** A config of a trainer that is modelled. */
function modelled(uri: string, text: string): ReadConfig | undefined {
  const read = configOf(uri, text);
  return read?.reading.notModelled ? undefined : read;
}

/** Words that a key takes: those of its row. */
function wordsOf(dialect: Dialect, key: string): string[] {
  const row = new KeyTable(dialect.keys).find(key) ?? dialect.rowAt?.(key.split('.'));
  return [...(row?.values ?? []), ...Object.values(row?.spellings ?? {}).flat()].map(String);
}

/** Fields that are as if the key were not there though a known word of it decides them, and nothing is reported of the word. */
function fallenBack(
  whole: ReadConfig,
  uri: string,
  text: string,
  word: WrittenValue,
  known: readonly string[],
): string[] {
  const put = (value: string) => {
    const changed = withValue(text, word, JSON.stringify(value));
    return changed === undefined ? undefined : modelled(uri, changed);
  };
  const nonsense = put(NONSENSE);
  const without = modelled(uri, withoutValue(text, word));
  if (!nonsense || !without || nonsense.dialect.id !== whole.dialect.id) return [];
  const { reading } = nonsense;
  const isReported =
    (reading.unread ?? []).some(({ message }) => message.includes(NONSENSE)) ||
    reading.problems.some(({ message }) => message.toLowerCase().includes(NONSENSE)) ||
    reading.facts.some(({ value }) => value === NONSENSE) ||
    reading.links.some((link) => link.path.includes(NONSENSE));
  if (isReported) return [];
  const decided = [whole, ...known.map(put)].flatMap((read) =>
    read && read.dialect.id === whole.dialect.id
      ? [...read.facts.keys()].filter((field) => read.facts.get(field) !== without.facts.get(field))
      : [],
  );
  return [...new Set(decided)].filter((field) => nonsense.facts.get(field) === without.facts.get(field));
}

function unreportedIn(uri: string, text: string, tried: Set<string>): string[] {
  const whole = modelled(uri, text);
  if (!whole) return [];
  const words = valuesIn(whole.document.root).filter(({ node }) => typeof node.value === 'string');
  return words.flatMap((word) => {
    const name = `${whole.dialect.id} ${word.key}`;
    if (tried.has(name) || NAMES.test(name)) return [];
    tried.add(name);
    const fell = fallenBack(whole, uri, text, word, wordsOf(whole.dialect, word.key));
    return fell.length > 0 ? [`${name}: ${fell.join(', ')}`] : [];
  });
}

describe('a word that no framework has', function () {
  this.timeout(600_000);

  it('is reported, and never passes for a default, whichever key of the examples it stands at', () => {
    const tried = new Set<string>();
    const unreported = exampleConfigs().flatMap(({ uri, text }) => unreportedIn(uri, text, tried));
    assert.ok(tried.size > 10, `${tried.size} keys`);
    assert.deepEqual(unreported, []);
  });

  it('nor whichever key of published configs', () => {
    if (!corpusIsThere) {
      console.log('      the corpus is not here: no published configs to read');
      return;
    }
    const tried = new Set<string>();
    const unreported = (process.env.OOMLINT_LONG ? corpusFiles() : sampled(runs(2, 30))).flatMap(
      ({ uri, text }) => (text.length > 40_000 ? [] : unreportedIn(uri, text, tried)),
    );
    assert.ok(tried.size > 100, `${tried.size} keys`);
    assert.deepEqual(unreported, []);
  });
});
