import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import type { Estimate, Sample } from '../../../server/src/results/estimate';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, CARD, SMALL_LLAMA } from './a-run';

const model = aModel(SMALL_LLAMA);
const P = model.parameters.total;
const N = 8;
const MIB = 2 ** 20;
/** cuBLAS workspaces of compute capability 8.0, 2 x 4 MiB + 8 x 16 KiB each: of the forward thread's handle and of autograd's. */
const WORKSPACE = 2 * 8_519_680;
/** Embedding and head, each one weight; they are the largest. */
const VOCABULARY = 32000 * 2048;
const LAYER = 4 * 2048 * 2048 + 3 * 2048 * 5632 + 2 * 2048;

function of(values: RunValues): Estimate {
  return estimate({
    run: aRun({ 'hardware.gpus': N, 'batch.sequence': 128, ...values }),
    model,
    accelerator: CARD,
  });
}

function loading(e: Estimate): Sample[] {
  return e.timeline.filter((s) => s.moment === 'initialization');
}

function bytesAt(e: Estimate, label: RegExp): number {
  const sample = loading(e).find((s) => label.test(s.label));
  assert.ok(sample, `${label} among ${loading(e).map((s) => s.label)}`);
  return sample.bytes;
}

const zero = (stage: number, more: RunValues = {}): Estimate =>
  of({
    'precision.compute': 'bf16',
    'precision.weights': 'bf16',
    'precision.scheme': 'deepspeed',
    'parallel.data': 'zero',
    'zero.stage': stage,
    'zero.persistenceThreshold': 0,
    'zero.reduceBucket': 1_000_000,
    ...more,
  });

