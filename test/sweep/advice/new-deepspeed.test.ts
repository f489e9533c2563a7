import assert from 'node:assert/strict';
import { isEstimated } from '../../../server/src/advice/changed-run';
import { type Fix, fixesFor } from '../../../server/src/advice/fixes';
import { fileEdits } from '../../../server/src/features/file-edits';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

type Files = Readonly<Record<string, string>>;

const HEAD = '# oomlint: gpu=A100-SXM4-80GB gpus=8\n';
const FACTORY = `${HEAD}model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct
stage: sft
do_train: true
finetuning_type: full
dataset: alpaca_en
template: llama3
cutoff_len: 2048
output_dir: out
bf16: true
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
learning_rate: 1.0e-5
`;
const AXOLOTL = `${HEAD}base_model: mistralai/Mistral-7B-v0.1
sequence_len: 4096
micro_batch_size: 2
optimizer: adamw_torch
bf16: true
gradient_accumulation_steps: 4
gradient_checkpointing: true
datasets:
  - path: tatsu-lab/alpaca
    type: alpaca
`;
const ARGUMENTS =
  '--model_name_or_path Qwen/Qwen2.5-14B --do_train --bf16 --per_device_train_batch_size 1 --block_size 2048 --gradient_checkpointing --dataset_name x --output_dir out';
const SCRIPT = `${HEAD}torchrun --nproc_per_node 8 run_clm.py ${ARGUMENTS}\n`;
const PYTHON = `from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-14B")
args = TrainingArguments(output_dir="out", bf16=True, per_device_train_batch_size=1, gradient_checkpointing=True)
Trainer(model=model, args=args, train_dataset=ds).train()
`;
const PROJECT = 'defaults:\n  gpu: A100-SXM4-80GB\n  gpus: 8\n  sequence: 2048\n';

const at = (name: string) => `file:///p/${name}`;

async function fixesOf(files: Files) {
  const texts = Object.fromEntries(Object.entries(files).map(([name, text]) => [at(name), text]));
  const host = new MemoryHost(texts, { folders: ['file:///p'] });
  const workspace = new Workspace(host);
  const [first = ''] = Object.keys(texts);
  const analysis = await workspace.analyze(first);
  assert.ok(analysis && isEstimated(analysis), JSON.stringify(analysis?.resolved.unknown));
  return { host, workspace, analysis, fixes: await fixesFor(analysis, workspace) };
}

const making = (fixes: readonly Fix[]) => fixes.find(({ kind }) => /\bdeepspeed\b/.test(kind));

/** A run of replicas is given a DeepSpeed config that does not exist yet: proved like any other change. */
describe('a fix that makes a DeepSpeed config', () => {
  const cases: readonly (readonly [string, Files, string, RegExp])[] = [
    [
      'a LLaMA-Factory recipe',
      { 'configs/sft.yaml': FACTORY },
      'configs/',
      /^deepspeed: configs\/ds_zero2\.json$/m,
    ],
    ['an Axolotl config', { 'config.yaml': AXOLOTL }, '', /^deepspeed: ds_zero2\.json$/m],
    [
      'the launch line of a script',
      { 'scripts/train.sh': SCRIPT },
      'scripts/',
      / --deepspeed scripts\/ds_zero2\.json$/m,
    ],
    [
      'a Python script',
      { 'train.py': PYTHON, 'oomlint.yaml': PROJECT },
      '',
      /, deepspeed="ds_zero2\.json"\)$/m,
    ],
  ];
  for (const [what, files, folder, named] of cases)
    it(`names it in ${what}, and both read again are a run that fits`, async () => {
      const { host, workspace, analysis, fixes } = await fixesOf(files);
      assert.equal(analysis.estimate.verdict === 'fits', false);
      const fix = making(fixes);
      assert.ok(fix, fixes.map(({ title }) => title).join('\n'));
      const [changed, made] = fix.files;
      assert.match(changed?.after ?? '', named);
      assert.equal(made?.uri, at(`${folder}ds_zero2.json`));
      assert.equal(made?.create, true);
      assert.ok(fileEdits(fix.files).some(({ uri, create }) => uri === made?.uri && create));
      for (const file of fix.files) host.write(file.uri, file.after);
      workspace.invalidateAll();
      const after = await workspace.analyze(analysis.uri);
      assert.equal(after?.estimate?.verdict, 'fits');
      assert.equal(after?.estimate?.peak.processBytes, fix.afterBytes);
      assert.equal(after?.resolved.values['parallel.data'], 'zero');
      for (const { uri } of fix.files) {
        const problems = (await workspace.analyze(uri))?.problems ?? [];
        assert.deepEqual(
          problems.filter(({ severity }) => severity === 'error' || severity === 'warning'),
          [],
          uri,
        );
      }
    });

  it('goes together with offload where only both fit', async () => {
    const { fixes } = await fixesOf({
      'sft.yaml': FACTORY.replace('8B-Instruct', '70B-Instruct')
        .replace('gpus=8', 'gpus=8 hostMemory=2000GB')
        .replace('bf16: true', 'bf16: true\ngradient_checkpointing: true'),
    });
    const fix = making(fixes);
    assert.ok(fix, fixes.map(({ title }) => title).join('\n') || 'none');
    const made = fix.files.find(({ create }) => create);
    assert.equal(made?.uri, at('ds_zero3_offload.json'));
    const { zero_optimization: zero } = JSON.parse(made?.after ?? '{}');
    assert.equal(zero.stage, 3);
    assert.equal(zero.offload_optimizer.device, 'cpu');
  });

  it('writes over nothing that is there', async () => {
    const { fixes } = await fixesOf({ 'config.yaml': AXOLOTL, 'ds_zero2.json': '{ "mine": true }' });
    const made = fixes.flatMap(({ files }) => files).filter(({ create }) => create);
    assert.deepEqual(
      made.filter(({ uri }) => uri === at('ds_zero2.json')),
      [],
    );
  });

  it('is not offered where something shares the model already', async () => {
    const { fixes } = await fixesOf({ 'sft.yaml': `${FACTORY}fsdp: shard_grad_op auto_wrap\n` });
    assert.equal(making(fixes), undefined);
  });
});
