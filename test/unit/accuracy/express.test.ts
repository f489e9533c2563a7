import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import { express } from '../../accuracy/express';
import type { MeasuredRow } from '../../accuracy/row';

/** A made-up row: litgpt, LoRA on a Llama of the catalog. */
const LITGPT: MeasuredRow = {
  id: 'litgpt-made-up',
  framework: 'litgpt',
  framework_version: '2024-05',
  model: 'meta-llama/Llama-3.2-1B',
  arch: {
    layers: 16,
    hidden: 2048,
    heads: 32,
    kv_heads: 8,
    ffn: 8192,
    vocab: 128256,
    tied: false,
    mlp: 'swiglu',
  },
  method: 'qlora',
  lora: { r: 4, targets: ['q', 'v'], dropout: 0.1 },
  quantization: 'nf4 (bnb, no double quant)',
  weights_dtype: 'nf4 base + bf16 rest',
  compute_dtype: 'bf16',
  optimizer: 'bnb PagedAdamW (32-bit states)',
  micro_batch: 3,
  grad_accum: 2,
  seq_len: 640,
  effective_max_tokens_per_sample: '<=600 (padded)',
  packing: 'padded',
  activation_checkpointing: 'none',
  attention_impl: 'sdpa',
  loss_impl: 'chunked CE (chunk 128) over lm_head output chunks of 128',
  device: 'A10G-24GB',
  num_gpus: 1,
  parallel: { dp: 1 },
};

/** A made-up row: torchtitan on sixteen GPUs. */
const TITAN: MeasuredRow = {
  id: 'titan-made-up',
  framework: 'torchtitan',
  framework_version: 'torch 2.7.0a0',
  model: 'Some-2B-of-ours',
  arch: {
    layers: 20,
    hidden: 2560,
    heads: 20,
    kv_heads: 4,
    ffn: 6912,
    vocab: 64000,
    tied: false,
    mlp: 'swiglu',
  },
  method: 'full (pretrain)',
  weights_dtype: 'fp32 (sharded)',
  compute_dtype: 'bf16 (FSDP2 param_dtype bf16, reduce fp32)',
  optimizer: 'torch AdamW (fp32 states, foreach)',
  micro_batch: 2,
  seq_len: 4096,
  packing: 'packed (c4)',
  activation_checkpointing: 'selective (op)',
  attention_impl: 'sdpa (flash)',
  loss_impl: 'CE (compiled)',
  compile: true,
  device: 'H100-80GB',
  num_gpus: 16,
  nodes: 2,
  parallel: { dp: 16, fsdp: 'fsdp2 full_shard', tp: 1, pp: 1, cp: 1 },
};

function valuesOf(row: MeasuredRow) {
  const expressed = express(row);
  assert.ok(!('error' in expressed), 'error' in expressed ? expressed.error : '');
  return expressed;
}

function errorOf(row: MeasuredRow): string {
  const expressed = express(row);
  return 'error' in expressed ? expressed.error : '';
}

