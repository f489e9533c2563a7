import assert from 'node:assert/strict';
import { type Fix, fixesFor } from '../../../server/src/advice/fixes';
import type { World } from '../../../server/src/advice/world';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

/** The fixes of a file, and the errors that each file of the run has once a fix is written. */
async function fixesOf(files: Record<string, string>, of: string) {
  const texts = Object.fromEntries(Object.entries(files).map(([name, text]) => [`file:///w/${name}`, text]));
  const workspace = new Workspace(new MemoryHost(texts, { folders: ['file:///w'] }));
  const world: World = {
    source: (uri) => workspace.source(uri),
    preview: (uri, changed) => workspace.preview(uri, changed),
    project: (at) => workspace.project(at),
    folders: workspace.folders,
    exists: (uri) => workspace.exists(uri),
  };
  const analysis = await workspace.analyze(`file:///w/${of}`);
  assert.ok(analysis);
  const fixes = await fixesFor(analysis, world);
  const errorsAfter = async (fix: Fix) => {
    const found: string[] = [];
    for (const uri of Object.keys(texts)) {
      const after = await world.preview(uri, new Map(fix.files.map((file) => [file.uri, file.after])));
      for (const { severity, code } of after?.problems ?? []) if (severity === 'error') found.push(code);
    }
    return found;
  };
  return { analysis, fixes, errorsAfter };
}

