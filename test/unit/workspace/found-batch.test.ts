import assert from 'node:assert/strict';
import { isEstimated, tryChanges } from '../../../server/src/advice/changed-run';
import { largestMicroBatch } from '../../../server/src/advice/largest-batch';
import { breakdownOf } from '../../../server/src/features/breakdown';
import { codeLens } from '../../../server/src/features/code-lens';
import { status } from '../../../server/src/features/status';
import { triedBatches } from '../../../server/src/run/tried-batches';
import { aRun } from '../memory/a-run';
import { smallWorkspace } from './small-workspace';

/* Frameworks that lower the micro batch after each error of memory: the run is one with a micro batch that fits, where there is one. */

const CARD = 'gpu=A100-SXM4-80GB gpus=2';

async function look(file: string, text: string, files: Readonly<Record<string, string>> = {}) {
  const { workspace } = smallWorkspace({ ...files, [file]: text });
  const analysis = await workspace.analyze(`file:///repo/${file}`);
  assert.ok(analysis && isEstimated(analysis), `${file} has no estimate`);
  const { run } = analysis.resolved;
  assert.ok(run);
  return { analysis, run, estimate: analysis.estimate };
}

const llama = (extra: string) => `# oomlint: ${CARD}
${extra}gradient_accumulation_steps: 4
bf16: true
auto_find_batch_size: true
`;

/** A run of each family that has the key, with 64 samples to begin with. */
const FAMILIES: Readonly<Record<string, readonly [file: string, text: string]>> = {
  Axolotl: [
    'a.yaml',
    llama(
      'base_model: meta-llama/Llama-3.1-8B\nsequence_len: 4096\nsample_packing: true\nmicro_batch_size: 64\nadapter: lora\nlora_r: 16\nlora_alpha: 32\nlora_target_linear: true\noptimizer: adamw_torch\ngradient_checkpointing: true\n',
    ),
  ],
  'LLaMA-Factory': [
    'l.yaml',
    llama(
      'model_name_or_path: meta-llama/Llama-3.1-8B\nstage: sft\ndo_train: true\nfinetuning_type: lora\nlora_target: all\ncutoff_len: 4096\npacking: true\ntemplate: llama3\ndataset: alpaca_en_demo\nper_device_train_batch_size: 64\n',
    ),
  ],
  TRL: [
    't.yaml',
    llama(
      'model_name_or_path: meta-llama/Llama-3.1-8B\nmax_length: 4096\npacking: true\nuse_peft: true\nlora_r: 16\nlora_target_modules: all-linear\nper_device_train_batch_size: 64\ngradient_checkpointing: true\n',
    ),
  ],
  'ms-swift': [
    's.sh',
    `# oomlint: ${CARD}\nNPROC_PER_NODE=2 swift sft --model meta-llama/Llama-3.1-8B --dataset d --train_type lora --target_modules all-linear --max_length 4096 --packing true --attn_impl flash_attn --per_device_train_batch_size 64 --gradient_accumulation_steps 4 --torch_dtype bfloat16 --auto_find_batch_size true\n`,
  ],
  'a script of the Trainer': [
    'h.sh',
    `# oomlint: ${CARD} sequence=4096\ntorchrun --nproc_per_node 2 run_clm.py --model_name_or_path Qwen/Qwen2.5-0.5B --block_size 4096 --per_device_train_batch_size 64 --gradient_accumulation_steps 4 --bf16 --do_train --auto_find_batch_size\n`,
  ],
  'a program with the Trainer': [
    'p.py',
    `# oomlint: ${CARD} sequence=4096
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
args = TrainingArguments("out", per_device_train_batch_size=64, gradient_accumulation_steps=4, bf16=True, auto_find_batch_size=True)
Trainer(model=model, args=args, train_dataset=data).train()
`,
  ],
};

const foundry = (micro: string, global = 1024) => `# oomlint: gpu=A100-SXM4-40GB gpus=8
max_seq_len: 2048
model: {name: mpt_causal_lm, d_model: 2048, n_heads: 16, n_layers: 24, vocab_size: 50368, max_seq_len: 2048, attn_config: {attn_impl: flash}}
optimizer: {name: decoupled_adamw}
max_duration: 100ba
global_train_batch_size: ${global}
device_train_microbatch_size: ${micro}
precision: amp_bf16
fsdp_config: {sharding_strategy: FULL_SHARD, mixed_precision: PURE, activation_checkpointing: false}
`;

