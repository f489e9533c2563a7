import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const PROJECT = { 'oomlint.yaml': 'gpu: H100-SXM5-80GB\ngpus: 4\n' };
/** JSON, which a block of YAML may be, too. */
const zero = (more: object) =>
  JSON.stringify({ zero_optimization: { stage: 2 }, train_micro_batch_size_per_gpu: 'auto', ...more });
const recipe = (more: string) => `model_name_or_path: Qwen/Qwen2.5-0.5B
dataset_name: x
max_length: 512
per_device_train_batch_size: 1
output_dir: o
gradient_checkpointing: true
${more}`;

async function precision(files: Readonly<Record<string, string>>, name: string) {
  const { analyze } = smallWorkspace({ ...PROJECT, ...files });
  const { resolved, problems } = await analyze(name);
  const { values } = resolved;
  return {
    types: [values['precision.scheme'], values['precision.weights'], values['precision.compute']],
    errors: problems.filter(({ severity }) => severity === 'error'),
  };
}

describe('DeepSpeed settings within a config of the Trainer', () => {
  for (const [what, more, switches] of [
    ['leave the precision to its switch', {}, 'bf16: true\n'],
    [
      'leave it where they say auto, whichever block comes first',
      { bf16: { enabled: 'auto' }, fp16: { enabled: 'auto' } },
      'bf16: false\nfp16: true\n',
    ],
    ['state it', { bf16: { enabled: true } }, 'bf16: true\n'],
    ['have none where it has none', {}, 'bf16: false\n'],
  ] as const)
    it(`${what}, as those of a file do`, async () => {
      const within = await precision(
        { 'sft.yaml': recipe(`${switches}deepspeed: ${zero(more)}\n`) },
        'sft.yaml',
      );
      const apart = await precision(
        {
          'sft.yaml': recipe(`${switches}deepspeed: ds.json\n`),
          'ds.json': zero(more),
        },
        'sft.yaml',
      );
      assert.deepEqual(within, apart);
    });

  it('of a script leave the precision to TrainingArguments', async () => {
    const script = `from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
args = TrainingArguments("o", bf16=True, per_device_train_batch_size=1, deepspeed={"zero_optimization": {"stage": 2}})
Trainer(model=model, args=args, train_dataset=ds).train()
`;
    const { types } = await precision({ 'a.py': script }, 'a.py');
    assert.equal(types[0], 'deepspeed');
    assert.equal(types[2], 'bf16');
  });

  it('of a plugin leave the precision to the Accelerator', async () => {
    const script = `import torch
from accelerate import Accelerator, DeepSpeedPlugin
from transformers import AutoModelForCausalLM
plugin = DeepSpeedPlugin(hf_ds_config={"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 1})
accelerator = Accelerator(mixed_precision="bf16", deepspeed_plugin=plugin)
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
loader = torch.utils.data.DataLoader(data, batch_size=1)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for batch in loader:
    loss = model(**batch).loss
    accelerator.backward(loss)
    optimizer.step()
`;
    const { types } = await precision({ 'a.py': script }, 'a.py');
    assert.deepEqual(types, ['deepspeed', 'bf16', 'bf16']);
  });

  it('of ms-swift are asked for as a file, and no stage is assumed', async () => {
    const { analyze } = smallWorkspace({
      ...PROJECT,
      'sw.yaml': `model: Qwen/Qwen2.5-0.5B\ntuner_type: full\ndataset: x\ntorch_dtype: bfloat16\nmax_length: 512\ndeepspeed: ${zero({})}\n`,
    });
    const { estimate, unread } = await analyze('sw.yaml');
    assert.equal(estimate, undefined);
    assert.deepEqual(
      unread?.flatMap(({ fields }) => fields ?? []),
      ['zero.stage'],
    );
  });
});

const ZERO3 = {
  zero_optimization: {
    stage: 3,
    reduce_bucket_size: 'auto',
    stage3_prefetch_bucket_size: 'auto',
    stage3_param_persistence_threshold: 'auto',
  },
  train_micro_batch_size_per_gpu: 'auto',
};
const trainer = (settings: string, before = '') => `import json, yaml
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
${before}
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
args = TrainingArguments("o", bf16=True, per_device_train_batch_size=1, deepspeed=${settings})
Trainer(model=model, args=args, train_dataset=ds).train()
`;

/** Buffers of a run, and what fills them in. */
async function buffers(files: Readonly<Record<string, string>>, name = 'a.py') {
  const { resolved } = await smallWorkspace({ ...PROJECT, ...files }).analyze(name);
  const fields = ['zero.reduceBucket', 'zero.prefetchBucket', 'zero.persistenceThreshold'] as const;
  return fields.map((field) => [resolved.values[field], resolved.origins[field]?.kind]);
}

describe('auto in DeepSpeed settings that are no file of their own', () => {
  // Qwen2.5-0.5B has a hidden size of 896.
  const FILLED = [
    [896 ** 2, 'inferred'],
    [Math.trunc(0.9 * 896 ** 2), 'inferred'],
    [8960, 'inferred'],
  ];
  const FILE = { 'ds.json': JSON.stringify(ZERO3), 'ds.yaml': JSON.stringify(ZERO3) };
  for (const [what, script] of [
    ['the path of a file', trainer('"ds.json"')],
    ['a dictionary of the code', trainer(JSON.stringify(ZERO3))],
    ['what json.load read', trainer('settings', 'with open("ds.json") as f:\n    settings = json.load(f)')],
    ['what json.loads read', trainer('json.loads(open("ds.json").read())')],
    ['what yaml.safe_load read', trainer('yaml.safe_load(open("ds.yaml"))')],
  ] as const)
    it(`is filled by the Trainer that is given ${what}`, async () => {
      assert.deepEqual(await buffers({ ...FILE, 'a.py': script }), FILLED);
    });

  it('is filled in a block of a recipe', async () => {
    const text = recipe(`bf16: true\ndeepspeed: ${JSON.stringify(ZERO3)}\n`);
    assert.deepEqual(await buffers({ 'sft.yaml': text }, 'sft.yaml'), FILLED);
  });

  const loop = (start: string) => `import json, torch, deepspeed
from accelerate import Accelerator, DeepSpeedPlugin
from transformers import AutoModelForCausalLM
settings = json.load(open("ds.json"))
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
loader = torch.utils.data.DataLoader(data, batch_size=1)
${start}
for batch in loader:
    loss = model(**batch).loss
    engine.backward(loss)
    engine.step()
    optimizer.step()
`;
  it('is filled by Accelerate, whose plugin is given them', async () => {
    const start = `engine = Accelerator(mixed_precision="bf16", deepspeed_plugin=DeepSpeedPlugin(hf_ds_config=settings))
model, optimizer, loader = engine.prepare(model, optimizer, loader)`;
    assert.deepEqual(await buffers({ ...FILE, 'a.py': loop(start) }), FILLED);
  });

  // deepspeed 0.19, `runtime/config_utils.py`, `DeepSpeedConfigModel.__init__`: what is `auto` is as if it were left out.
  it('is filled by nobody where DeepSpeed itself is given them', async () => {
    const start = 'engine, optimizer, _, _ = deepspeed.initialize(model=model, config=settings)';
    const origins = (await buffers({ ...FILE, 'a.py': loop(start) })).map(([, kind]) => kind);
    assert.equal(origins.includes('inferred'), false);
  });
});
