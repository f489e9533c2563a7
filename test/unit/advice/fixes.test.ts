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
});
