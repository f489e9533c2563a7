import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { Lines } from '../../../server/src/config/lines';
import { readWholeYaml, readYaml } from '../../../server/src/config/yaml';
import { readBlocks } from '../../../server/src/config/yaml-blocks';
import { runs } from '../../unit/long';

const CONFIGS = 'test/fixtures/configs';

const whole = (text: string) => {
  const { root, problems } = readWholeYaml(new Lines(text), 'a.yaml');
  return problems.length === 0 ? (root ?? undefined) : undefined;
};
/** Read in blocks, after whatever was read before, a text gives what it gives read whole; whether blocks had a part in it. */
const agrees = (text: string): boolean => {
  assert.deepEqual(readYaml(new Lines(text), 'a.yaml'), readWholeYaml(new Lines(text), 'a.yaml'));
  return readBlocks(new Lines(text), whole) !== undefined;
};

/** Values as configs write them, `@` for the indentation of their key; the last ones break things. */
const VALUES = [
  '',
  ' 1e-5',
  ' foo bar',
  ' "x: y"',
  " 'it''s'",
  ' [1, 2]',
  ' {a: 1}',
  ' 1 # note',
  ' |\n@    text\n@    # no comment\n\n@    key: text',
  ' >-\n@   folded\n@   text',
  ' |+\n@  kept\n\n',
  ' foo\n@  continued',
  ' [1,\n@  2]',
  ' "a\n@  b"',
  '\n@- x\n@- y',
  '\n@  - x\n@  -\n@    a: 1\n@  - a: 1\n@    b: |\n@      text',
  ' !!str 1',
  ' &x 1',
  ' *x',
  ' 2\n@<<: {m: 1}',
  '\n@? c\n@: d',
  ' "open',
  ' [1,',
  '\n---',
];
/** Lists of so many lines that they are read some items at a time; the last five are not. */
const ITEMS = [
  ['- a', '- -b', '- 1', '- c.d/e'],
  ['- path: x/y\n@  type: alpaca\n@  n: 1', '- path: z', '-  path: w\n@   type: t'],
  ['- a', '- k: 1', '- {k: 1, l: x}', '- [1, 2]', '- "q"', '- x: 1 # note'],
  ['- a', '@# between', '@  # deep', '-\n@    k: 1', '- - 1\n@  - 2', '- |\n@  text\n\n', ''],
  ['- a', '- k: 1\n@  k: 2'],
  ['- a', '- b\n@  continued', '-', '- b'],
  ['- a', '- k:\n@    l: 1', '- &x 1', '- *x'],
  ['- a', '- "open\n@- b"', '- c:', 'd'],
  ['- a', '- k: 1\n@   l: 2', '- b'],
].map((kinds) =>
  Array.from(
    { length: 40 },
    (_, i) => `\n${(kinds[(i * 7 + (i >> 3)) % kinds.length] ?? '').replace(/^-/, '@-')}`,
  ).join(''),
);
const NOISE = ['# c', '', '@# c', '@    # deep', '@  # mid', '   ', '\n\n'];
const INSERTED = ['\n', ' ', '  ', '#', ':', '"', '- ', '[', '\n\n', 'x: 1\n', 'k1: 2\n', '|', '7', '\t'];

interface Entry {
  readonly value: string;
  readonly noise: string | undefined;
  readonly header: string;
  readonly inner: readonly Entry[];
}
const value = fc.oneof(
  { weight: 30, arbitrary: fc.constantFrom('', ' 1', ' foo', ' "x"', ' 0.5 # n', ' [a, b]') },
  { weight: 5, arbitrary: fc.constantFrom(...VALUES.slice(0, 16)) },
  { weight: 1, arbitrary: fc.constantFrom(...VALUES, ...ITEMS.slice(-5)) },
  { weight: 2, arbitrary: fc.constantFrom(...ITEMS.slice(0, -5)) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(...ITEMS.slice(0, -5).map((items) => items.replaceAll('@', '@  '))),
  },
);
const { entry } = fc.letrec<{ entry: Entry }>((tie) => ({
  entry: fc.record({
    value,
    noise: fc.option(fc.constantFrom(...NOISE), { nil: undefined, freq: 3 }),
    header: fc.constantFrom('', ' # head', '  '),
    inner: fc.oneof(
      { maxDepth: 2 },
      fc.constant<Entry[]>([]),
      fc.array(tie('entry'), { minLength: 1, maxLength: 12 }),
    ),
  }),
}));
const document = fc
  .record({
    entries: fc.array(entry, { minLength: 1, maxLength: 8 }),
    head: fc.constantFrom('', '# head\n', '---\n', '\n', 'text\n'),
    end: fc.constantFrom('', '\n', '\n\n', '\n# end', '\n  # end\n'),
    windows: fc.boolean(),
  })
  .map(({ entries, head, end, windows }) => {
    let count = 0;
    const written = ({ value, noise, header, inner }: Entry, indent: string): string => {
      count += 1;
      const above = noise === undefined ? '' : `${noise.replaceAll('@', indent)}\n`;
      const key = `${above}${indent}k${count}:`;
      return inner.length === 0
        ? `${key}${value.replaceAll('@', indent)}`
        : [`${key}${header}`, ...inner.map((each) => written(each, `${indent}  `))].join('\n');
    };
    const text = `${head}${entries.map((each) => written(each, '')).join('\n')}${end}`;
    return windows ? text.replaceAll('\n', '\r\n') : text;
  });
