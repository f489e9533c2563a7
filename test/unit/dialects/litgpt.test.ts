import assert from 'node:assert/strict';
import { assertStates, complaints, problemsOf, read, refused } from './reading';

const litgpt = (text: string, name = 'lora.yaml', known = {}) =>
  read('litgpt', `file:///config_hub/finetune/llama-3-8b/${name}`, text, known);

const LORA = `
checkpoint_dir: checkpoints/meta-llama/Meta-Llama-3-8B
out_dir: out/finetune/lora
precision: bf16-true
quantize:
devices: 1
num_nodes: 1
lora_r: 32
lora_alpha: 16
lora_dropout: 0.05
lora_query: true
lora_key: false
lora_value: true
lora_projection: false
lora_mlp: true
lora_head: false
data:
  class_path: litgpt.data.Alpaca2k
train:
  global_batch_size: 8
  micro_batch_size: 2
  epochs: 4
  max_steps:
  max_seq_length: 512
  max_norm:
eval:
  interval: 100
  max_new_tokens: 100
optimizer:
  class_path: torch.optim.AdamW
  init_args: {lr: 0.0002}
`;

const PRETRAIN = `
model_name: tiny-llama-1.1b
out_dir: out/pretrain/tiny-llama
precision: bf16-mixed
data: TinyLlama
train:
  global_batch_size: 512
  micro_batch_size: 4
  max_tokens: 3000000000000
  max_norm: 1.0
  tie_embeddings:
eval: {interval: 1000}
optimizer: AdamW
`;

const FULL = LORA.replace(/^lora_.*\n/gm, '');

const small = (more: string) => `checkpoint_dir: checkpoints/a/b
data: Alpaca
out_dir: out
lora_r: 8
train: {micro_batch_size: 1}
${more}
`;

describe('adapters of litgpt', () => {
  it('go by the name of the file: nothing in it states it', () => {
    for (const [name, kind] of [
      ['adapter.yaml', 'llama-adapter'],
      ['adapter_v2.yaml', 'llama-adapter-v2'],
      ['adapter-v2.yaml', 'llama-adapter-v2'],
    ] as const)
      assertStates(litgpt(FULL, name), {
        'method.kind': 'lora default',
        'lora.kind': `${kind} default`,
        'lora.virtualTokens': '10 default',
        'lora.rank': undefined,
        'lora.dtype': 'bf16 file',
        'loss.implementation': 'head-chunks default',
      });
    assertStates(litgpt(FULL, 'full.yaml'), { 'method.kind': 'full default', 'lora.kind': undefined });
  });

  it('take a quantized base', () => {
    const reading = litgpt(FULL.replace('quantize:', 'quantize: bnb.nf4'), 'adapter.yaml');
    assertStates(reading, { 'quantization.kind': 'nf4 file', 'optimizer.name': 'paged-adamw file' });
    assert.deepEqual(refused(reading), []);
    assert.deepEqual(refused(litgpt(FULL.replace('quantize:', 'quantize: bnb.nf4'), 'full.yaml')), [
      'quantized-without-adapter',
    ]);
  });
});

