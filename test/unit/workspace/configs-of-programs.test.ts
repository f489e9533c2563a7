import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const program = (argument: string) => `# oomlint: gpu=A100-SXM4-80GB gpus=8 sequence=1024
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B")
args = TrainingArguments(output_dir="out", per_device_train_batch_size=3, bf16=True, ${argument})
Trainer(model=model, args=args).train()
`;
const ZERO = `{
  "bf16": { "enabled": true },
  "zero_optimization": { "stage": 3 },
  "gradient_accumulation_steps": "auto",
  "train_micro_batch_size_per_gpu": "auto"
}
`;
const FSDP = '{ "fsdp_version": 2, "reshard_after_forward": true }\n';

const valuesOf = async (files: Readonly<Record<string, string>>, name: string) => {
  const { analyze } = smallWorkspace(files);
  const { resolved, problems, files: joined } = await analyze(name);
  const { values } = resolved;
  return {
    micro: values['batch.micro'],
    gpus: values['hardware.gpus'],
    model: values['model.id'],
    joined: joined.map((uri) => uri.split('/').at(-1)).sort(),
    codes: problems.map(({ code }) => code),
  };
};

describe('files of libraries that a Python program names', () => {
  for (const [what, files, name, config] of [
    ['beside it', { 'train.py': program('deepspeed="ds.json"'), 'ds.json': ZERO }, 'ds.json', 'ds.json'],
    [
      'in a folder below it',
      { 'train.py': program('deepspeed="configs/ds.json"'), 'configs/ds.json': ZERO },
      'configs/ds.json',
      'ds.json',
    ],
    [
      'of FSDP',
      { 'train.py': program('fsdp="full_shard", fsdp_config="fsdp.json"'), 'fsdp.json': FSDP },
      'fsdp.json',
      'fsdp.json',
    ],
  ] as const)
    it(`are part of its run: ${what}`, async () => {
      const { codes, ...found } = await valuesOf(files, name);
      assert.deepEqual(found, {
        micro: 3,
        gpus: 8,
        model: 'Qwen/Qwen2.5-7B',
        joined: [config, 'train.py'],
      });
      assert.deepEqual(
        codes.filter((code) => code === 'unknown-fields'),
        [],
      );
    });

  it('are of the launch that names them, where one does', async () => {
    const launch =
      '# oomlint: gpu=H100-SXM5-80GB sequence=512\ndeepspeed --num_gpus 4 run_clm.py --model_name_or_path Qwen/Qwen2.5-7B --deepspeed ds.json --bf16 True --per_device_train_batch_size 2\n';
    const found = await valuesOf(
      { 'run.sh': launch, 'train.py': program('deepspeed="ds.json"'), 'ds.json': ZERO },
      'ds.json',
    );
    assert.deepEqual([found.micro, found.gpus, found.joined], [2, 4, ['ds.json', 'run.sh']]);
  });

  it('are not of a program that names another file', async () => {
    const found = await valuesOf(
      { 'train.py': program('deepspeed="other/ds.json"'), 'ds.json': ZERO },
      'ds.json',
    );
    assert.deepEqual([found.micro, found.joined], [undefined, ['ds.json']]);
  });
});