describe('what a GPU holds before the first step', () => {
  it('comes first in the timeline, and the loaded model rests there', () => {
    const e = of({ 'hardware.gpus': 1, 'parallel.data': 'none' });
    assert.equal(e.timeline[0]?.moment, 'initialization');
    assert.equal(bytesAt(e, /in place/), 4 * P + WORKSPACE);
    assert.equal(loading(e).length, 1, 'moving a model weight by weight needs nothing beside it');
  });

  it('ZeRO 1 and 2 flatten the weights beside themselves, and that can be the peak', () => {
    const e = zero(2, { 'offload.optimizer': 'cpu' });
    assert.equal(bytesAt(e, /flattened/), 4 * P + WORKSPACE);
    assert.equal(e.peak.moment, 'initialization');
    assert.equal(e.peak.allocatedBytes, 4 * P + WORKSPACE);
    // Before 0.19 on the host, and so where the copy does not fit.
    for (const values of [{ 'version.deepspeed': '0.18.4' }, { 'hardware.gpuMemory': 3.5 * P }] as const) {
      const onHost = zero(2, { 'offload.optimizer': 'cpu', ...values });
      assert.ok(!loading(onHost).some((s) => /flattened/.test(s.label)));
      assert.notEqual(onHost.peak.moment, 'initialization');
    }
  });

  it('what is flattened only where there is room does not make a run tight', () => {
    const offload = { 'offload.optimizer': 'cpu' } as const;
    // As much as the run needs without the copy, bounds included.
    const room = zero(2, { ...offload, 'version.deepspeed': '0.18.4' }).peak.upperBytes;
    const e = zero(2, { ...offload, 'hardware.gpuMemory': room });
    assert.equal(e.peak.moment, 'initialization');
    assert.ok(e.peak.upperBytes <= room);
    assert.equal(e.verdict, 'fits');
  });

  it("Megatron's buffers are made while the weights that go into them are still there", () => {
    const megatron = {
      'hardware.gpus': 8,
      'parallel.data': 'ddp',
      'parallel.distributedOptimizer': true,
      'precision.scheme': 'megatron',
      'precision.compute': 'bf16',
      'precision.weights': 'bf16',
      'model.code': 'megatron',
    } as const;
    // Weights twice and fp32 gradients; more than the step needs where the states are on the host.
    const offloaded = of({ ...megatron, 'offload.optimizer': 'cpu', 'offload.optimizerRatio': 1 });
    assert.equal(bytesAt(offloaded, /into a buffer/), (2 + 2 + 4) * P + WORKSPACE);
    assert.equal(offloaded.peak.moment, 'initialization');
    assert.ok(!loading(offloaded).some((s) => /broadcast/.test(s.label)), 'nothing is broadcast');
    const plain = of({ ...megatron, 'parallel.distributedOptimizer': false });
    assert.ok(!loading(plain).some((s) => /into a buffer/.test(s.label)), 'weights stay where they are');
    // Two chunks of a stage move one after the other: of the last the weights are there twice.
    const staged = { ...megatron, 'offload.optimizer': 'cpu', 'parallel.pipeline': 2 } as const;
    const chunked = { 'parallel.pipelineSchedule': 'interleaved', 'parallel.virtualStages': 2 } as const;
    const [whole, parts] = [of(staged), of({ ...staged, ...chunked })].map((e) =>
      bytesAt(e, /into a buffer/),
    );
    assert.ok(whole !== undefined && parts !== undefined);
    // Of the last stage's four layers, norm and head one half, 2 bytes each.
    assert.equal(whole - parts, (2 * (4 * LAYER + 2048 + VOCABULARY)) / 2);
    // A reference model is loaded afterwards.
    const reference = of({ ...megatron, 'method.objective': 'dpo', 'method.referenceModel': true });
    assert.equal(bytesAt(reference, /into a buffer/), 8 * P + WORKSPACE);
    assert.equal(bytesAt(reference, /in place/), 4 * P + WORKSPACE);
    // Experts come after the rest, which has left its old place: 8 experts of three matrices, two to a GPU.
    const experts = (4 * 2 * 3 * 2048 * 5632) as number;
    const dense = 2 * VOCABULARY + 2048 + 4 * (4 * 2048 * 2048 + 8 * 2048 + 2 * 2048);
    const sparse = estimate({
      run: aRun({ ...megatron, 'batch.sequence': 128, 'parallel.expert': 4, 'parallel.expertTensor': 1 }),
      model: aModel({
        ...SMALL_LLAMA,
        num_hidden_layers: 4,
        model_type: 'mixtral',
        num_local_experts: 8,
        num_experts_per_tok: 2,
      }),
      accelerator: CARD,
    });
    const moves = loading(sparse).filter((s) => /into a buffer/.test(s.label));
    const resting = 2 * (dense + experts) + WORKSPACE;
    assert.deepEqual(
      moves.map(({ bytes }) => bytes),
      [resting + (2 + 4) * dense, resting + 4 * dense + (2 + 4) * experts],
    );
  });

  it('ZeRO 3 puts the whole model on every GPU where zero.Init does not', () => {
    const partitioned = zero(3);
    assert.equal(bytesAt(partitioned, /module at a time/), (2 * P) / N + 2 * VOCABULARY + WORKSPACE);
    const whole = zero(3, { 'loading.placement': 'host' });
    assert.equal(bytesAt(whole, /whole model/), 2 * P + (2 * VOCABULARY) / N + WORKSPACE);
    // Where little is gathered in the step, the loading is what does not fit.
    const little = {
      'zero.maxReuseDistance': 0,
      'zero.prefetchBucket': 0,
      'offload.optimizer': 'cpu',
    } as const;
    assert.equal(zero(3, { ...little, 'loading.placement': 'host' }).peak.moment, 'initialization');
    assert.notEqual(zero(3, little).peak.moment, 'initialization');
  });

  it('DDP makes ranks agree in two buckets of 250 MiB, or less where there is less', () => {
    const e = of({ 'parallel.data': 'ddp' });
    assert.equal(bytesAt(e, /broadcast/), 4 * P + 500 * MIB + WORKSPACE);
    const tiny = estimate({
      run: aRun({ 'hardware.gpus': N, 'parallel.data': 'ddp' }),
      model: aModel({ ...SMALL_LLAMA, hidden_size: 256, num_hidden_layers: 1, intermediate_size: 512 }),
      accelerator: CARD,
    });
    assert.equal(bytesAt(tiny, /broadcast/), 2 * 4 * tiny.model.totalParameters + WORKSPACE);
  });

  it('FSDP1 has a unit twice while it flattens it, FSDP2 once; the root is the largest', () => {
    const mixed = {
      'precision.compute': 'bf16',
      'precision.scheme': 'fsdp',
      'version.accelerate': '1.13',
    } as const;
    const root = 2 * VOCABULARY + 2048;
    const rest = (4 * P) / N + WORKSPACE;
    assert.equal(bytesAt(of({ ...mixed, 'parallel.data': 'fsdp1' }), /unit/), rest + 2 * 4 * root);
    assert.equal(bytesAt(of({ ...mixed, 'parallel.data': 'fsdp2' }), /unit/), rest + 4 * root);
    const apart = of({ ...mixed, 'parallel.data': 'fsdp2', 'fsdp.separateEnds': true });
    assert.equal(bytesAt(apart, /unit/), rest + 4 * Math.max(VOCABULARY + 2048, LAYER));
    // Nothing is sharded yet when the first unit is flattened.
    const whole = of({ ...mixed, 'parallel.data': 'fsdp1', 'loading.placement': 'gpu' });
    assert.equal(bytesAt(whole, /whole model/), 4 * P + 4 * root + WORKSPACE);
  });

  // Axolotl states 29 and 43 GiB of GLM-4.7-Flash on two GPUs, where one takes 24 and 35.
  it('what bitsandbytes quantizes lies whole on each GPU where every process loads it, and under FSDP 2 its shards beside it', () => {
    const quantized: RunValues = {
      'hardware.gpus': 2,
      'precision.weights': 'bf16',
      'precision.compute': 'bf16',
      'precision.scheme': 'fsdp',
      'quantization.kind': 'nf4',
      'quantization.storage': 'bf16',
      'method.kind': 'lora',
      'lora.targets': ['q_proj'],
      'loading.hostCopies': 'every-process',
    };
    const at = (more: RunValues) => of({ ...quantized, ...more });
    const second = at({ 'parallel.data': 'fsdp2' });
    const plain = 2 * VOCABULARY + (2 * 8 + 1) * 2048;
    const whole = 2 * (plain + second.model.trainableParameters) + (P - plain) * 0.5625;
    assert.equal(bytesAt(second, /whole model/), Math.round(bytesAt(second, /in place/) + whole));
    // FSDP 1 gives each unit back as it has its shards: the first is there twice.
    const root = 2 * (2 * VOCABULARY + 2048);
    assert.equal(
      bytesAt(at({ 'parallel.data': 'fsdp1' }), /whole model/),
      Math.round(whole + root + WORKSPACE),
    );
    // Threads that read ahead of quantizing do so in every process (`transformers 5.0 to 5.3`, below).
    const ahead = at({ 'parallel.data': 'fsdp2', 'version.transformers': '5.3' });
    assert.ok(ahead.peak.upperBytes > at({ 'parallel.data': 'fsdp2' }).peak.upperBytes);
    // torchtune and torchtitan shard what lies nowhere yet; one process that loads for all keeps its weights in host memory.
    for (const other of [
      at({ 'parallel.data': 'fsdp2', 'loading.hostCopies': 'one' }),
      at({ 'parallel.data': 'fsdp2', 'quantization.kind': 'none' }),
      at({ 'parallel.data': 'fsdp2', 'model.code': 'torchtune' }),
    ])
      assert.ok(!loading(other).some(({ label }) => /whole model/.test(label)));
  });

  it('a quantized model has one weight in 16 bits beside it, and one while PEFT casts to fp32', () => {
    const e = of({
      'hardware.gpus': 1,
      'parallel.data': 'none',
      'precision.weights': 'bf16',
      'precision.compute': 'bf16',
      'quantization.kind': 'nf4',
      'method.kind': 'lora',
      'lora.targets': ['all-linear'],
    });
    const plain = 2 * VOCABULARY + (2 * 8 + 1) * 2048;
    const packed = (P - plain) * 0.5625;
    assert.equal(bytesAt(e, /fp32/), Math.round(packed + 4 * plain + 2 * VOCABULARY + WORKSPACE));
    assert.equal(bytesAt(e, /quantized/), Math.round(packed + 2 * plain + 2 * 2048 * 5632 + WORKSPACE));
    assert.equal(
      bytesAt(e, /in place/),
      Math.round(packed + 4 * plain + 4 * e.model.trainableParameters + WORKSPACE),
    );
  });

  it('nothing is quantized of a checkpoint that is published quantized', () => {
    const at = (more: RunValues) =>
      of({
        'hardware.gpus': 1,
        'parallel.data': 'none',
        'precision.weights': 'bf16',
        'precision.compute': 'bf16',
        'quantization.kind': 'nf4',
        'method.kind': 'lora',
        'lora.targets': ['q_proj'],
        ...more,
      });
    const quantizes = (e: Estimate) => loading(e).some(({ label }) => /is quantized/.test(label));
    assert.equal(quantizes(at({})), true);
    for (const more of [
      { 'quantization.kind': 'gptq' },
      { 'quantization.kind': 'awq' },
      { 'quantization.partial': true },
      { 'quantization.checkpointBytes': 1_000_000_000 },
      { 'model.id': 'unsloth/tinyllama-bnb-4bit' },
    ] as const)
      assert.equal(quantizes(at(more)), false, JSON.stringify(more));
    // Threads that read ahead read it packed.
    const ahead = at({ 'version.transformers': '5.3', 'model.id': 'unsloth/tinyllama-bnb-4bit' });
    assert.ok(!ahead.notes.some((note) => note.includes('ahead of quantizing')));
  });

  it('experts that have a layer each are quantized one by one, and a stack as a whole', () => {
    const sparse = aModel({
      ...SMALL_LLAMA,
      num_hidden_layers: 2,
      model_type: 'mixtral',
      num_local_experts: 8,
      num_experts_per_tok: 2,
    });
    const published = (more: RunValues) => {
      const run = aRun({
        'hardware.gpus': 1,
        'precision.weights': 'bf16',
        'precision.compute': 'bf16',
        'quantization.kind': 'nf4',
        'quantization.prepared': false,
        'method.kind': 'lora',
        'lora.targets': ['q_proj'],
        ...more,
      });
      const e = estimate({ run, model: sparse, accelerator: CARD });
      const adapters = 4 * e.model.trainableParameters;
      return bytesAt(e, /is quantized/) - bytesAt(e, /in place/) + adapters;
    };
    const matrix = 2 * 2048 * 5632;
    // Gate and up are counted as one.
    assert.equal(published({ 'version.transformers': '4.57' }), 2 * matrix);
    assert.equal(
      published({
        'version.transformers': '5.23',
        'quantization.experts': true,
        'model.linearExperts': true,
      }),
      2 * matrix,
    );
    assert.equal(published({ 'version.transformers': '5.23', 'quantization.experts': true }), 8 * 2 * matrix);
  });

  it('transformers 5.0 to 5.3 may read all weights in 16 bits ahead of quantizing them', () => {
    const quantized: RunValues = {
      'hardware.gpus': 1,
      'parallel.data': 'none',
      'precision.weights': 'bf16',
      'precision.compute': 'bf16',
      'quantization.kind': 'nf4',
      'method.kind': 'lora',
      'lora.targets': ['q_proj'],
      'batch.sequence': 1,
    };
    const at = (transformers: string, more: RunValues = {}) =>
      of({ ...quantized, 'version.transformers': transformers, ...more });
    const ahead = at('5.3');
    const outside = ahead.peak.upperBytes - 2 * P;
    const plain = at('5.4');
    assert.ok(outside > 0 && outside < 2 ** 30, 'all weights, and what the process has beside PyTorch');
    assert.ok(plain.peak.upperBytes < ahead.peak.upperBytes);
    assert.equal(ahead.peak.processBytes, plain.peak.processBytes, 'how far the threads come is not known');
    assert.equal(ahead.peak.lowerBytes, plain.peak.lowerBytes);
    assert.ok(ahead.notes.some((note) => note.includes('ahead of quantizing')));
    for (const other of [
      plain,
      at('4.57'),
      at('5.23'),
      at('5.3', { 'loading.readsAhead': false }),
      at('5.3', { 'quantization.kind': 'gptq' }),
    ])
      assert.ok(!other.notes.some((note) => note.includes('ahead of quantizing')));
    const room = { 'hardware.gpuMemory': ahead.peak.upperBytes - 2 ** 20 };
    assert.equal(at('5.3', room).verdict, 'tight');
    assert.equal(at('5.4', room).verdict, 'fits');
  });

  it('reserved memory covers the loading and what the steps make the allocator keep', () => {
    const e = zero(2, { 'offload.optimizer': 'cpu' });
    assert.ok(e.peak.reservedBytes >= e.peak.allocatedBytes);
    assert.equal(
      e.parts.reduce((sum, part) => sum + part.bytes, 0),
      e.peak.processBytes,
    );
  });
});