describe('a micro batch that the framework finds', () => {
  for (const [family, [file, text]] of Object.entries(FAMILIES))
    it(`is one that fits: ${family}`, async () => {
      const { analysis, run, estimate } = await look(file, text);
      assert.equal(estimate.verdict, 'fits');
      assert.deepEqual(
        analysis.problems.filter(({ severity }) => severity === 'error' || severity === 'warning'),
        [],
      );
      const micro = run['batch.micro'];
      assert.ok(micro > 0 && micro < 64, String(micro));
      assert.deepEqual(estimate.foundBatch, { micro, from: 64 });
      assert.equal(run['batch.accumulation'], 4, 'the Trainer keeps the accumulation');
      assert.equal(run['batch.global'], 2 * 4 * micro);
      assert.equal(estimate.compute.tokensPerStep, 2 * 4 * micro * run['batch.sequence']);
      // The step before it is not sure to fit.
      const tried = triedBatches({ ...run, 'batch.micro': 64 });
      const before = tried[tried.indexOf(micro) - 1];
      assert.ok(before);
      assert.notEqual(tryChanges(analysis, { 'batch.micro': before })?.estimate.verdict, 'fits');
      assert.equal(tryChanges(analysis, { 'batch.micro': micro })?.estimate.verdict, 'fits');
    });

  it('is half of the one before in Composer, which accumulates the more', async () => {
    const { analysis, run, estimate } = await look('c.yaml', foundry('auto'));
    assert.equal(estimate.verdict, 'fits');
    assert.deepEqual(analysis.problems, []);
    const micro = run['batch.micro'];
    assert.deepEqual(estimate.foundBatch, { micro, from: 128 });
    assert.ok([1, 2, 4, 8, 16, 32, 64].includes(micro), String(micro));
    assert.equal(run['batch.accumulation'], 128 / micro);
    assert.equal(run['batch.global'], 1024);
    const stated = await look('c.yaml', foundry(String(micro)));
    assert.deepEqual(estimate.peak, stated.estimate.peak, 'the figures are those of a run that states it');
    assert.equal((await look('c.yaml', foundry(String(2 * micro)))).estimate.verdict === 'fits', false);
  });

  it('is the one that is set where that fits', async () => {
    const { run, estimate } = await look('c.yaml', foundry('auto', 8));
    assert.equal(run['batch.micro'], 1);
    assert.equal(estimate.foundBatch, undefined);
    assert.equal(estimate.verdict, 'fits');
  });

  it('does not fit where one sample does not, and the problem has that', async () => {
    const [file, text] = FAMILIES.TRL ?? ['', ''];
    const whole = text.replace('use_peft: true\n', '').replace(/lora_.*\n/g, '');
    const { analysis, run, estimate } = await look(file, whole);
    assert.equal(estimate.verdict, 'exceeds');
    assert.equal(run['batch.micro'], 1);
    assert.match(
      analysis.problems.map(({ message }) => message).join('\n'),
      /Does not fit: .* That is with micro batch 1, the least that is tried\./,
    );
  });

  it('is the same in the lens, the status, the panel, what is assumed and the notes', async () => {
    const { analysis } = await look('c.yaml', foundry('auto'));
    const { micro } = analysis.estimate.foundBatch ?? {};
    const words = `micro batch ${micro}, starts at 128`;
    assert.match(codeLens(analysis)?.title ?? '', new RegExp(`Fits: .*${words}`));
    assert.match(status(analysis)?.outcome ?? '', new RegExp(`^fits \\(${words}\\)$`));
    const shown = breakdownOf(analysis);
    assert.deepEqual(shown.foundBatch, { micro, from: 128 });
    const assumed = shown.assumptions.find(({ field }) => field === 'batch.micro');
    assert.equal(assumed?.value, micro);
    assert.equal(assumed?.source, 'found while it runs: 128 is tried first');
    assert.match(shown.notes[0] ?? '', /is found while it runs: 128 is tried first/);
    assert.ok(
      Math.abs(shown.parts.reduce((sum, { bytes }) => sum + bytes, 0) - (shown.peak?.processBytes ?? 0)) < 1,
    );
  });

  it('leaves the largest that fits, whatever the steps of the framework', async () => {
    const [file, text] = FAMILIES.Axolotl ?? ['', ''];
    const { analysis, run } = await look(file, text);
    const { micro } = largestMicroBatch(analysis);
    assert.ok(micro >= run['batch.micro'], `${micro} of ${run['batch.micro']}`);
    assert.ok(micro < 64);
  });

  it('is tried in nine tenths by Accelerate since 1.9, in halves before and by Composer', () => {
    const run = (framework: 'transformers' | 'llm-foundry', accelerate: string) =>
      aRun({ framework, 'version.accelerate': accelerate, 'batch.micro': 10 });
    assert.deepEqual(triedBatches(run('transformers', '1.15')), [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
    assert.deepEqual(triedBatches(run('transformers', '1.8.1')), [10, 5, 2, 1]);
    assert.deepEqual(triedBatches(run('llm-foundry', '1.15')), [10, 5, 2, 1]);
  });

  it('stays as it is set where the releases before transformers 4.45 look for one, under ZeRO 3', async () => {
    const [file, text] = FAMILIES.Axolotl ?? ['', ''];
    const { run, estimate } = await look(file, `${text}deepspeed: z3.json\n`, {
      'requirements.txt': 'transformers==4.44.2\n',
      'z3.json':
        '{"zero_optimization": {"stage": 3}, "bf16": {"enabled": "auto"}, "train_micro_batch_size_per_gpu": "auto"}',
    });
    assert.equal(run['batch.micro'], 64);
    assert.notEqual(estimate.verdict, 'fits');
  });
});
