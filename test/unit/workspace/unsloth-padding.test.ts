import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

interface Asked {
  readonly loader?: string;
  readonly model?: string;
  readonly args?: string;
  readonly trainer?: string;
  readonly before?: string;
  readonly gpu?: string;
  readonly release?: string;
  readonly micro?: number;
}

const LLAMA = 'unsloth/Llama-3.2-1B';

/** What becomes of padding: whether batches have none, whether a mask reaches the kernel, features, and why. */
async function padding(asked: Asked) {
  const { loader = 'FastLanguageModel', model = LLAMA, args = '', trainer = '', before = '' } = asked;
  const { gpu = 'A100-SXM4-80GB', release, micro = 4 } = asked;
  const text = `# oomlint: gpu=${gpu} gpus=1
import os
from unsloth import FastModel, FastLanguageModel, FastVisionModel
from trl import SFTConfig, SFTTrainer
${before}
model, tokenizer = ${loader}.from_pretrained("${model}", max_seq_length=1024, load_in_4bit=True)
model = ${loader}.get_peft_model(model, r=8)
SFTTrainer(model=model, tokenizer=tokenizer, args=SFTConfig(dataset_text_field="text", per_device_train_batch_size=${micro}, gradient_accumulation_steps=4, ${args})${trainer}).train()
`;
  const files = { 'train.py': text, ...(release ? { 'requirements.txt': `unsloth==${release}\n` } : {}) };
  const { resolved, estimate } = await smallWorkspace(files).analyze('train.py');
  const { values, origins } = resolved;
  return {
    free: values['batch.paddingFree'],
    why: origins['batch.paddingFree']?.note,
    mask: values['attention.mask'],
    whyMask: origins['attention.mask']?.note,
    features: values['features.unmodelled'] ?? [],
    estimate: estimate ?? assert.fail('no estimate'),
  };
}

const SHORT = 'max_steps=60';
const frees = async (asked: Asked) => (await padding({ args: SHORT, ...asked })).free;

describe('padding of the batches of Unsloth', () => {
  it('is left out since 2025.12.4', async () => {
    assert.equal(await frees({ release: '2025.12.1' }), false);
    for (const release of ['2025.12.4', '2026.9.1', '2026.10.9', undefined])
      assert.equal(await frees(release ? { release } : {}), true, release);
  });

  it('is there where something is in the way', async () => {
    const off = { args: `${SHORT}, padding_free=False` };
    assert.equal(await frees(off), false);
    // What TRL's config has anyway.
    assert.equal(await frees({ ...off, release: '2026.2.1' }), true);
    assert.equal(await frees({ trainer: ', data_collator=mine' }), false);
    assert.equal(await frees({ trainer: ', data_collator=None' }), true);
    const variable = (name: string) => `os.environ["${name}"] = "1"`;
    assert.equal(await frees({ before: variable('UNSLOTH_DISABLE_AUTO_PADDING_FREE') }), false);
    assert.equal(await frees({ before: variable('UNSLOTH_RETURN_LOGITS') }), false);
    assert.equal(await frees({ trainer: ', compute_metrics=metrics' }), false);
    assert.equal(await frees({ trainer: ', compute_metrics=metrics', release: '2026.9.1' }), true);
    assert.equal(await frees({ model: 'unsloth/gemma-2-2b' }), false);
    assert.equal(await frees({ loader: 'FastVisionModel', model: 'unsloth/Qwen3-VL-8B-Instruct' }), false);
  });

  it('is estimated by Unsloth since 2026.10.9, where its cards were measured and the run is long', async () => {
    const long = { args: 'max_steps=2000' };
    const open = await padding(long);
    assert.equal(open.free, true);
    assert.match(open.why ?? '', /where it takes that to be faster/);
    const sure = /^Unsloth leaves padding out since/;
    assert.match((await padding({ args: 'max_steps=1000' })).why ?? '', sure);
    assert.match((await padding({ ...long, release: '2026.10.8' })).why ?? '', sure);
    assert.match((await padding({ ...long, gpu: 'H100-SXM-80GB' })).why ?? '', sure);
    const chosen = (choice: string) =>
      padding({ ...long, before: `os.environ["UNSLOTH_PADDING_CHOICE"] = "${choice}"` });
    assert.equal((await chosen('padded')).free, false);
    assert.match((await chosen('padding_free')).why ?? '', sure);
    // Epochs of data that nobody knows.
    assert.match((await padding({ args: 'num_train_epochs=1' })).why ?? '', /where it takes that/);
  });

  it('decides whether a mask reaches the kernel', async () => {
    // Layers of its own drop it in training.
    assert.match((await padding({ args: SHORT })).whyMask ?? '', /drop the mask/);
    assert.equal((await padding({ args: SHORT, trainer: ', data_collator=mine' })).mask, false);
    const gemma = { loader: 'FastModel', model: 'unsloth/gemma-3-1b-it', args: SHORT };
    assert.deepEqual(
      [(await padding(gemma)).mask, (await padding({ ...gemma, release: '2026.9.1' })).mask],
      [false, true],
    );
    assert.match(
      (await padding({ ...gemma, trainer: ', data_collator=mine' })).whyMask ?? '',
      /differ in length/,
    );
  });

  it('leaves rows as long as their samples are together: the least is that of one', async () => {
    const [free, padded] = await Promise.all([
      padding({ args: SHORT }),
      padding({ args: `${SHORT}, padding_free=False` }),
    ]);
    assert.ok(free.estimate.peak.lowerBytes < padded.estimate.peak.lowerBytes);
    assert.equal(free.estimate.peak.processBytes, padded.estimate.peak.processBytes);
  });

  it('has whole layers of its own compiled, which is not counted', async () => {
    const compiled = async (asked: Asked) =>
      (await padding({ args: SHORT, ...asked })).features.includes('block-compile');
    const collator = { trainer: ', data_collator=mine' };
    assert.equal(await compiled({}), false);
    assert.equal(await compiled(collator), true);
    assert.equal(await compiled({ args: 'max_steps=2000' }), true);
    assert.equal(await compiled({ ...collator, release: '2026.10.7' }), false);
    assert.equal(
      await compiled({ ...collator, before: 'os.environ["UNSLOTH_COMPILE_DISABLE"] = "1"' }),
      false,
    );
    assert.equal(await compiled({ ...collator, loader: 'FastModel', model: 'unsloth/gemma-3-1b-it' }), false);
  });
});
