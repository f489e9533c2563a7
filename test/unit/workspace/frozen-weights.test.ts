import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const SWIFT = `model: Qwen/Qwen2.5-0.5B
tuner_type: full
dataset: x
torch_dtype: bfloat16
per_device_train_batch_size: 1
max_length: 512
`;
const AXOLOTL = `base_model: Qwen/Qwen2.5-VL-7B-Instruct
micro_batch_size: 1
sequence_len: 2048
bf16: true
datasets: [{path: a, type: alpaca}]
`;
/** Qwen2.5 0.5B: 151,936 rows of 896, tied; layers and the last norm beside them. */
const EMBEDDING = 151_936 * 896;

async function run(text: string) {
  const { analyze } = smallWorkspace({ 'a.yaml': text, 'oomlint.yaml': 'gpu: H100-SXM5-80GB\ngpus: 1\n' });
  return analyze('a.yaml');
}

async function trained(text: string): Promise<number> {
  const { estimate, problems } = await run(text);
  return estimate?.model.trainableParameters ?? assert.fail(JSON.stringify(problems));
}

describe('weights that are frozen by their names', () => {
  it('are not trained by ms-swift, whatever transformers puts before them, but for those that are asked for', async () => {
    const all = await trained(SWIFT);
    assert.equal(all, 494_032_768);
    for (const name of ['model.embed_tokens', 'embed_tokens'])
      assert.equal(await trained(`${SWIFT}freeze_parameters: [${name}]\n`), all - EMBEDDING, name);
    const layer = (all - EMBEDDING - 896) / 24;
    assert.equal(
      await trained(
        `${SWIFT}freeze_parameters: [model.embed_tokens, model.layers]\ntrainable_parameters: [model.layers.23.]\n`,
      ),
      layer + 896,
    );
    assert.equal(await trained(`${SWIFT}freeze_parameters: []\ntrainable_parameters: [model.norm]\n`), all);
  });

  it('leave ms-swift’s run open where a share or a regular expression decides', async () => {
    for (const more of ['freeze_parameters_ratio: 0.9', 'freeze_parameters_regex: ".*mlp.*"']) {
      const { estimate, resolved, unread } = await run(`${SWIFT}${more}\n`);
      assert.equal(estimate, undefined, more);
      assert.ok(
        resolved.unknown.some(({ field }) => field === 'method.kind'),
        JSON.stringify(resolved.unknown),
      );
      assert.equal(unread?.length, 1);
    }
    assert.ok(await trained(`${SWIFT}freeze_parameters_ratio: 0\n`));
  });

  it('are towers and projectors in Axolotl’s multimodal runs, and nothing of a model that only reads', async () => {
    // Text side of Qwen2.5-VL 7B: that of Qwen2.5 7B with its own head.
    assert.equal(await trained(`${AXOLOTL}freeze_mm_modules: true\n`), 7_615_616_512);
    const text = AXOLOTL.replace('2.5-VL-7B-Instruct', '2.5-7B');
    assert.equal(await trained(`${text}freeze_mm_modules: true\n`), await trained(text));
    const lora = `${AXOLOTL}adapter: lora\nlora_r: 8\nlora_alpha: 16\nlora_target_linear: true\n`;
    assert.ok((await trained(`${lora}freeze_mm_modules: true\n`)) < (await trained(lora)));
  });
});
