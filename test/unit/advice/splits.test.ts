import assert from 'node:assert/strict';
import { isEstimated } from '../../../server/src/advice/changed-run';
import { isRefused, movesOf } from '../../../server/src/advice/moves';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const AXOLOTL = `# oomlint: gpu=A100-SXM4-80GB gpus=8
base_model: meta-llama/Llama-3.1-8B
datasets: [{ path: tatsu-lab/alpaca, type: alpaca }]
sequence_len: 8192
micro_batch_size: 2
gradient_accumulation_steps: 4
optimizer: adamw_torch
learning_rate: 2.0e-5
bf16: true
`;

async function splitsOf(text: string) {
  const uri = 'file:///p/config.yaml';
  const analysis = await new Workspace(new MemoryHost({ [uri]: text })).analyze(uri);
  assert.ok(analysis && isEstimated(analysis), JSON.stringify(analysis?.resolved.unknown));
  const { run } = analysis.resolved;
  assert.ok(run);
  return movesOf(analysis)
    .filter(({ kind }) => /^parallel\.(tensor|context)$/.test(kind))
    .filter(({ changes }) => !isRefused({ ...run, ...changes }, analysis));
}
const kindsOf = async (text: string) => [...new Set((await splitsOf(text)).map(({ kind }) => kind))];

describe('splits over GPUs of Axolotl', () => {
  it('bring FlashAttention 2 with the split of samples', async () => {
    const moves = await splitsOf(AXOLOTL);
    const context = moves.filter(({ kind }) => kind === 'parallel.context');
    assert.ok(context.length > 0);
    for (const { changes, fields } of context) {
      assert.equal(changes['attention.implementation'], 'flash2');
      assert.ok(fields.includes('attention.implementation'));
    }
    const flash = await splitsOf(`${AXOLOTL}attn_implementation: flash_attention_2\n`);
    for (const { changes } of flash) assert.equal(changes['attention.implementation'], undefined);
  });

  it('are not offered where Axolotl stops on them', async () => {
    assert.deepEqual(await kindsOf(AXOLOTL), ['parallel.tensor', 'parallel.context']);
    const only = ['parallel.context'];
    const liger = 'plugins: [axolotl.integrations.liger.LigerPlugin]\nliger_rms_norm: true\n';
    assert.deepEqual(await kindsOf(AXOLOTL + liger), only);
    assert.deepEqual(await kindsOf(AXOLOTL.replace('adamw_torch', 'paged_adamw_8bit')), only);
    assert.deepEqual(await kindsOf(AXOLOTL.replace('3.1-8B', '3.2-1B')), only, 'tied ends');
    const qlora = 'adapter: qlora\nload_in_4bit: true\nlora_r: 8\nlora_target_linear: true\n';
    assert.deepEqual(await kindsOf(AXOLOTL + qlora), only);
    assert.deepEqual(
      await kindsOf(AXOLOTL.replace('meta-llama/Llama-3.1-8B', 'tiiuae/falcon-7b')),
      only,
      'no plan',
    );
    assert.deepEqual(
      await kindsOf(`${AXOLOTL}fsdp_version: 1\nfsdp_config: { auto_wrap_policy: TRANSFORMER_BASED_WRAP }\n`),
      [],
    );
    assert.deepEqual(await kindsOf(`${AXOLOTL}sample_packing: true\n`), ['parallel.tensor']);
  });
});