describe('fixes', () => {
  it('write the old offload key where it stands: DeepSpeed refuses both together', async () => {
    const script = `# oomlint: gpu=V100-32GB gpus=4
deepspeed run_clm.py --model_name_or_path Qwen/Qwen2.5-14B --do_train --deepspeed ds.json --fp16 \\
  --per_device_train_batch_size 4 --block_size 2048
`;
    const zero =
      '{"train_micro_batch_size_per_gpu": "auto", "fp16": {"enabled": true}, "zero_optimization": {"stage": 2, "cpu_offload": true}}\n';
    const { fixes, errorsAfter } = await fixesOf({ 'run.sh': script, 'ds.json': zero }, 'run.sh');
    const moved = fixes.filter(({ files }) => files.some(({ uri }) => uri.endsWith('ds.json')));
    assert.ok(moved.length > 0, 'no fix writes the DeepSpeed file');
    for (const fix of moved) {
      assert.deepEqual(await errorsAfter(fix), [], fix.title);
      const text = fix.files.find(({ uri }) => uri.endsWith('ds.json'))?.after ?? '';
      assert.ok(!(text.includes('cpu_offload"') && text.includes('offload_optimizer')), text);
    }
  });

  it('lower the batch of evaluation where the peak is there', async () => {
    const recipe = `# oomlint: gpu=A100-40GB gpus=1
model_name_or_path: Qwen/Qwen2.5-7B
learning_rate: 1.0e-5
max_length: 4096
use_peft: true
lora_target_modules: all-linear
bf16: true
dtype: bfloat16
gradient_checkpointing: true
use_liger_kernel: true
eval_strategy: steps
per_device_train_batch_size: 1
per_device_eval_batch_size: 64
`;
    const { analysis, fixes } = await fixesOf({ 'sft.yaml': recipe }, 'sft.yaml');
    assert.equal(analysis.estimate?.peak.moment, 'evaluation');
    const fix = fixes.find(({ kind }) => kind === 'evaluation');
    assert.ok(fix, fixes.map(({ title }) => title).join('\n'));
    assert.match(fix.files[0]?.after ?? '', /^per_device_eval_batch_size: (?:[1248]|16|32)$/m);
    assert.match(fix.files[0]?.after ?? '', /^per_device_train_batch_size: 1$/m);
  });

  it('take away accumulation where FSDP keeps whole gradients for it', async () => {
    const recipe = (steps: number) => `# oomlint: gpu=A100-80GB gpus=8
base_model: Qwen/Qwen2.5-14B
datasets: []
sequence_len: 1024
micro_batch_size: 1
gradient_accumulation_steps: ${steps}
gradient_checkpointing: true
flash_attention: true
bf16: true
optimizer: adamw_torch_fused
fsdp_version: 2
fsdp_config:
  auto_wrap_policy: TRANSFORMER_BASED_WRAP
  transformer_layer_cls_to_wrap: Qwen2DecoderLayer
  reshard_after_forward: true
`;
    const small = await fixesOf({ 'a.yaml': recipe(4).replace('A100-80GB', 'A6000') }, 'a.yaml');
    const fix = small.fixes.find(({ kind }) => kind.split('+').includes('accumulation'));
    assert.ok(fix, small.fixes.map(({ title }) => title).join('\n'));
    assert.match(fix.files[0]?.after ?? '', /^gradient_accumulation_steps: 1$/m);
    const none = await fixesOf({ 'a.yaml': recipe(1).replace('A100-80GB', 'A6000') }, 'a.yaml');
    assert.ok(!none.fixes.some(({ kind }) => kind.includes('accumulation')));
  });

  const FRAGMENTED = `python train.py --model_name_or_path Qwen/Qwen2.5-3B --bf16 True --gradient_checkpointing True \\
  --per_device_train_batch_size 4 --model_max_length 3000 --output_dir out
`;

  it('take fragmentation away by expandable segments, above the command that trains', async () => {
    const script = `# oomlint: gpu=A6000 gpus=1\nset -e\ncd work && \\\n  ${FRAGMENTED}`;
    const { analysis, fixes, errorsAfter } = await fixesOf({ 'run.sh': script }, 'run.sh');
    assert.equal(analysis.estimate?.verdict, 'tight');
    const [fix] = fixes;
    assert.ok(fix?.kind === 'allocator', fixes.map(({ title }) => title).join('\n'));
    assert.match(fix.title, /^Expandable segments of the allocator: 46\.3 → 40\.5 GiB, fits/);
    assert.equal(fix.price, 0);
    assert.deepEqual(fix.byHand, []);
    assert.deepEqual(await errorsAfter(fix), []);
    assert.equal(
      fix.files[0]?.after,
      script.replace('set -e\n', 'set -e\nexport PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n'),
    );
  });

  const grows = async (files: Record<string, string>, of: string) =>
    (await fixesOf(files, of)).fixes.find(({ kind }) => kind.split('+').includes('allocator'));
  const on = (head: string, command = FRAGMENTED) => ({ 'run.sh': `# oomlint: ${head}\n${command}` });

  it('leave the allocator where its segments cannot grow, or who runs has chosen', async () => {
    assert.ok(await grows(on('gpu=A6000 gpus=1'), 'run.sh'));
    for (const [name, files] of Object.entries({
      'before torch 2.1': on('gpu=A6000 gpus=1 version.torch=2.0'),
      'chosen already': on(
        'gpu=A6000 gpus=1',
        `export PYTORCH_ALLOC_CONF=expandable_segments:False\n${FRAGMENTED}`,
      ),
      'other settings': on(
        'gpu=A6000 gpus=1',
        `export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512\n${FRAGMENTED}`,
      ),
      'cards of AMD': on('gpu=W7900 gpus=1'),
    }))
      assert.equal((await grows(files, 'run.sh'))?.title, undefined, name);
  });

  it('export nothing to a cluster, which brings an environment of its own', async () => {
    const fix = await grows(on('gpu=A6000 gpus=1', `ray job submit -- ${FRAGMENTED}`), 'run.sh');
    assert.deepEqual([fix?.byHand.length, fix?.files.map(({ note }) => note)], [1, [true]]);
  });

  it('name the variable where no file of the run starts the training, and note it for the config', async () => {
    const args = `# oomlint: gpu=A6000 gpus=1
model_name_or_path: Qwen/Qwen2.5-3B
bf16: true
gradient_checkpointing: true
per_device_train_batch_size: 4
model_max_length: 3000
output_dir: out
`;
    const fix = await grows({ 'args.yaml': args }, 'args.yaml');
    assert.deepEqual(fix?.byHand, [
      'Set `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` where the training is started.',
    ]);
    assert.match(fix.files[0]?.after ?? '', /allocator\.expandableSegments: true/);
    assert.equal(fix.files[0]?.note, true);
  });

  const trained = (imports: string, length = 3000) => `# oomlint: gpu=A6000 gpus=1 sequence=${length}
"""Trains a model.

import nothing
"""
from __future__ import annotations

${imports}from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-3B", dtype="bfloat16")
args = TrainingArguments(
    output_dir="out", bf16=True, gradient_checkpointing=True, per_device_train_batch_size=4
)
Trainer(model=model, args=args, train_dataset=[]).train()
`;
  const ASSIGNMENT = 'os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"\n';

  for (const [name, imports, written] of [
    [
      'behind the import of os',
      'import json, sys\nimport os\n',
      `import json, sys\nimport os\n${ASSIGNMENT}`,
    ],
    ['above all imports', 'import json\n', `import os\n\n${ASSIGNMENT}\nimport json\n`],
    [
      'above what loads PyTorch',
      'import torch\nimport os\n',
      `import os\n\n${ASSIGNMENT}\nimport torch\nimport os\n`,
    ],
    [
      'by hand where a branch loads first',
      'try:\n    import torch\nexcept ImportError:\n    pass\n',
      undefined,
    ],
  ] as const)
    it(`set the variable of the allocator in a Python script ${name}`, async () => {
      const fix = await grows({ 'train.py': trained(imports) }, 'train.py');
      assert.ok(fix);
      const [file] = fix.files;
      if (written === undefined) assert.deepEqual([file?.note, fix.byHand.length], [true, 1]);
      else assert.equal(file?.after, trained(written));
    });
});
