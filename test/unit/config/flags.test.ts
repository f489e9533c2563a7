import assert from 'node:assert/strict';
import fc from 'fast-check';
import { entryOf } from '../../../server/src/config/lookup';
import type { ConfigDocument, ScalarNode } from '../../../server/src/config/node';
import { formatOf, parseConfig } from '../../../server/src/config/parse';

const read = (text: string): ConfigDocument => parseConfig('file:///w/run.flags', text);

function values(text: string): Record<string, unknown> {
  const { root } = read(text);
  assert.ok(root?.kind === 'map');
  return Object.fromEntries(
    root.entries.map(({ key, value }) => [
      key,
      value.kind === 'scalar'
        ? value.value
        : value.kind === 'list'
          ? value.items.map((i) => (i as ScalarNode).text)
          : {},
    ]),
  );
}

function at(text: string, key: string): string {
  const node = entryOf(read(text).root, key)?.value;
  assert.ok(node);
  const line = text.split('\n')[node.range.start.line] ?? '';
  return line.slice(node.range.start.character, node.range.end.character);
}

describe('flag files', () => {
  it('reads every way to write a flag', () => {
    const text = [
      'a=1',
      '--b 2',
      '--c=3.5',
      'd = on',
      'e: word',
      '--f',
      '-g 7 --h=8 i=9',
      '--j "two words"',
    ].join('\n');
    assert.deepEqual(values(text), {
      a: 1,
      b: 2,
      c: 3.5,
      d: true,
      e: 'word',
      f: true,
      g: 7,
      h: 8,
      i: 9,
      j: 'two words',
    });
  });

  it('leaves comments out, but not a `#` inside of a word', () => {
    assert.deepEqual(values('# head\na=1 # tail\n// more\nb=x#y\n'), { a: 1, b: 'x#y' });
  });

  it('goes on after a backslash at the end of a line', () => {
    assert.deepEqual(values('--a 1 \\\n  --b 2 \\\r\n  c=3\n--d'), { a: 1, b: 2, c: 3, d: true });
  });

  it('takes shorthands as values and as lines of their own', () => {
    assert.deepEqual(values('--arch l=48,h=3072\nl=24,h=1024'), { arch: 'l=48,h=3072', l: '24,h=1024' });
  });

  it('collects included files', () => {
    assert.deepEqual(values('include base.flags\n@more.flags\na=1'), {
      a: 1,
      include: ['base.flags', 'more.flags'],
    });
  });

  it('places values', () => {
    const text = 'a=12\n--bee  34 # x\nc="d e"\n';
    assert.equal(at(text, 'a'), '12');
    assert.equal(at(text, 'bee'), '34');
    assert.equal(at(text, 'c'), '"d e"');
  });

  it('reports a flag stated twice, lets the later one count', () => {
    const document = read('a=1\na=2');
    assert.equal(values('a=1\na=2').a, 2);
    assert.deepEqual(
      document.problems.map(({ code, range }) => [code, range.start.line]),
      [['duplicate-key', 0]],
    );
  });

  it('reports what is no flag and open quotes, at their place', () => {
    assert.deepEqual(
      read('a=1\n???\nb="x').problems.map(({ code, range }) => [code, range.start.line]),
      [
        ['syntax', 1],
        ['syntax', 2],
      ],
    );
  });

  it('is known by name or by its first line', () => {
    assert.equal(formatOf('file:///x.flags', 'anything'), 'flags');
    assert.equal(formatOf('untitled:Untitled-1', '# c\n--bs 8\n'), 'flags');
    assert.equal(formatOf('file:///params.txt', 'bs=8\n'), 'flags');
    assert.equal(formatOf('file:///x', '{"a": 1}'), 'json');
    assert.equal(formatOf('file:///x', 'a: 1'), 'yaml');
    assert.equal(formatOf('file:///x.yaml', 'a=1'), 'yaml');
  });

  it('never throws, and stays inside of the text', () => {
    const pieces = fc.constantFrom(
      '--a',
      'b=1',
      '"',
      "'",
      '\\\n',
      '\n',
      ' ',
      '#',
      '=',
      '@f',
      'include ',
      ',',
      '-',
      '\r\n',
      'x',
      ';',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 40 }), (parts) => {
        const text = parts.join('');
        const { root } = read(text);
        fc.pre(root?.kind === 'map');
        const lines = text.split(/\r\n|\n|\r/);
        for (const { keyRange, value } of root.entries) {
          for (const { start, end } of [keyRange, value.range]) {
            assert.ok(start.line >= 0 && end.line < lines.length);
            assert.ok(end.character <= (lines[end.line]?.length ?? 0));
          }
        }
      }),
      { numRuns: 300 },
    );
  });
});
