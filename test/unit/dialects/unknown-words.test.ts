import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Lines } from '../../../server/src/config/lines';
import type { ConfigNode } from '../../../server/src/config/node';
import { parseConfig } from '../../../server/src/config/parse';
import type { Dialect } from '../../../server/src/dialects/dialect';
import { KeyTable } from '../../../server/src/dialects/key-table';
import { detectDialect } from '../../../server/src/dialects/registry';
import { readDocument } from '../../../server/src/dialects/templated-values';
import { corpusFiles, corpusIsThere, sampled } from '../../corpus/corpus-files';
import { runs } from '../long';
import { statedVersions } from './reading';

/** A word that no framework has. */
const NONSENSE = 'zzz_other';

/** Names of files and models, which are reported by who looks for them, and how long a run is. */
const NAMES =
  /^(ms-swift deepspeed|nemo-rl defaults|torchtitan model\.name|torchtune model\._component_|gpt-neox vocab.file|llm-foundry (parameters\.)?max_duration)$/;

function readingOf(uri: string, text: string) {
  const document = parseConfig(uri, text);
  const dialect = detectDialect(document);
  if (!dialect || !/^(?:yaml|json|toml)$/.test(document.format)) return undefined;
  const reading = readDocument(dialect, document, { known: {}, versions: statedVersions() });
  if (reading.notModelled) return undefined;
  const facts = new Map<string, string>(
    reading.facts.map(({ field, value }) => [field, JSON.stringify(value)]),
  );
  return { document, dialect, facts, reading };
}
type Read = NonNullable<ReturnType<typeof readingOf>>;

interface Word {
  readonly key: string;
  readonly node: ConfigNode;
  readonly line: number;
}

function wordsIn(node: ConfigNode | null, prefix = ''): Word[] {
  if (node?.kind !== 'map') return [];
  return node.entries.flatMap(({ key, keyRange, value }) => {
    const inner = prefix === '' ? key : `${prefix}.${key}`;
    if (value.kind === 'map') return wordsIn(value, inner);
    const isWord = value.kind === 'scalar' && typeof value.value === 'string';
    return isWord ? [{ key: inner, node: value, line: keyRange.start.line }] : [];
  });
}

/** Words that a key takes: those of its row. */
function wordsOf(dialect: Dialect, key: string): string[] {
  const row = new KeyTable(dialect.keys).find(key) ?? dialect.rowAt?.(key.split('.'));
  return [...(row?.values ?? []), ...Object.values(row?.spellings ?? {}).flat()].map(String);
}

/** Fields that are as if the key were not there though a known word of it decides them, and nothing is reported of the word. */
function fallenBack(whole: Read, uri: string, text: string, word: Word, known: readonly string[]): string[] {
  const lines = new Lines(text);
  const [start, end] = [lines.offset(word.node.range.start), lines.offset(word.node.range.end)];
  const put = (value: string) =>
    readingOf(uri, text.slice(0, start) + JSON.stringify(value) + text.slice(end));
  const nonsense = put(NONSENSE);
  const without = readingOf(
    uri,
    text
      .split('\n')
      .filter((_, i) => i !== word.line)
      .join('\n'),
  );
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
  const whole = readingOf(uri, text);
  if (!whole) return [];
  return wordsIn(whole.document.root).flatMap((word) => {
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
    const unreported = readdirSync('examples')
      .filter((name) => /\.(?:ya?ml|json)$/.test(name))
      .flatMap((name) =>
        unreportedIn(`file:///examples/${name}`, readFileSync(path.join('examples', name), 'utf8'), tried),
      );
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
