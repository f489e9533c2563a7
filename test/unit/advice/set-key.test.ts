import assert from 'node:assert/strict';
import fc from 'fast-check';
import { setKey } from '../../../server/src/advice/write/set-key';
import { textEdits, withEdits } from '../../../server/src/advice/write/text-edits';
import { nodeAt } from '../../../server/src/config/lookup';
import type { ConfigFormat } from '../../../server/src/config/node';
import { parseConfig } from '../../../server/src/config/parse';
import { plainOf } from '../../../server/src/config/scalar';
import type { Written } from '../../../server/src/dialects/words';

function set(format: ConfigFormat, text: string, path: string, value: Written): string | undefined {
  return setKey(text, format, path.split('.'), value);
}

describe('a key of JSON', () => {
  it('is found where it is spelt with escapes', () => {
    assert.equal(set('json', '{"st\\u0061ge": 3}', 'stage', 2), '{"st\\u0061ge": 2}');
  });
});

describe('a key of YAML', () => {
  const text = '# top\nbatch: 4 # per GPU\nmodel:\n  name: "a"   # quoted\n  on: True\n\n# end\nlr: 1e-4\n';
  it('changes its value alone', () => {
    assert.equal(set('yaml', text, 'batch', 2), text.replace('batch: 4', 'batch: 2'));
  });
  it('keeps its quotes and its way to write booleans', () => {
    assert.equal(set('yaml', text, 'model.name', 'b'), text.replace('"a"', '"b"'));
    assert.equal(set('yaml', text, 'model.on', false), text.replace('True', 'False'));
  });
  it('comes new behind the last of its block', () => {
    assert.equal(set('yaml', text, 'model.size', 8), text.replace('on: True\n', 'on: True\n  size: 8\n'));
    assert.equal(set('yaml', text, 'z', true), `${text.trimEnd()}\nz: true\n`);
  });
  it('brings its blocks along', () => {
    assert.equal(set('yaml', 'a: 1\n', 'b.c.d', 2), 'a: 1\nb:\n  c:\n    d: 2\n');
    assert.equal(set('yaml', 'a: 1\nb:\n', 'b.c', 2), 'a: 1\nb:\n  c: 2\n');
  });
  it('stays inside of braces', () => {
    assert.equal(set('yaml', 'a: {b: 1} # x\n', 'a.c', 'd'), 'a: {b: 1, c: d} # x\n');
    assert.equal(set('yaml', 'a: {b: 1, c: 2}\n', 'a.b', undefined), 'a: {c: 2}\n');
  });
  it('adds to a list in the way that the list is written', () => {
    assert.equal(
      set('yaml', 'p:\n    - x # one\nq: 1\n', 'p', ['x', 'y']),
      'p:\n    - x # one\n    - y\nq: 1\n',
    );
    assert.equal(set('yaml', 'p: [x]\n', 'p', ['x', 'y']), 'p: [x, y]\n');
  });
  it('goes with its line', () => {
    assert.equal(set('yaml', 'a: 1\nb: 2 # why\nc: 3\n', 'b', undefined), 'a: 1\nc: 3\n');
  });
  it('keeps anchors, and is not changed where it is shared', () => {
    assert.equal(set('yaml', 'a: &x 4\nb: *x\n', 'a', 2), 'a: &x 2\nb: *x\n');
    assert.equal(set('yaml', 'a: &x\n  k: 1\nb:\n  <<: *x\n  l: 2\n', 'b.k', 2), undefined);
  });
  it('keeps the line breaks of Windows', () => {
    assert.equal(set('yaml', 'a: 1\r\nb: 2\r\n', 'c', 3), 'a: 1\r\nb: 2\r\nc: 3\r\n');
  });
});

describe('a key of JSON', () => {
  it('keeps comments, commas and the indentation', () => {
    const text = '{\n    // one\n    "a": 1,\n    "b": { "c": 2 }, # two\n}\n';
    assert.equal(set('json', text, 'a', 3), text.replace('"a": 1', '"a": 3'));
    const added = set('json', text, 'b.d', 'cpu') ?? '';
    assert.ok(added.includes('// one') && added.includes('# two'), added);
    assert.deepEqual(plainOf(nodeAt(parseConfig('file:///x.json', added).root, 'b') as never), {
      c: 2,
      d: 'cpu',
    });
  });
  it('leaves the comment of the last one where it is', () => {
    const text = '{\n  "a": 1 // of a\n}\n';
    assert.equal(set('json', text, 'b', 2), '{\n  "a": 1, // of a\n  "b": 2\n}\n');
  });
  it('ends in a comma where the last one does', () => {
    assert.equal(set('json', '{\n  "a": 1,\n}\n', 'b', 2), '{\n  "a": 1,\n  "b": 2,\n}\n');
  });
  it('stays on its line, and brings blocks along', () => {
    assert.equal(set('json', '{"a": {"b": 1}}', 'a.c', 2), '{"a": {"b": 1, "c": 2}}');
    assert.equal(set('json', '{\n\t"a": 1\n}', 'b.c', 2), '{\n\t"a": 1,\n\t"b": {\n\t\t"c": 2\n\t}\n}');
  });
  it('goes with its line and its comma', () => {
    assert.equal(set('json', '{\n  "a": 1,\n  "b": 2 // of b\n}\n', 'b', undefined), '{\n  "a": 1\n}\n');
    assert.equal(set('json', '{"a": 1, "b": 2, "c": 3}', 'b', undefined), '{"a": 1, "c": 3}');
  });
  it('reports nothing in a text that is no object', () => {
    assert.equal(set('json', '[1]', 'a', 2), undefined);
  });
});

