import assert from 'node:assert/strict';
import { nodeAt } from '../../../server/src/config/lookup';
import type { ConfigNode } from '../../../server/src/config/node';
import { formatOf, MAX_LINES, parseConfig } from '../../../server/src/config/parse';
import { plainOf } from '../../../server/src/config/scalar';
import { processorMs } from '../processor-time';

const plain = (uri: string, text: string) => {
  const { root } = parseConfig(uri, text);
  return root ? plainOf(root) : null;
};
const scalar = (node: ConfigNode | undefined) => {
  assert.ok(node?.kind === 'scalar');
  return node;
};
const codes = (uri: string, text: string) => parseConfig(uri, text).problems.map((problem) => problem.code);

describe('parseConfig', () => {
  it('goes by the file name, then by the first character', () => {
    assert.equal(formatOf('file:///a/ds_config.json', ''), 'json');
    assert.equal(formatOf('file:///a/ds.HJSON', ''), 'json');
    assert.equal(formatOf('a.yml', '{}'), 'yaml');
    assert.equal(formatOf('untitled:Untitled-1', ' {"a": 1}'), 'json');
    assert.equal(formatOf('untitled:Untitled-1', 'a: 1'), 'yaml');
  });

  it('keeps the places of keys and values', () => {
    const { root } = parseConfig('a.json', '{\r\n  "a": { "b": [1, "x"] }\r\n}');
    const list = nodeAt(root, 'a.b');
    assert.deepEqual(list?.range, { start: { line: 1, character: 14 }, end: { line: 1, character: 22 } });
    assert.ok(root?.kind === 'map');
    assert.deepEqual(root.entries[0]?.keyRange, {
      start: { line: 1, character: 2 },
      end: { line: 1, character: 5 },
    });
    const yaml = parseConfig('a.yaml', '# top\na:\n  b: "x" # end\n');
    assert.deepEqual(nodeAt(yaml.root, 'a.b')?.range, {
      start: { line: 2, character: 5 },
      end: { line: 2, character: 8 },
    });
    assert.equal(scalar(nodeAt(yaml.root, 'a.b')).text, 'x');
  });

  it('does not count the byte order mark, as editors do not', () => {
    const { root, problems } = parseConfig('a.json', '\ufeff{"a": 1}');
    assert.deepEqual(problems, []);
    assert.deepEqual(nodeAt(root, 'a')?.range.start, { line: 0, character: 6 });
    assert.deepEqual(plain('a.yaml', '\ufeffa: 1\nb: 2\n'), { a: 1, b: 2 });
  });

  describe('JSON', () => {
    it('accepts comments and trailing commas, and reports it', () => {
      const text = '{ // why\n "a": 1, # what\n /* x */ "b": [1,2,],\n}';
      assert.deepEqual(plain('a.json', text), { a: 1, b: [1, 2] });
      assert.equal(parseConfig('a.json', text).relaxedJson, true);
      assert.deepEqual(codes('a.json', text), []);
      assert.equal(parseConfig('a.json', '{"a": "# // ,]"}').relaxedJson, false);
    });

    it('reports a duplicate key at the second one', () => {
      const [problem, ...more] = parseConfig('a.json', '{"a": 1,\n "a": 2}').problems;
      assert.deepEqual(more, []);
      assert.equal(problem?.code, 'duplicate-key');
      assert.equal(problem.severity, 'error');
      assert.deepEqual(problem.range.start, { line: 1, character: 1 });
      assert.deepEqual(problem.related?.[0]?.range.start, { line: 0, character: 1 });
      assert.equal(problem.related?.[0]?.uri, 'a.json');
      assert.deepEqual(plain('a.json', '{"a": 1, "a": 2}'), { a: 2 });
    });

    it('reads what is there of a truncated file', () => {
      for (const text of ['{"a": 1, "b"', '{"a": 1, "b":', '{"a": 1, ', '{"a": 1', '{"a": 1, "b": {"c": [']) {
        const document = parseConfig('a.json', text);
        assert.equal(scalar(nodeAt(document.root, 'a')).value, 1, text);
        assert.ok(document.problems.length > 0, text);
      }
      assert.equal(parseConfig('a.json', '').root, null);
      assert.equal(parseConfig('a.json', 'null').problems.length, 0);
    });
  });

  describe('YAML', () => {
    it('types scalars as PyYAML does', () => {
      const text = `a: no
b: Yes
c: 1e-5
d: 1.0e-5
e: 1_000
f: 017
g: 0x1F
h: ~
i:
j: 'no'
k: 1:30
l: .5
m: 1.
n: 5e8
o: off
p: y
q: 0o17
r: -.inf
s: 2024-01-01
t: !!str 5
u: !!float 3
`;
      assert.deepEqual(plain('a.yaml', text), {
        a: false,
        b: true,
        c: '1e-5',
        d: 1e-5,
        e: 1000,
        f: 15,
        g: 31,
        h: null,
        i: null,
        j: 'no',
        k: 90,
        l: 0.5,
        m: 1,
        n: '5e8',
        o: false,
        p: 'y',
        q: '0o17',
        r: Number.NEGATIVE_INFINITY,
        s: '2024-01-01',
        t: '5',
        u: 3,
      });
      assert.equal(scalar(nodeAt(parseConfig('a.yaml', text).root, 'a')).text, 'no');
    });

    it('follows anchors, aliases and merge keys', () => {
      const text = 'base: &b {x: 1, y: 2}\nuse:\n  <<: *b\n  y: 3\nsame: *b\n';
      assert.deepEqual(plain('a.yaml', text), {
        base: { x: 1, y: 2 },
        use: { x: 1, y: 3 },
        same: { x: 1, y: 2 },
      });
      const range = nodeAt(parseConfig('a.yaml', text).root, 'same')?.range;
      assert.deepEqual(range, { start: { line: 4, character: 6 }, end: { line: 4, character: 8 } });
    });

    it('takes the last of duplicate keys and warns', () => {
      const [problem] = parseConfig('a.yaml', 'a: 1\nb: 2\na: 3\n').problems;
      assert.equal(problem?.code, 'duplicate-key');
      assert.equal(problem.severity, 'warning');
      assert.deepEqual(problem.range.start, { line: 2, character: 0 });
      assert.deepEqual(plain('a.yaml', 'a: 1\nb: 2\na: 3\n'), { b: 2, a: 3 });
    });

    it('reads the first of several documents', () => {
      const document = parseConfig('a.yaml', '---\na: 1\n---\na: 2\n');
      assert.equal(scalar(nodeAt(document.root, 'a')).value, 1);
      assert.deepEqual(
        document.problems.map((problem) => [problem.code, problem.severity]),
        [['multiple-documents', 'hint']],
      );
    });

    it('ends a block before its line break, so that the next key is not inside', () => {
      const { root } = parseConfig('a.yaml', 'a:\n  b: 1\nc: 2\n');
      assert.deepEqual(nodeAt(root, 'a')?.range.end, { line: 1, character: 6 });
    });

    it('reports tabs and unclosed brackets where they are', () => {
      const [problem] = parseConfig('a.yaml', 'a: 1\nb: [1, 2\nc: 3\n').problems;
      assert.equal(problem?.code, 'syntax');
      assert.ok((problem.range.start.line ?? 0) >= 1);
      assert.ok(codes('a.yaml', 'a:\n\tb: 1\n').includes('syntax'));
    });
  });

  describe('files that are no configs', () => {
    it('refuses large files with one note', () => {
      assert.deepEqual(codes('a.yaml', 'k: 1\n'.repeat(50_000)), ['too-large']);
      assert.deepEqual(codes('a.json', `"${'x'.repeat(3_000_000)}"`), ['too-large']);
      assert.equal(parseConfig('a.yaml', '\n'.repeat(MAX_LINES - 2)).problems.length, 0);
    });

    it('refuses endless lines with one note', () => {
      assert.deepEqual(codes('a.yaml', '['.repeat(200_000)), ['too-large']);
    });

    it('refuses binary data with one note', () => {
      assert.deepEqual(codes('a.json', 'PK\u0003\u0004\0\0\0'), ['binary']);
    });

    it('bounds nesting without touching the end of the stack', () => {
      for (const text of ['['.repeat(20_000), '{"a":'.repeat(19_000)]) {
        assert.deepEqual(codes('a.json', text), ['syntax']);
        assert.deepEqual(codes('a.yaml', text), ['syntax']);
      }
      assert.deepEqual(codes('a.yaml', '- '.repeat(20_000)), ['syntax']);
    });

    it('bounds what aliases expand to', async () => {
      let bomb = 'a0: &a0 [x, x]\n';
      for (let i = 1; i < 40; i++)
        bomb += `a${i}: &a${i} [${Array(9)
          .fill(`*a${i - 1}`)
          .join(', ')}]\n`;
      const took = await processorMs(() => assert.deepEqual(codes('a.yaml', bomb), ['syntax']));
      assert.ok(took < 3000, `${took} ms`);
      assert.ok(codes('a.yaml', 'a: &a [*a]\n').includes('syntax'));
    });

    it('bounds the number of problems', () => {
      assert.ok(parseConfig('a.json', '{ ? \n'.repeat(5000)).problems.length <= 20);
      assert.ok(parseConfig('a.yaml', '}\n'.repeat(5000)).problems.length <= 20);
    });

    it('reads one side of a merge conflict and complains once', () => {
      for (const [uri, text] of [
        ['a.yaml', 'a: 1\n<<<<<<< HEAD\nb: 1\n=======\nb: 2\n>>>>>>> topic\nc: 3\n'],
        [
          'a.json',
          '{"a": 1,\n<<<<<<< HEAD\n"b": 1,\n||||||| base\n"b": 0,\n=======\n"b": 2,\n>>>>>>> topic\n"c": 3}\n',
        ],
      ] as const) {
        assert.deepEqual(plain(uri, text), { a: 1, b: 1, c: 3 });
        const [problem, ...more] = parseConfig(uri, text).problems;
        assert.deepEqual(more, []);
        assert.equal(problem?.code, 'conflict-marker');
        assert.deepEqual(problem.range, {
          start: { line: 1, character: 0 },
          end: { line: 1, character: 12 },
        });
      }
    });
  });

  describe('directives', () => {
    it('collects them with the range of their text', () => {
      const { directives } = parseConfig(
        'a.json',
        '{ // oomlint: gpu=H100 gpus=8 \n "a": "// oomlint: no", # oomlint: off\n/* oomlint: seq=1 */}',
      );
      assert.deepEqual(directives, [
        {
          text: 'gpu=H100 gpus=8',
          range: { start: { line: 0, character: 14 }, end: { line: 0, character: 29 } },
        },
        { text: 'off', range: { start: { line: 1, character: 35 }, end: { line: 1, character: 38 } } },
        { text: 'seq=1', range: { start: { line: 2, character: 12 }, end: { line: 2, character: 17 } } },
      ]);
      assert.deepEqual(
        parseConfig('a.yaml', '# oomlint: gpu=A100\na: 1 # oomlint: seq=2048').directives.map((d) => d.text),
        ['gpu=A100', 'seq=2048'],
      );
      assert.deepEqual(parseConfig('a.yaml', 'a: x#oomlint: no\nb: http://oomlint: x').directives, []);
    });
  });
});
