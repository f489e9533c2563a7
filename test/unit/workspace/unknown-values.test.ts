import assert from 'node:assert/strict';
import { FIELD_PATHS, type FieldPath } from '../../../server/src/run/fields';
import { fieldError } from '../../../server/src/run/parse-field';
import { standingOfUnknown } from '../../../server/src/workspace/unknown-values';
import { smallWorkspace } from './small-workspace';

const AXOLOTL = `base_model: meta-llama/Llama-3.1-8B
datasets: [{path: a, type: alpaca}]
sequence_len: 4096
micro_batch_size: 1
gradient_accumulation_steps: 4
bf16: true
gradient_checkpointing: true
`;
const MEGATRON = `MODEL_ARGS:
  --num-layers: 32
  --hidden-size: 4096
  --num-attention-heads: 32
  --seq-length: 4096
  --max-position-embeddings: 4096
  --micro-batch-size: 1
  --global-batch-size: 64
  --vocab-size: 32000
  --bf16: true
  --use-distributed-optimizer: true
`;

/** A run on cards of so many GiB, with the judgement on its memory. */
async function judged(text: string, gib: number, gpus = 8) {
  const project = `targets: { gpu: H100-SXM5-80GB, gpus: ${gpus} }\ndefaults: { hardware: { gpuMemory: ${gib * 2 ** 30} }, allocator: { expandableSegments: false } }\n`;
  const { analyze } = smallWorkspace({ 'oomlint.yaml': project, 'a.yaml': text });
  const { estimate, problems } = await analyze('a.yaml');
  const lines = text.split('\n');
  const at = problems.filter(({ code }) => /^(?:feature-not-modelled|does-not-fit|tight)$/.test(code));
  return {
    verdict: estimate?.verdict,
    upper: estimate?.peak.upperBytes ?? 0,
    places: at.map(({ severity, range }) => `${severity}: ${lines[range.start.line]?.trim()}`),
    messages: at.map(({ message }) => message),
  };
}

/** A config that fits, and a line whose word nobody has, by which it may not on a card of so many GiB. */
const DECIDING: readonly (readonly [config: string, line: string, gib: number])[] = [
  [AXOLOTL, 'optimizer: zzz_other', 110],
  [
    `${AXOLOTL}optimizer: adamw_torch\nfsdp_version: 2\n`,
    'fsdp_config: {reshard_after_forward: zzz_other}',
    110,
  ],
  [`${MEGATRON}  --recompute-granularity: full\n`, '  --recompute-method: zzz_other', 60],
  [MEGATRON, '  --attention-backend: zzz_other', 96],
  [MEGATRON, '  --fp8-format: zzz_other', 80],
];

describe('a value that is not known', () => {
  it('has a standing at every field, and what is tried in its place the field takes', () => {
    const wrong = FIELD_PATHS.flatMap((field) => {
      const standing = standingOfUnknown(field);
      if (typeof standing === 'string') return [];
      assert.ok(standing.tried.length > 1, field);
      return standing.tried.flatMap((changes) =>
        Object.entries(changes).flatMap(([other, value]) =>
          fieldError(other as FieldPath, value) === undefined ? [] : [`${field}: ${String(value)}`],
        ),
      );
    });
    assert.deepEqual(wrong, []);
  });

  for (const [config, line, gib] of DECIDING)
    it(`leaves the verdict open, and is reported where it stands: ${line.trim()}`, async () => {
      assert.equal((await judged(config, gib)).verdict, 'fits');
      const { verdict, places, messages } = await judged(`${config}${line}\n`, gib);
      assert.equal(verdict, 'unknown');
      assert.deepEqual(places, [`information: ${line.trim()}`]);
      assert.match(messages[0] ?? '', /^Needs about .*, and .* GiB by what else `.*zzz_other` may mean/);
    });

  it('leaves it where the run fits whatever it means, and widens the band', async () => {
    const plain = await judged(MEGATRON, 150);
    const open = await judged(`${MEGATRON}  --fp8-format: zzz_other\n`, 150);
    assert.deepEqual([plain.verdict, open.verdict, open.messages], ['fits', 'fits', []]);
    assert.ok(open.upper > plain.upper);
  });

  it('decides nothing that another key states', async () => {
    const stated = `${AXOLOTL}optimizer: adamw_torch\nflash_attention: true\nsdp_attention: zzz_other\n`;
    assert.equal((await judged(stated, 110)).verdict, 'fits');
  });
});
