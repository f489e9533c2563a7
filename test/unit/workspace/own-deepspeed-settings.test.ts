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
