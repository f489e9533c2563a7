import assert from 'node:assert/strict';
import { parseConfig } from '../../../server/src/config/parse';
import { llmFoundry } from '../../../server/src/dialects/llm-foundry/llm-foundry';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { assertStates, complaints, factOf, problemsOf, read, refused } from './reading';

const foundry = (text: string, known = {}) =>
  read('llm-foundry', 'file:///train/yamls/mpt-7b.yaml', text, known);

// Interpolation of OmegaConf, in a text that TypeScript would take for its own.
const at = (path: string) => `$\{${path}}`;

const MPT = `
variables:
  max_seq_len: 2048
  global_seed: 17
max_seq_len: ${at('variables.max_seq_len')}
model:
  name: mpt_causal_lm
  init_device: meta
  d_model: 4096
  n_heads: 32
  n_layers: 32
  expansion_ratio: 4
  vocab_size: 50368
  attn_config:
    attn_impl: flash
train_loader:
  name: text
  dataset:
    max_seq_len: ${at('max_seq_len')}
optimizer: {name: decoupled_adamw, lr: 1.2e-4}
max_duration: 63900ba
eval_interval: 10000ba
global_train_batch_size: 1024
device_train_microbatch_size: 16
device_eval_batch_size: 8
precision: amp_bf16
fsdp_config:
  sharding_strategy: FULL_SHARD
  mixed_precision: PURE
  activation_checkpointing: false
  activation_checkpointing_reentrant: false
  activation_cpu_offload: false
`;

const FINETUNE = `
max_seq_len: 4096
model:
  name: hf_causal_lm
  pretrained_model_name_or_path: mistralai/Mistral-7B-v0.1
  use_flash_attention_2: true
  peft_config: {r: 16, lora_alpha: 32, lora_dropout: 0.05, target_modules: [q_proj, v_proj]}
train_loader:
  name: finetuning
  dataset: {packing_ratio: auto, max_seq_len: 4096}
optimizer: {name: adamw}
max_duration: 2ep
global_train_batch_size: 64
device_train_microbatch_size: auto
`;