describe('litgpt', () => {
  it('reads LoRA', () => {
    const reading = litgpt(LORA);
    assertStates(reading, {
      'model.id': 'meta-llama/Meta-Llama-3-8B file',
      'model.code': 'litgpt default',
      'method.kind': 'lora default',
      'lora.rank': '32 file',
      'lora.targets': 'q_proj,v_proj,gate_proj,up_proj,down_proj file',
      'lora.dtype': 'bf16 file',
      'batch.micro': '2 file',
      'batch.global': '8 file',
      'batch.accumulation': '4 inferred',
      'batch.sequence': '512 file',
      'precision.weights': 'bf16 file',
      'precision.scheme': 'native file',
      'parallel.data': 'none default',
      'hardware.gpus': '1 file',
      'optimizer.name': 'adamw file',
      'optimizer.implementation': 'foreach file',
      'loss.implementation': 'head-chunks default',
      'loss.keptLogits': 'next-step default',
      'model.tied': undefined,
      'quantization.kind': undefined,
      'schedule.steps': undefined,
    });
    assert.deepEqual(problemsOf(reading), []);
  });

  it('reads pre-training, on all GPUs where none are counted', () => {
    const reading = read('litgpt', 'file:///config_hub/pretrain/tinyllama.yaml', PRETRAIN, {
      'hardware.gpus': 8,
    });
    assertStates(reading, {
      'model.id': 'TinyLlama/TinyLlama-1.1B-intermediate-step-1431k-3T file',
      'method.kind': 'full default',
      'batch.accumulation': '16 inferred',
      'precision.weights': 'fp32 file',
      'precision.compute': 'bf16 file',
      'precision.scheme': 'autocast file',
      'optimizer.implementation': 'fused file',
      'hardware.gpus': undefined,
      'parallel.data': 'fsdp1 default',
      'fsdp.strategy': 'hybrid default',
      'activations.checkpointing': 'none default',
      'schedule.tokens': '3000000000000 file',
      'loss.implementation': 'row-chunks default',
    });
    assert.deepEqual(refused(reading), []);
  });

  it('ties head and embedding where pre-training states it', () => {
    const tied = PRETRAIN.replace('tie_embeddings:', 'tie_embeddings: true');
    const reading = read('litgpt', 'file:///config_hub/pretrain/tinyllama.yaml', tied, {
      'hardware.gpus': 8,
    });
    assertStates(reading, { 'model.tied': 'true file' });
  });

  it('shards over several devices, and checkpoints in full fine-tuning', () => {
    const full = litgpt(
      'checkpoint_dir: checkpoints/a/b\ndata: Alpaca\nout_dir: out\ndevices: 4\nnum_nodes: 2\ntrain: {micro_batch_size: 1, global_batch_size: 64}\n',
      'full.yaml',
    );
    assertStates(full, {
      'hardware.gpus': '8 file',
      'hardware.nodes': '2 file',
      'batch.accumulation': '8 inferred',
      'parallel.data': 'fsdp1 default',
      'activations.checkpointing': 'full default',
    });
    assertStates(litgpt(small('devices: 4')), {
      'parallel.data': 'fsdp2 default',
      'activations.checkpointing': 'none default',
    });
  });

  it('steps quantized models with the paged AdamW of bitsandbytes', () => {
    assertStates(litgpt(small('quantize: bnb.nf4-dq\nprecision: bf16-true')), {
      'quantization.kind': 'nf4 file',
      'quantization.double': 'true file',
      'quantization.prepared': 'false default',
      'quantization.head': 'true default',
      'optimizer.name': 'paged-adamw file',
    });
  });

  it('takes blanks as absent', () => {
    assertStates(litgpt(small('lora_alpha:\nprecision:\ndevices:\noptimizer:')), {
      'lora.alpha': '16 default',
      'precision.compute': 'bf16 default',
      'hardware.gpus': '1 inferred',
      'optimizer.name': 'adamw default',
    });
  });

  for (const [code, more, line] of [
    ['quantized-mixed', 'quantize: bnb.nf4\nprecision: bf16-mixed', 'quantize: bnb.nf4'],
    ['quantized-devices', 'quantize: bnb.nf4\nprecision: bf16-true\ndevices: 2', 'quantize: bnb.nf4'],
    ['quantized-optimizer', 'quantize: bnb.nf4\nprecision: bf16-true\noptimizer: SGD', 'optimizer: SGD'],
  ] as const)
    it(`stops at ${code}`, () => {
      const text = small(more);
      assert.deepEqual(complaints(litgpt(text), text, 'error'), [`${code}: ${line}`]);
      // Without quantization there is nothing to stop at.
      assert.deepEqual(refused(litgpt(text.replace('quantize: bnb.nf4', 'quantize:'))), []);
    });

  it('stops at arguments of another sub-command', () => {
    const text = LORA.replace('max_norm:', 'max_norm: 1.0');
    assert.deepEqual(complaints(litgpt(text), text, 'error'), ['foreign-argument: max_norm: 1.0']);
    const epochs = PRETRAIN.replace('  tie_embeddings:', '  epochs: 2');
    const place = 'file:///config_hub/pretrain/debug.yaml';
    assert.deepEqual(complaints(read('litgpt', place, epochs), epochs, 'error'), [
      'foreign-argument: epochs: 2',
    ]);
  });

  it('sees slips of the keyboard', () => {
    const [slip] = problemsOf(litgpt(small('lora_droput: 0.1')));
    assert.deepEqual([slip?.code, slip?.data?.replacement], ['unknown-key', 'lora_dropout']);
    const [inner] = problemsOf(litgpt(LORA.replace('global_batch_size', 'global_batchsize')));
    assert.deepEqual([inner?.code, inner?.data?.replacement], ['unknown-key', 'global_batch_size']);
  });
});