describe('a key of TOML', () => {
  const text = "# t\n[training]\nbatch = 4 # b\n\n# next\n[model]\nname = 'x'\n";
  it('changes in place', () => {
    assert.equal(set('toml', text, 'training.batch', 2), text.replace('batch = 4', 'batch = 2'));
    assert.equal(set('toml', text, 'model.name', 'y'), text.replace("'x'", "'y'"));
  });
  it('comes behind the last of its table, before the comment of the next', () => {
    assert.equal(set('toml', text, 'training.steps', 10), text.replace('# b\n', '# b\nsteps = 10\n'));
  });
  it('brings its table', () => {
    assert.equal(set('toml', text, 'compile.enable', true), `${text}\n[compile]\nenable = true\n`);
  });
});

describe('a flag of a script', () => {
  const flags = 'commands.[0].arguments';
  const text =
    '#!/bin/bash\nBS=4\ntorchrun train.py \\\n  --per_device_train_batch_size $BS \\\n  --bf16 \\\n  --lr 1e-4\n';
  const at = (source: string, flag: string, value: Written) =>
    setKey(source, 'shell', [...flags.split('.'), flag], value);
  it('changes its variable', () => {
    assert.equal(at(text, 'per_device_train_batch_size', 2), text.replace('BS=4', 'BS=2'));
  });
  it('is added as its neighbours are', () => {
    assert.equal(at(text, 'optim', 'adafactor'), text.replace('1e-4\n', '1e-4 \\\n  --optim adafactor\n'));
    assert.equal(
      at('torchrun t.py --micro-batch-size 4\n', 'seq_length', 8),
      'torchrun t.py --micro-batch-size 4 --seq-length 8\n',
    );
  });
  it('goes with its line', () => {
    assert.equal(at(text, 'bf16', false), text.replace('  --bf16 \\\n', ''));
  });
  it('is left where its value is put together', () => {
    assert.equal(at('torchrun t.py --a "$((2 * 3))" --b 1\n', 'a', 4), undefined);
  });
});

describe('a flag of a flag file', () => {
  it('changes in place and is added as the last one is', () => {
    assert.equal(setKey('bs=4 # x\nseq=8\n', 'flags', ['bs'], 2), 'bs=2 # x\nseq=8\n');
    assert.equal(setKey('--bs 4\n', 'flags', ['gac'], 2), '--bs 4\n--gac 2\n');
  });
});

describe('any key of any block', () => {
  const name = fc.stringMatching(/^[a-z]{1,6}$/);
  const scalar = fc.oneof(fc.integer({ min: 0, max: 9999 }), fc.boolean(), name);
  const config = fc.dictionary(name, fc.oneof(scalar, fc.dictionary(name, scalar, { minKeys: 1 })), {
    minKeys: 1,
  });
  const shown = (value: unknown): string => (typeof value === 'object' ? '' : JSON.stringify(value));
  const yaml = (map: Record<string, unknown>, indent = ''): string =>
    Object.entries(map)
      .map(([key, value]) =>
        typeof value === 'object'
          ? `${indent}${key}: # of ${key}\n${yaml(value as Record<string, unknown>, `${indent}  `)}`
          : `${indent}${key}: ${shown(value)} # of ${key}\n`,
      )
      .join('');

  for (const format of ['yaml', 'json'] as const) {
    it(`reads back as it was written, and nothing else changes (${format})`, () => {
      fc.assert(
        fc.property(
          config,
          name,
          fc.option(name, { nil: undefined }),
          scalar,
          fc.constantFrom(0, 2, 4),
          (map, key, inner, value, width) => {
            const path = inner === undefined ? [key] : [key, inner];
            const present = map[key];
            fc.pre(
              inner === undefined
                ? typeof present !== 'object'
                : present === undefined || typeof present === 'object',
            );
            const text = format === 'yaml' ? yaml(map) : JSON.stringify(map, null, width);
            const after = setKey(text, format, path, value);
            assert.ok(after !== undefined, text);
            const root = parseConfig(`file:///x.${format}`, after).root;
            const expected: Record<string, unknown> = structuredClone(map);
            if (inner === undefined) expected[key] = value;
            else expected[key] = { ...(present as object), [inner]: value };
            assert.deepEqual(root && plainOf(root), expected, after);
            // Twice changes nothing more, and every comment is kept.
            assert.equal(setKey(after, format, path, value), after);
            for (const [comment] of text.matchAll(/# of \w+$/gm)) assert.ok(after.includes(comment), after);
            assert.equal(withEdits(text, textEdits(text, after)), after);
          },
        ),
        { numRuns: 300 },
      );
    });
  }

  it('any two texts differ by the edits between them', () => {
    const lines = fc.array(fc.constantFrom('a', 'b', 'c: 1', '  d', ''), { maxLength: 12 });
    const eol = fc.constantFrom('\n', '\r\n');
    fc.assert(
      fc.property(lines, lines, eol, (before, after, gap) => {
        const [one, two] = [before.join(gap), after.join(gap)];
        assert.equal(withEdits(one, textEdits(one, two)), two);
      }),
      { numRuns: 2000 },
    );
  });

  it('never throws on any text', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.constantFrom<ConfigFormat>('yaml', 'json', 'toml', 'shell', 'flags'),
        (text, format) => {
          setKey(text, format, ['a', 'b'], 1);
          setKey(text, format, ['a'], undefined);
        },
      ),
      { numRuns: 500 },
    );
  });
});
