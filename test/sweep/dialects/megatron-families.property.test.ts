import assert from 'node:assert/strict';
import fc from 'fast-check';
import { parseConfig } from '../../../server/src/config/parse';
import type { Dialect } from '../../../server/src/dialects/dialect';
import { gptNeox } from '../../../server/src/dialects/gpt-neox/gpt-neox';
import { layerPattern } from '../../../server/src/dialects/megatron/gpt-shape';
import { megatronYaml } from '../../../server/src/dialects/megatron/megatron';
import { MEGATRON_KEYS } from '../../../server/src/dialects/megatron/megatron-keys';
import { paddedVocabulary } from '../../../server/src/dialects/megatron/tokenizer-vocabulary';
import { nemoAutomodel } from '../../../server/src/dialects/nemo/automodel';
import { megatronBridge } from '../../../server/src/dialects/nemo/megatron-bridge';
import { nemo } from '../../../server/src/dialects/nemo/nemo';
import { nemoRl } from '../../../server/src/dialects/nemo/nemo-rl';
import { FIELDS } from '../../../server/src/run/fields';
import { fieldError } from '../../../server/src/run/parse-field';

/** Anything that a person may write behind a key, sensible or not. */
const value = fc.oneof(
  fc.integer({ min: -4, max: 5000 }),
  fc.boolean(),
  fc.constant(null),
  fc.constantFrom('bf16', 'full', 'selective', '???', `\${.seq_length}`, '([0]*1+[1]*3)', 'gpt2', '1e3', ''),
  fc.array(fc.constantFrom('core_attn', 'mlp', 1, null), { maxLength: 3 }),
  fc.dictionary(fc.constantFrom('enabled', 'stage', 'name', 'type'), fc.integer(), { maxKeys: 2 }),
);

/** A file with some keys of a table, nested as their paths are. */
function fileOf(dialect: Dialect): fc.Arbitrary<string> {
  const paths = dialect.keys.map(({ path }) => path).filter((path) => !path.includes('*'));
  return fc.array(fc.tuple(fc.constantFrom(...paths), value), { maxLength: 30 }).map((pairs) => {
    const root: Record<string, unknown> = {};
    for (const [path, written] of pairs) put(root, path.split('.'), written);
    return JSON.stringify(root);
  });
}

function put(root: Record<string, unknown>, path: readonly string[], written: unknown): void {
  const [key = '', ...rest] = path;
  if (rest.length === 0) {
    root[key] = written;
    return;
  }
  const inner = root[key];
  const block: Record<string, unknown> =
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? (inner as Record<string, unknown>)
      : {};
  root[key] = block;
  put(block, rest, written);
}

describe('families around Megatron, whatever a file states', () => {
  for (const dialect of [megatronYaml, gptNeox, nemo, nemoRl, nemoAutomodel, megatronBridge]) {
    it(`${dialect.name} reads without throwing, states what fields can hold, and stays in the file`, () => {
      fc.assert(
        fc.property(fileOf(dialect), (text) => {
          const document = parseConfig('file:///a.yaml', text);
          const { facts, problems } = dialect.read(document, { known: { 'hardware.gpus': 8 } });
          for (const { field, value: stated, origin } of facts) {
            // What cannot be meant where a number is goes on to whoever resolves the run, and is refused there with its reason.
            const { type } = FIELDS[field];
            if (origin.kind === 'file' && type !== 'integer' && type !== 'number' && field !== 'model.config')
              assert.equal(fieldError(field, stated), undefined, field);
          }
          for (const { range } of problems) assert.ok(range.end.line <= text.split('\n').length);
        }),
        { numRuns: 150 },
      );
    });
  }

  it('knows every flag with dashes as with underscores', () => {
    for (const { path } of MEGATRON_KEYS)
      assert.ok(megatronYaml.rowAt?.(['MODEL_ARGS', `--${path.replaceAll('_', '-')}`]), path);
  });

  it('makes patterns of exactly the layers there are, of ones and zeros where it is given them', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 1 }), fc.integer({ min: 1, max: 9 })), {
          minLength: 1,
          maxLength: 6,
        }),
        (runs) => {
          const text = `(${runs.map(([kind, count]) => `[${kind}]*${count}`).join('+')})`;
          const expected = runs.flatMap(([kind, count]) => new Array<number>(count).fill(kind));
          assert.deepEqual(layerPattern(text, expected.length), expected);
          assert.equal(layerPattern(text, expected.length + 1), undefined);
        },
      ),
    );
  });

  it('pads to the smallest multiple', () => {
    const size = fc.integer({ min: 1, max: 300_000 });
    fc.assert(
      fc.property(
        size,
        fc.integer({ min: 1, max: 256 }),
        fc.integer({ min: 1, max: 16 }),
        (rows, multiple, ranks) => {
          const padded = paddedVocabulary(rows, multiple, ranks);
          assert.equal(padded % (multiple * ranks), 0);
          assert.ok(padded >= rows && padded - rows < multiple * ranks);
        },
      ),
    );
  });
});
