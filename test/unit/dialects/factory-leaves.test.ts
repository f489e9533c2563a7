import assert from 'node:assert/strict';
import { smallWorkspace } from '../workspace/small-workspace';

/** What ZeRO 3 gathers whole of a LLaMA-Factory run. */
async function run(model: string, release: string, zero: Record<string, unknown> = { stage: 3 }) {
  const analysis = await smallWorkspace({
    'oomlint.yaml': 'targets: {gpu: H100, gpus: 8}\n',
    'requirements.txt': `llamafactory==${release}\ndeepspeed==0.19.8\n`,
    'ds.json': JSON.stringify({ zero_optimization: zero, bf16: { enabled: true } }),
    'train.yaml': `stage: sft\ndo_train: true\nmodel_name_or_path: ${model}\nfinetuning_type: full\ndeepspeed: ds.json
template: default\ncutoff_len: 1024\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 1\nbf16: true\n`,
  }).analyze('train.yaml');
  const { values, origins } = analysis.resolved;
  return { leaves: values['zero.leafModules'], kind: origins['zero.leafModules']?.kind };
}

const GPT_OSS = 'openai/gpt-oss-20b';

describe('modules that LLaMA-Factory has ZeRO 3 gather whole', () => {
  it('are the experts of the type, since the release that names it', async () => {
    const [before, since] = [await run(GPT_OSS, '0.9.3'), await run(GPT_OSS, '0.9.4')];
    assert.deepEqual([before.leaves, since.leaves], [undefined, ['GptOssMLP']]);
    assert.equal(since.kind, 'default');
    assert.deepEqual((await run('mistralai/Mixtral-8x7B-v0.1', '0.8.3')).leaves, ['MixtralSparseMoeBlock']);
    assert.equal((await run('Qwen/Qwen2.5-7B', '0.9.5')).leaves, undefined);
  });

  it('give way to those that the DeepSpeed file states', async () => {
    const stated = await run(GPT_OSS, '0.9.5', { stage: 3, leaf_module: { classes: ['GptOssExperts'] } });
    assert.deepEqual(stated.leaves, ['GptOssExperts']);
  });
});
