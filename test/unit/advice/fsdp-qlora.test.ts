import assert from 'node:assert/strict';
import { isEstimated } from '../../../server/src/advice/changed-run';
import { fixesFor } from '../../../server/src/advice/fixes';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const MODEL = 'meta-llama/Llama-2-70b-hf';
const HEAD = '# oomlint: gpu=RTX-4090 gpus=2';

/** The arguments of a plain run, and the same as flags. */
const TRL = {
  model_name_or_path: MODEL,
  dataset_name: 'tatsu-lab/alpaca',
  per_device_train_batch_size: 1,
  gradient_accumulation_steps: 4,
  max_length: 2048,
  use_peft: true,
  lora_r: 16,
  lora_target_modules: 'all-linear',
  load_in_4bit: true,
  bf16: true,
  learning_rate: '2.0e-4',
};
const lines = (values: Readonly<Record<string, unknown>>) =>
  Object.entries(values)
    .map(([key, value]) => `${key}: ${value}\n`)
    .join('');
const flags = Object.entries(TRL)
  .map(([key, value]) => `--${key} ${value}`)
  .join(' ');

const PLAIN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Axolotl: {
    'config.yaml': `${HEAD}
base_model: ${MODEL}
datasets: [{ path: tatsu-lab/alpaca, type: alpaca }]
sequence_len: 2048
micro_batch_size: 1
gradient_accumulation_steps: 4
adapter: qlora
load_in_4bit: true
lora_r: 16
lora_alpha: 32
lora_target_linear: true
optimizer: adamw_torch
learning_rate: 2.0e-5
bf16: true
`,
  },
  'TRL arguments': { 'sft.yaml': `${HEAD}\n${lines(TRL)}` },
  'a launch of a script without a config': {
    'train.sh': `${HEAD}\naccelerate launch --num_processes 2 --mixed_precision bf16 trl/scripts/sft.py ${flags}\n`,
  },
  'a launch with a config of Accelerate': {
    'train.sh': `${HEAD}\naccelerate launch --config_file accelerate.yaml trl/scripts/sft.py ${flags}\n`,
    'accelerate.yaml':
      'compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 2\n',
  },
  'LLaMA-Factory': {
    'sft.yaml': `${HEAD}
model_name_or_path: ${MODEL}
stage: sft
do_train: true
dataset: alpaca_en
template: default
finetuning_type: lora
lora_rank: 16
lora_target: all
quantization_bit: 4
quantization_method: bnb
cutoff_len: 2048
per_device_train_batch_size: 1
gradient_accumulation_steps: 4
output_dir: out
bf16: true
learning_rate: 1.0e-5
`,
  },
};

/* https://www.answer.ai/posts/2024-03-06-fsdp-qlora.html */
describe('70B with QLoRA on two 24 GB cards', () => {
  for (const [family, files] of Object.entries(PLAIN))
    it(`fits by FSDP with weights stored in 16 bits, offloaded to the CPU: ${family}`, async () => {
      const texts = Object.fromEntries(
        Object.entries(files).map(([file, text]) => [`file:///p/${file}`, text]),
      );
      const workspace = new Workspace(new MemoryHost(texts, { folders: ['file:///p'] }));
      const [uri = ''] = Object.keys(texts);
      const analysis = await workspace.analyze(uri);
      assert.ok(analysis && isEstimated(analysis), JSON.stringify(analysis?.resolved.unknown));
      assert.equal(analysis.estimate.verdict, 'exceeds');
      const fixes = await fixesFor(analysis, workspace);
      const found = fixes.find(({ kind }) => /sharding/.test(kind) && /offload/.test(kind));
      assert.ok(found, fixes.map(({ title }) => title).join('\n'));
      assert.equal(found.price, 0);
      assert.deepEqual(found.byHand, []);
      assert.equal(found.changes['parallel.data'], 'fsdp1');
      assert.equal(found.changes['offload.parameters'], 'cpu');
      const after = found.files.map((file) => file.after).join('\n');
      assert.match(after, /cpu_ram_efficient_loading"?: true/);
      assert.match(after, /bnb_4bit_quant_storage[: ]+bfloat16|quantization_bit|base_model/);
    });
});