const edits = fc.array(
  fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(3), fc.constantFrom('', ...INSERTED)),
  {
    maxLength: 5,
  },
);

/** How many of the states of a text that is edited step by step were read in blocks. */
const edited = (start: string, steps: readonly (readonly [number, number, string])[]): number => {
  let text = start;
  let inBlocks = Number(agrees(text));
  for (const [share, cut, put] of steps) {
    const at = Math.floor(share * text.length);
    text = text.slice(0, at) + put + text.slice(at + cut);
    inBlocks += Number(agrees(text));
  }
  return inBlocks;
};

describe('YAML read in blocks', function () {
  this.timeout(120_000);

  it('is what it is read whole, whatever is edited', () => {
    let inBlocks = 0;
    fc.assert(
      fc.property(document, edits, (text, steps) => {
        inBlocks += edited(text, steps);
      }),
      { numRuns: runs(40, 160) },
    );
    // The test would prove nothing if every text were read whole: 24 to 42 of the 40 runs' states are read in blocks.
    assert.ok(inBlocks > 10, `${inBlocks}`);
  });

  it('is that of real configs, whatever is edited in them', () => {
    const files = readdirSync(CONFIGS, { recursive: true, encoding: 'utf8' }).filter((file) =>
      /\.ya?ml$/.test(file),
    );
    const texts = files.map((file) => readFileSync(path.join(CONFIGS, file), 'utf8'));
    assert.ok(texts.length > 0);
    const inBlocks = texts.filter(agrees).length;
    assert.ok(inBlocks > texts.length / 2, `${inBlocks} of ${texts.length}`);
    fc.assert(
      fc.property(fc.constantFrom(...texts), edits, (text, steps) => void edited(text, steps)),
      { numRuns: runs(20, 80) },
    );
  });

  it('reads after an edit what the edit is in, and nothing else', () => {
    const modules = Array.from({ length: 400 }, (_, i) => `  team/set-${i}: 0.${i}\n`).join('');
    const text = (rate: string, share: string) =>
      `# head\nlearning_rate: ${rate}\nmixer:\n${modules}  last: ${share}\nend: 1\n`;
    const read = (content: string) => {
      const parsed: string[] = [];
      const root = readBlocks(new Lines(content), (block) => {
        parsed.push(block);
        return whole(block);
      });
      assert.deepEqual(root, whole(content));
      return parsed;
    };
    read(text('1e-3', '0.1'));
    assert.deepEqual(read(text('2e-3', '0.1')), ['learning_rate: 2e-3\n']);
    assert.deepEqual(read(text('2e-3', '0.25')), ['  last: 0.25\n']);
    // Lines that come or go move what stands below, unread.
    assert.deepEqual(read(`\n\n${text('2e-3', '0.25')}`), []);
    assert.deepEqual(read(text('2e-3', '0.25')), []);
  });

  it('reads of a long list the items that the edit is among, and nothing else', () => {
    const text = (share: string) =>
      `datasets:\n${Array.from({ length: 400 }, (_, i) => `  - path: "team/set-${i}"\n    share: ${i === 200 ? share : i}\n`).join('')}end: 1\n`;
    const read = (content: string) => {
      const parsed: string[] = [];
      const root = readBlocks(new Lines(content), (block) => {
        parsed.push(block);
        return whole(block);
      });
      assert.deepEqual(root, whole(content));
      return parsed;
    };
    assert.ok(read(text('0.1')).length > 20);
    const again = read(text('0.2'));
    assert.equal(again.length, 1);
    assert.match(again[0] ?? '', /share: 0\.2\n/);
    assert.ok((again[0]?.length ?? 0) < 1000);
  });

  it('leaves to the whole what entries say to each other', () => {
    for (const text of [
      'a: &x 1\nb: *x\n',
      'a: 1\n<<: {b: 2}\n',
      'a: 1\na: 2\n',
      'a: 1\n---\nb: 2\n',
      'a: [1,\nb: 2]\n',
      'a: "open\nb: 2\n',
      '? a\n: 1\nb: 2\n',
      'a: 1\n...\nb: 2\n',
      '%YAML 1.1\n---\na: 1\n',
      '- a\n- b\n',
      'a: 1\n\tb: 2\n',
      '',
      '# nothing\n',
    ]) {
      assert.equal(agrees(text), false, JSON.stringify(text));
    }
  });
});