describe('llm-foundry', () => {
  it('reads pre-training', () => {
    const reading = foundry(MPT, { 'hardware.gpus': 64 });
    assertStates(reading, {
      'batch.global': '1024 file',
      'batch.micro': '16 file',
      'batch.sequence': '2048 file',
      'batch.packed': 'true default',
      'precision.weights': 'fp32 default',
      'precision.masterWeights': 'fp32 default',
      'precision.compute': 'bf16 file',
      'precision.scheme': 'fsdp file',
      'precision.reduce': 'bf16 file',
      'parallel.data': 'fsdp1 file',
      'fsdp.strategy': 'full file',
      'fsdp.wrap': 'layer default',
      'activations.checkpointing': 'none file',
      'activations.reentrant': 'false file',
      'attention.implementation': 'flash2 file',
      'optimizer.name': 'adamw file',
      'schedule.steps': '63900 file',
      'evaluation.enabled': 'true file',
      'evaluation.batch': '8 file',
      'method.kind': 'full default',
    });
    const config = factOf(reading, 'model.config')?.value as Readonly<Record<string, unknown>>;
    assert.equal(config.model_type, 'mpt');
    assert.deepEqual(problemsOf(reading), []);
  });

  it('reads LoRA on a model of the Hub, with `auto` micro batches', () => {
    const reading = foundry(FINETUNE, { 'hardware.gpus': 8 });
    assertStates(reading, {
      'model.id': 'mistralai/Mistral-7B-v0.1 file',
      'method.kind': 'lora file',
      'lora.rank': '16 file',
      'lora.alpha': '32 file',
      'lora.dropout': '0.05 file',
      'lora.targets': 'q_proj,v_proj file',
      'batch.micro': '8 inferred',
      'batch.packed': 'true file',
      'attention.implementation': 'flash2 file',
      'parallel.data': 'ddp default',
      'precision.compute': 'bf16 default',
      'precision.scheme': 'autocast default',
      'schedule.steps': undefined,
    });
    assertStates(foundry(FINETUNE), { 'batch.micro': undefined });
  });

  it("reads a run of MosaicML's platform", () => {
    const wrapped = `name: run\ncompute: {gpus: 16, gpu_type: h100_80gb}\ncommand: composer train.py\nparameters:\n${FINETUNE.trim().replace(/^/gm, '  ')}\n`;
    const reading = foundry(wrapped);
    assertStates(reading, {
      'hardware.gpus': '16 file',
      'hardware.gpu': 'h100_80gb file',
      'lora.rank': '16 file',
    });
    assert.equal(factOf(reading, 'batch.sequence')?.origin.key, 'parameters.max_seq_len');
  });

  it('reads lengths of every unit, and only of steps and tokens', () => {
    const during = (text: string) => foundry(MPT.replace('63900ba', text));
    assertStates(during('300_000_000tok'), {
      'schedule.tokens': '300000000 file',
      'schedule.steps': undefined,
    });
    assertStates(during('1ep'), { 'schedule.tokens': undefined, 'schedule.steps': undefined });
  });

  it("lets the segments of PyTorch's allocator grow, unless the config states otherwise", () => {
    const grows = (more: string) => factOf(foundry(`${MPT}${more}`), 'allocator.expandableSegments');
    assert.deepEqual([grows('')?.value, grows('')?.origin.kind], [true, 'default']);
    const off = grows('expandable_segments: false\n');
    assert.deepEqual([off?.value, off?.origin.kind], [false, 'file']);
  });

  it('stops at what it refuses', () => {
    for (const [code, from, to] of [
      ['init-device', 'init_device: meta', 'init_device: gpu'],
      ['batch-not-divisible', 'global_train_batch_size: 1024', 'global_train_batch_size: 1000'],
    ] as const) {
      const text = MPT.replace(from, to);
      assert.deepEqual(complaints(foundry(text, { 'hardware.gpus': 64 }), text, 'error'), [`${code}: ${to}`]);
    }
    const mixed = FINETUNE.replace('  name: hf_causal_lm', '  name: hf_causal_lm\n  init_device: mixed');
    assert.deepEqual(complaints(foundry(mixed), mixed, 'error'), ['mixed-without-fsdp: init_device: mixed']);
    assert.deepEqual(refused(foundry(MPT.replace('init_device: meta', 'init_device: mixed'))), []);
  });
});

describe('configs that Composer runs and LLM Foundry does not', () => {
  const taken = (text: string) => {
    const { root } = parseConfig('file:///w/x.yaml', text);
    return root !== null && llmFoundry.detect(root, 'x.yaml') > 0;
  };
  it('are left alone: OLMo, images, BERT', () => {
    const olmo =
      'run_name: x\nmodel:\n  d_model: 2048\n  n_heads: 16\n  n_layers: 16\n  max_sequence_length: 2048\n  embedding_size: 50304\n  init_device: meta\nglobal_train_batch_size: 2048\ndevice_train_microbatch_size: 8\nmax_duration: 739328\nfsdp:\n  wrapping_strategy: null\noptimizer:\n  name: adamw\n';
    assert.equal(taken(olmo), false);
    const images =
      'model:\n  name: resnet_56\n  num_classes: 10\nmax_duration: 160ep\ndevice_train_microbatch_size: 64\noptimizer:\n  name: sgd\n';
    assert.equal(taken(images), false);
  });
  it('a micro batch that Composer finds by trying fits where one sample does', async () => {
    const text =
      '# oomlint: gpu=A100-SXM4-40GB gpus=8\nmax_seq_len: 2048\nmodel:\n  name: mpt_causal_lm\n  d_model: 2048\n  n_heads: 16\n  n_layers: 24\n  vocab_size: 50368\ntrain_loader:\n  name: text\noptimizer:\n  name: decoupled_adamw\nglobal_train_batch_size: 1024\ndevice_train_microbatch_size: auto\nprecision: amp_bf16\nfsdp_config:\n  sharding_strategy: FULL_SHARD\n';
    const uri = 'file:///w/auto.yaml';
    const analysis = await new Workspace(new MemoryHost({ [uri]: text })).analyze(uri);
    assert.deepEqual(analysis?.estimate?.foundBatch, {
      micro: analysis?.resolved.run?.['batch.micro'],
      from: 128,
    });
    assert.equal(analysis?.estimate?.verdict, 'fits');
  });
});
