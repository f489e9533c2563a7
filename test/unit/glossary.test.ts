import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { CATEGORIES, type Moment, type Verdict } from '../../server/src/results/estimate';
import { categoryLabel, momentLabel } from '../../server/src/results/labels';
import { FIELD_PATHS, FIELDS, type FieldPath } from '../../server/src/run/fields';
import { ORIGIN_KINDS } from '../../server/src/run/origin';
import { exportedNames } from '../house/exported-names';
import { sourcesOf } from '../house/imports';

const PAGE = readFileSync('docs/glossary.md', 'utf8');
const ROWS = [...PAGE.matchAll(/^\| ([^|]+) \| ([^|]+) \|$/gm)]
  .map(([, words = '', meaning = '']) => ({ words: words.split(/,\s*/), meaning }))
  .filter(({ words: [first = ''] }) => !/^(?:word|-+)$/.test(first));
const quoted = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word);

function meaningOf(word: string): string {
  const row = ROWS.find(({ words }) => words.includes(word));
  assert.ok(row, `the glossary has no ${word}`);
  return row.meaning;
}

/** Whether some words stand in a list in that order, others between them. */
function standsIn(some: readonly string[], list: readonly string[]): boolean {
  const places = some.map((word) => list.indexOf(word));
  return places.every((place, i) => place >= 0 && place > (places[i - 1] ?? -1));
}

describe('the glossary', () => {
  const source = ['server/src', 'test']
    .flatMap((folder) => sourcesOf(folder))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');

  it('has some 25 words, each once', () => {
    const words = ROWS.flatMap((row) => row.words);
    assert.ok(ROWS.length >= 25, `${ROWS.length} rows`);
    assert.equal(new Set(words).size, words.length);
  });

  it('has words that the code uses, each in several places', () => {
    const rare = ROWS.flatMap(({ words }) => words).filter((word) => {
      const pattern = word.replace(/ /g, '[ -]?').replace(/y$/, '(?:y|ie)');
      return (source.match(new RegExp(`\\b${pattern}`, 'gi')) ?? []).length < 20;
    });
    assert.deepEqual(rare, []);
  });

  it('names files, types and fields that are there', () => {
    const names = exportedNames();
    const isThere = (word: string) =>
      word.includes('/')
        ? ['', 'server/src/'].some((folder) => existsSync(`${folder}${word}`))
        : /^[A-Z]/.test(word)
          ? names.has(word)
          : word in FIELDS;
    const named = ROWS.flatMap(({ meaning }) => quoted(meaning)).filter(
      (word) => word.includes('/') || /^[A-Z]/.test(word) || /^[a-z]+\.[a-z]\w+$/i.test(word),
    );
    assert.ok(named.length >= 8, named.join());
    assert.deepEqual(
      named.filter((word) => !isThere(word)),
      [],
    );
  });

  it('lists origins from the strongest to the weakest', () => {
    const listed = quoted(meaningOf('origin')).filter((word) => !word.includes('/'));
    assert.ok(listed.length > 4 && standsIn(listed, ORIGIN_KINDS), listed.join());
  });

  it('lists all verdicts, all moments in their order, and categories as they are called', () => {
    const verdicts: Readonly<Record<Verdict, true>> = {
      fits: true,
      tight: true,
      exceeds: true,
      unknown: true,
    };
    assert.deepEqual(quoted(meaningOf('verdict')).sort(), Object.keys(verdicts).sort());
    const [, listed = ''] = /const MOMENTS = \[([^\]]*)\]/.exec(source) ?? [];
    const moments = [...listed.matchAll(/'([\w-]+)'/g)].map(([, moment]) => momentLabel(moment as Moment));
    assert.ok(moments.length > 5);
    const words = meaningOf('moment').trim().split(', ');
    assert.equal(words.length, moments.length);
    for (const [i, word] of words.entries()) assert.ok(moments[i]?.includes(word), `${word}: ${moments[i]}`);
    const [, parts = ''] = /of: ([^.]+), \.\.\./.exec(meaningOf('part')) ?? [];
    const labels = CATEGORIES.map((category) => categoryLabel(category).toLowerCase());
    assert.ok(
      parts.split(', ').every((part) => labels.includes(part)),
      parts,
    );
  });

  it('has the ways of checkpointing that a run can state', () => {
    const field = 'activations.checkpointing' satisfies FieldPath;
    assert.ok(FIELD_PATHS.includes(field));
    const ways = FIELDS[field].values.filter((value) => value !== 'none');
    assert.deepEqual(quoted(meaningOf('activation checkpointing')), ways);
  });

  it('needs none of the words that it puts an end to', () => {
    const table = ROWS.map(({ words, meaning }) => `${words.join()} ${meaning}`).join('\n');
    assert.doesNotMatch(table, /\b(?:told|said|says|silent|silence|reckons?|reckoned)\b/i);
    const [, ended = ''] = /a test finds (.*)\.$/m.exec(PAGE) ?? [];
    const finds = readFileSync('test/unit/names.test.ts', 'utf8');
    const words = [...ended.matchAll(/\*(\w+)\*/g)].map(([, word = '']) => word);
    assert.ok(words.length > 2);
    for (const word of words) assert.match(finds, new RegExp(`\\b${word}`));
  });
});