describe('expressing a published row', () => {
  it('reads free text by its meaning', () => {
    const { values, model } = valuesOf(LITGPT);
    assert.equal(values['model.code'], 'litgpt');
    assert.equal(values['method.kind'], 'lora');
    assert.equal(values['lora.dtype'], 'bf16');
    assert.ok(values['lora.targets']?.includes('q_proj') && !values['lora.targets'].includes('k_proj'));
    assert.equal(values['quantization.kind'], 'nf4');
    assert.equal(values['quantization.double'], false);
    assert.equal(values['quantization.prepared'], false);
    assert.equal(values['optimizer.name'], 'paged-adamw');
    assert.equal(values['batch.sequence'], 600);
    assert.equal(values['batch.varied'], true);
    assert.equal(values['loss.implementation'], 'head-chunks');
    assert.equal(values['version.bitsandbytes'], '0.42');
    // The row unties the head of a model that the catalog has tied.
    assert.equal(model.parameters.total, 1_235_814_400 + 128_256 * 2048);
  });

  it('builds a model that the catalog lacks from its sizes', () => {
    const { values, model } = valuesOf(TITAN);
    assert.equal(model.layers, 20);
    assert.equal(values['precision.scheme'], 'fsdp');
    assert.equal(values['precision.reduce'], 'fp32');
    assert.equal(values['parallel.data'], 'fsdp2');
    assert.equal(values['activations.checkpointing'], 'selective');
    // torchtitan compiled no loss when torch 2.7 was made.
    assert.equal(values['loss.implementation'], 'full');
    const later = valuesOf({ ...TITAN, framework_version: '2025-06' }).values;
    assert.equal(later['loss.implementation'], 'compiled');
    assert.equal(values['batch.varied'], undefined);
  });

  it('gives complete runs', () => {
    for (const row of [LITGPT, TITAN]) {
      const { peak } = estimate(valuesOf(row));
      assert.ok(peak.allocatedBytes > 0 && peak.reservedBytes >= peak.allocatedBytes);
      assert.ok(peak.processBytes > peak.reservedBytes);
    }
  });

  it('tells what transformers did at the time', () => {
    const row = { ...TITAN, framework: 'HF Trainer', loss_impl: 'HF CE, full logits' };
    const at = (version: string) =>
      valuesOf({ ...row, framework_version: version }).values['loss.implementation'];
    assert.equal(at('transformers 4.40, torch 2.3'), 'full-upcast');
    assert.equal(at('transformers 4.48, torch 2.5'), 'full-shifted');
    assert.equal(at('transformers 4.57, torch 2.8'), 'full');
  });

  it("knows litgpt's adapters and LLaMA Pro's layers", () => {
    const adapter = valuesOf({ ...LITGPT, method: 'adapter_v2', lora: null }).values;
    assert.equal(adapter['lora.kind'], 'llama-adapter-v2');
    assert.equal(adapter['lora.virtualTokens'], 10);
    assert.equal(adapter['lora.dtype'], 'bf16');
    const pro = valuesOf({ ...LITGPT, method: 'full', lora: null, notes: 'LLaMA-Pro 4 new blocks' }).values;
    assert.equal(pro['method.kind'], 'freeze');
    assert.equal(pro['method.newLayers'], 4);
    assert.equal(pro['method.trainableLayers'], 4);
    assert.equal(pro['method.spreadLayers'], true);
  });

  it('errs where the row states too little, and never guesses', () => {
    assert.match(errorOf({ ...LITGPT, method: 'prompt_v2' }), /prompt_v2/);
    // The LISA of that ms-swift was another one.
    assert.match(errorOf({ ...LITGPT, method: 'full', notes: 'LISA 2 active layers' }), /LISA/);
    // Adapters of that name are litgpt's.
    assert.match(errorOf({ ...LITGPT, framework: 'torchtune', method: 'adapter_v2' }), /adapter_v2/);
    assert.match(errorOf({ ...LITGPT, quantization: 'vector codes of ours' }), /vector codes/);
    assert.match(errorOf({ ...LITGPT, activation_checkpointing: 'selective' }), /selects/);
    assert.match(errorOf({ ...LITGPT, activation_checkpointing: 'some way' }), /some way/);
    assert.match(errorOf({ ...LITGPT, attention_impl: 'flash2?' }), /attention/);
    assert.match(errorOf({ ...LITGPT, offload: 'optimizer to CPU (ao)' }), /host memory/);
    assert.match(errorOf({ ...LITGPT, method: 'grpo' }), /grpo/);
    assert.match(errorOf({ ...LITGPT, model: 'stable-diffusion-xl', arch: {} }), /no sizes/);
    assert.match(errorOf({ ...LITGPT, activation_checkpointing: 'unknown' }), /checkpointing/);
    assert.match(errorOf({ ...LITGPT, micro_batch: null }), /micro batch/);
    assert.match(errorOf({ ...LITGPT, effective_max_tokens_per_sample: null, seq_len: null }), /length/);
    assert.match(
      errorOf({ ...LITGPT, effective_max_tokens_per_sample: 'longest unknown' }),
      /longest sample/,
    );
    assert.match(errorOf({ ...LITGPT, lora: { r: 4, targets: [] } }), /LoRA targets/);
    assert.match(errorOf({ ...TITAN, arch: {} }), /no sizes/);
    assert.match(errorOf({ ...TITAN, optimizer: null }), /optimizer/);
    assert.match(errorOf({ ...TITAN, num_gpus: 32 }), /account for 16/);
    assert.match(errorOf({ ...TITAN, loss_impl: null }), /loss/);
  });

  const reported = <F extends keyof MeasuredRow>(field: F, cases: readonly [MeasuredRow[F], object][]) => {
    for (const [text, values] of cases) {
      const all: Record<string, unknown> = { ...valuesOf({ ...LITGPT, [field]: text }).values };
      const read = Object.fromEntries(Object.keys(values).map((key) => [key, all[key]]));
      assert.deepEqual(read, values, String(text));
    }
  };

  it('knows checkpointing by many names', () => {
    const full = { 'activations.checkpointing': 'full' };
    const none = { 'activations.checkpointing': 'none' };
    reported('activation_checkpointing', [
      ['disabled', none],
      ['Without', none],
      ['false', none],
      ['enabled', full],
      ['True', full],
      ['full (non-reentrant)', { ...full, 'activations.reentrant': false }],
      ['full (uniform, 4 layers)', { ...full, 'activations.checkpointEvery': 4 }],
      ['block, 6 layers', { ...full, 'activations.layers': 6 }],
      ['selective (every 2nd layer)', { ...full, 'activations.layers': 8 }],
      ['selective (op)', { 'activations.checkpointing': 'selective' }],
    ]);
  });

  it('knows attention kernels by many names', () => {
    const kernel = (name: string) => ({ 'attention.implementation': name });
    reported('attention_impl', [
      ['FA2', kernel('flash2')],
      ['flash_attention_2', kernel('flash2')],
      ['FlashAttention-3', kernel('flash3')],
      ['xformers memory efficient', kernel('flash2')],
      ['eager (math)', kernel('eager')],
    ]);
  });

  it('knows quantized bases by many names', () => {
    reported('quantization', [
      [
        'gptq int4 (group 64)',
        { 'quantization.kind': 'gptq', 'quantization.bits': 4, 'quantization.groupSize': 64 },
      ],
      ['GPTQ int8', { 'quantization.kind': 'gptq', 'quantization.bits': 8 }],
      ['AWQ 4-bit', { 'quantization.kind': 'awq', 'quantization.bits': 4 }],
      ['HQQ 4bit g64', { 'quantization.kind': 'hqq', 'quantization.bits': 4, 'quantization.groupSize': 64 }],
      ['bnb int8', { 'quantization.kind': 'int8', 'quantization.bits': undefined }],
      ['nf4 + double quant', { 'quantization.kind': 'nf4', 'quantization.double': true }],
      ['none', { 'quantization.kind': undefined }],
    ]);
  });

  it('knows optimizers by many names, and those that notes name', () => {
    const optimizer = (name: string) => ({ 'optimizer.name': name });
    reported('optimizer', [
      ['paged_adamw_8bit', optimizer('paged-adamw-8bit')],
      ['bnb AdamW8bit', optimizer('adamw-8bit')],
      ['adamw_bnb_8bit', optimizer('adamw-8bit')],
      ['torchao AdamW4bit', optimizer('ao-adamw-4bit')],
      ['AdamW (fused)', optimizer('adamw')],
      ['GaLore AdamW 8-bit, rank 64', { ...optimizer('galore-adamw-8bit'), 'optimizer.rank': 64 }],
      ['Adam-mini', optimizer('adam-mini')],
    ]);
    reported('notes', [['GaLore r256', { ...optimizer('galore-adamw'), 'optimizer.rank': 256 }]]);
  });

  it('reads parallel sizes, flags and numbers', () => {
    const ulysses = valuesOf({ ...TITAN, parallel: { dp: 4, fsdp: 'fsdp2 full_shard', sp: 4 } }).values;
    assert.equal(ulysses['parallel.ulysses'], 4);
    assert.equal(ulysses['parallel.sequence'], false);
    const megatron = valuesOf({
      ...TITAN,
      framework: 'Megatron-LM',
      loss_impl: null,
      activation_checkpointing: 'selective',
      parallel: { dp: 1, tp: 8, pp: 2, sp: true },
    }).values;
    assert.equal(megatron['parallel.sequence'], true);
    assert.equal(megatron['loss.implementation'], 'vocab-parallel');
    assert.equal(megatron['activations.checkpointing'], 'selective');
  });

  it('takes the memory of the card from the row where the catalog has a card of another size', () => {
    const wide = valuesOf({ ...TITAN, device: 'H100-96GB' }).values;
    const usable = 79.1 * 2 ** 30;
    assert.ok(Math.abs((wide['hardware.gpuMemory'] ?? 0) / ((usable * 96) / 80) - 1) < 0.01);
    assert.equal(valuesOf({ ...TITAN, device: 'H100-80GB' }).values['hardware.gpuMemory'], undefined);
  });

  /** A made-up row of a Trainer. */
  const TRAINER: MeasuredRow = {
    ...LITGPT,
    framework: 'HF SFTTrainer',
    framework_version: 'transformers 4.48.1, torch 2.4.1',
    arch: null,
    method: 'lora',
    quantization: null,
    weights_dtype: 'bf16',
    compute_dtype: 'bf16 (HF Trainer bf16 autocast)',
    optimizer: 'adamw_torch',
    packing: 'packed',
    activation_checkpointing: 'full (reentrant)',
    attention_impl: 'flash2',
    loss_impl: 'HF CE',
  };

  it('reads what FSDP 1 does behind a Trainer', () => {
    const fsdp: MeasuredRow = { ...TRAINER, num_gpus: 2, parallel: { dp: 2, fsdp: 'full_shard' } };
    const { values } = valuesOf(fsdp);
    assert.equal(values['precision.scheme'], 'fsdp');
    assert.equal(values['precision.autocast'], true);
    assert.equal(values['precision.masterWeights'], 'fp32');
    assert.equal(values['fsdp.checkpoints'], undefined);
    assert.equal(valuesOf({ ...fsdp, compute_dtype: 'bf16 (no AMP)' }).values['precision.scheme'], 'native');
    assert.equal(
      valuesOf({ ...fsdp, framework: 'fsdp_qlora (PyTorch FSDP1)' }).values['fsdp.checkpoints'],
      'within',
    );
  });

  it('reads other names of the same thing', () => {
    const of = (row: Partial<MeasuredRow>) => valuesOf({ ...TRAINER, ...row }).values;
    assert.equal(of({ loss_impl: 'cross entropy, full logits' })['loss.implementation'], 'full-shifted');
    assert.equal(
      of({ activation_checkpointing: 'gradient checkpointing' })['activations.checkpointing'],
      'full',
    );
    assert.equal(of({ attention_impl: 'SDPA (memory-efficient)' })['attention.implementation'], 'sdpa');
    assert.equal(of({ attention_impl: 'memory efficient attention' })['attention.implementation'], 'sdpa');
    assert.equal(of({ optimizer: 'SGD (no momentum)' })['optimizer.name'], 'sgd');
    assert.equal(of({ optimizer: 'SGD with momentum 0.9' })['optimizer.name'], 'sgd-momentum');
    assert.equal(of({ packing: 'padding-free' })['batch.packed'], true);
    assert.equal(of({ packing: 'unpadded' })['batch.varied'], undefined);
    assert.equal(of({ quantization: '4-bit (bitsandbytes)' })['quantization.kind'], 'nf4');
    assert.equal(of({ method: 'qlora' })['quantization.kind'], 'nf4');
    assert.equal(of({ quantization: 'nf4 (bnb, quant_storage=float16)' })['quantization.storage'], 'fp16');
    assert.equal(of({ notes: 'Liger kernels on' })['kernels.liger'], true);
    assert.equal(of({ loss_impl: 'Liger fused linear CE' })['kernels.liger'], undefined);
    const zero = { parallel: { dp: 1, zero_stage: '3' } } as unknown as Partial<MeasuredRow>;
    assert.equal(of(zero)['zero.stage'], 3);
    assert.equal(of({ ...zero, offload: 'cpu' })['offload.optimizer'], 'cpu');
    assert.equal(of({ offload: 'no' })['offload.optimizer'], undefined);
    const recast = of({ method: 'qlora', weights_dtype: 'nf4 base + bf16 rest; norms fp32' });
    assert.equal(recast['quantization.prepared'], true);
    assert.equal(recast['quantization.recast'], true);
  });

  it('knows a model by the name of a copy, and litgpt has a head of its own', () => {
    const copy = valuesOf({ ...TRAINER, model: 'TheBloke/Mistral-7B-v0.1-GPTQ' });
    assert.equal(copy.model.layers, 32);
    const gemma = valuesOf({ ...LITGPT, model: 'google/gemma-2b', arch: null }).model;
    assert.equal(gemma.parameters.total, 2_506_172_416 + 256_000 * 2048);
  });

  it("reads PEFT's other adapters", () => {
    const of = (method: string, more: Partial<MeasuredRow> = {}) =>
      valuesOf({ ...TRAINER, method, lora: null, ...more }).values;
    assert.equal(of('ia3')['lora.kind'], 'ia3');
    assert.equal(of('ln_tuning')['lora.kind'], 'ln-tuning');
    const vera = of('vera', { notes: 'rank 256' });
    assert.equal(vera['lora.kind'], 'vera');
    assert.equal(vera['lora.rank'], 256);
    assert.equal(of('prefixtuning', { notes: '30 virtual tokens' })['lora.virtualTokens'], 30);
    assert.equal(of('adalora', { lora: { r: 12, targets: ['q_proj'] } })['lora.rank'], 12);
    assert.match(errorOf({ ...TRAINER, method: 'loha', lora: null }), /no rank of loha/);
  });

  it('reads LoRA targets as a list or as one text', () => {
    const targets = (text: MeasuredRow['lora']) =>
      valuesOf({ ...LITGPT, lora: { r: 4, ...text } }).values['lora.targets'];
    assert.deepEqual(targets({ targets: 'q_proj, v_proj' }), targets({ targets: ['q_proj', 'v_proj'] }));
    assert.deepEqual(targets({ targets: 'all linear layers' }), ['all-linear']);
  });
});
