import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import type { Estimate } from '../../../server/src/results/estimate';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, CARD, SMALL_LLAMA } from './a-run';

const model = aModel(SMALL_LLAMA);
const P = model.parameters.total;
const N = 8;
const GIB = 2 ** 30;

function of(values: RunValues): Estimate {
  return estimate({ run: aRun({ 'hardware.gpus': N, ...values }), model, accelerator: CARD });
}

function part(e: Estimate, label: RegExp): number {
  return e.host.parts.find((found) => label.test(found.label))?.bytes ?? 0;
}

const zero = (stage: number, more: RunValues = {}): Estimate =>
  of({
    'precision.compute': 'bf16',
    'precision.weights': 'bf16',
    'precision.scheme': 'deepspeed',
    'parallel.data': 'zero',
    'zero.stage': stage,
    'zero.reduceBucket': 1_000_000,
    ...more,
  });
const mixed = { 'precision.compute': 'bf16', 'precision.scheme': 'fsdp' } as const;

describe('host memory of a node', () => {
  it('parts add up, and the moment that needs most is named', () => {
    for (const e of [zero(2, { 'offload.optimizer': 'cpu' }), zero(3), of({ 'parallel.data': 'ddp' })]) {
      assert.equal(
        e.host.parts.reduce((sum, { bytes }) => sum + bytes, 0),
        e.host.bytesPerNode,
      );
    }
    assert.equal(zero(2, { 'offload.optimizer': 'cpu' }).host.moment, 'training');
    assert.equal(of({ 'parallel.data': 'ddp' }).host.moment, 'loading');
  });

  it('every process loads a copy of the checkpoint, unless the scheme shares one', () => {
    assert.equal(of({ 'parallel.data': 'ddp' }).host.bytesPerNode, N * 4 * P);
    const twoNodes = of({ 'parallel.data': 'ddp', 'hardware.gpus': 16, 'hardware.nodes': 2 });
    assert.equal(twoNodes.host.bytesPerNode, N * 4 * P);
    assert.equal(of({ ...mixed, 'parallel.data': 'fsdp2' }).host.bytesPerNode, 4 * P);
    assert.equal(zero(3).host.bytesPerNode, 2 * P);
    assert.equal(zero(3, { 'loading.placement': 'host' }).host.bytesPerNode, N * 2 * P);
    assert.equal(of({ 'parallel.data': 'ddp', 'loading.hostCopies': 'one' }).host.bytesPerNode, 4 * P);
    assert.equal(of({ 'parallel.data': 'ddp', 'loading.hostCopies': 'none' }).host.bytesPerNode, 0);
    assert.equal(of({ 'parallel.data': 'ddp', 'model.code': 'torchtitan' }).host.bytesPerNode, 0);
    const quantized = { 'quantization.kind': 'nf4', 'method.kind': 'lora' } as const;
    assert.equal(of({ 'parallel.data': 'ddp', ...quantized }).host.bytesPerNode, 0);
    // What bitsandbytes quantizes in every process stays on its GPU; read by one, it goes back to the host.
    const fsdp = { ...mixed, ...quantized, 'precision.weights': 'bf16', 'parallel.data': 'fsdp2' } as const;
    assert.equal(of({ ...fsdp, 'loading.hostCopies': 'every-process' }).host.bytesPerNode, 0);
    assert.equal(of({ ...fsdp, 'loading.hostCopies': 'one' }).host.bytesPerNode, 2 * P);
  });

  it('a model made from a config is made in every process, whoever would have read a checkpoint', () => {
    const made = { ...mixed, 'loading.newWeights': true } as const;
    for (const data of ['ddp', 'fsdp1', 'fsdp2'] as const) {
      const { host } = of({ ...made, 'parallel.data': data });
      assert.equal(host.bytesPerNode, N * 4 * P, data);
    }
    assert.equal(part(of({ ...made, 'parallel.data': 'ddp' }), /new weights/), N * 4 * P);
    // `zero.Init` splits each module as it is made.
    assert.equal(part(zero(3, { 'loading.newWeights': true }), /weights|checkpoint/), 0);
    const whole = zero(3, { 'loading.newWeights': true, 'loading.placement': 'host' });
    assert.equal(whole.host.bytesPerNode, N * 2 * P);
    const published = { ...model, publishedDtype: 'fp32' as const };
    const run = aRun({ 'parallel.data': 'ddp', 'loading.newWeights': true });
    assert.equal(estimate({ run, model: published, accelerator: CARD }).host.bytesPerNode, 4 * P);
  });

  it('weights that keep their published type are mapped from the file, others are copied', () => {
    const published = { ...model, publishedDtype: 'bf16' as const };
    const at = (values: RunValues) =>
      estimate({
        run: aRun({ 'hardware.gpus': N, 'parallel.data': 'ddp', ...values }),
        model: published,
        accelerator: CARD,
      }).host.bytesPerNode;
    assert.equal(at({ 'precision.weights': 'bf16', 'precision.compute': 'bf16' }), 0);
    assert.equal(at({}), N * 4 * P);
    // Stated otherwise, it is believed.
    assert.equal(at({ 'precision.weights': 'bf16', 'loading.hostCopies': 'every-process' }), N * 2 * P);
  });

  it('Accelerate casts weights to fp32 in every process before FSDP2 shards them', () => {
    const low = { ...mixed, 'precision.weights': 'bf16' } as const;
    assert.equal(of({ ...low, 'parallel.data': 'fsdp2' }).host.bytesPerNode, N * 4 * P);
    assert.equal(of({ ...low, 'parallel.data': 'fsdp1' }).host.bytesPerNode, 2 * P);
  });

  it('DeepSpeed before 0.19 flattened on the host', () => {
    const e = zero(2, { 'version.deepspeed': '0.18.4' });
    assert.equal(e.host.bytesPerNode, N * 4 * P);
    assert.match(e.host.parts[0]?.label ?? '', /flat copy/);
  });

  it('pinned buffers are rounded up to powers of two', () => {
    // Of 542 M elements a GPU has 67.8 M: 258.6 MiB in fp32, twice, and 129.3 MiB in bf16.
    const e = zero(2, { 'offload.optimizer': 'cpu' });
    // The largest gradient, that of the head, has a buffer of its own in every process.
    const largest = 2 * 32000 * 2048;
    const rounding =
      N * (2 * (512 * 2 ** 20 - (4 * P) / N) + 256 * 2 ** 20 - (2 * P) / N + 128 * 2 ** 20 - largest);
    assert.equal(part(e, /rounding/), Math.round(rounding));
    assert.equal(e.host.bytesPerNode, Math.round(18 * P + N * largest + rounding));
    assert.equal(part(zero(2, { 'offload.optimizer': 'cpu', 'offload.pinMemory': false }), /rounding/), 0);
  });

  it('FSDP2 pins shard by shard, so powers of two cost nothing', () => {
    // Every weight of this model is a power of two times 11 or 125, split over 8.
    const e = of({ ...mixed, 'parallel.data': 'fsdp2', 'offload.parameters': 'cpu' });
    const up = 5632 * 2048 * 4;
    const vocabulary = 32000 * 2048 * 4;
    const each = (bytes: number) => 2 ** Math.ceil(Math.log2(bytes / N)) - bytes / N;
    // Weights and gradients: three MLP matrices in each of 8 layers, embedding and head.
    assert.equal(part(e, /rounding/), N * 2 * (8 * 3 * each(up) + 2 * each(vocabulary)));
  });

  it('NVMe keeps its buffers on the host', () => {
    const optimizer = zero(3, { 'offload.optimizer': 'nvme', 'loading.hostCopies': 'none' });
    assert.equal(part(optimizer, /NVMe buffers of the optimizer/), 4 * 4 * P);
    const groups = zero(3, {
      'offload.optimizer': 'nvme',
      'zero.subGroup': 10_000_000,
      'offload.optimizerBuffers': 6,
    });
    assert.equal(part(groups, /NVMe buffers of the optimizer/), N * 6 * 10_000_000 * 4);
    const weights = zero(3, { 'offload.parameters': 'nvme', 'offload.parametersInHost': 50_000_000 });
    assert.equal(part(weights, /NVMe buffers of weights/), N * 5 * 100_000_000 * 2);
    assert.equal(part(weights, /^weights$/), N * 50_000_000 * 2);
  });

  it('offloaded checkpoints of activations wait on the host', () => {
    const e = of({
      'hardware.gpus': 2,
      'parallel.data': 'ddp',
      'precision.weights': 'bf16',
      'precision.compute': 'bf16',
      'activations.checkpointing': 'full',
      'activations.offload': true,
      'batch.micro': 2,
      'batch.sequence': 4096,
      'loading.hostCopies': 'none',
    });
    assert.equal(e.host.bytesPerNode, 2 * 8 * (2 * 4096 * 2048 * 2));
  });

  it('a full checkpoint is whole on rank 0, and in every process of ZeRO 2', () => {
    const saved = (e: Estimate) => part(e, /to be saved/);
    assert.equal(
      saved(
        of({ ...mixed, 'parallel.data': 'fsdp1', 'loading.hostCopies': 'none', 'saving.weights': 'full' }),
      ),
      4 * P,
    );
    const states = of({
      ...mixed,
      'parallel.data': 'fsdp1',
      'saving.weights': 'full',
      'saving.optimizer': true,
    });
    assert.equal(states.host.bytesPerNode, 12 * P);
    assert.equal(states.host.moment, 'saving');
    const none = { 'loading.hostCopies': 'none', 'saving.weights': 'full' } as const;
    assert.equal(saved(zero(3, none)), 2 * P);
    assert.equal(saved(zero(2, none)), N * 2 * P);
    // Replicas write files of 5 GB at most before transformers 5.
    assert.equal(saved(of({ 'parallel.data': 'ddp', ...none })), 4 * P);
  });

  it('reports whether the node has it', () => {
    const offload = { 'offload.optimizer': 'cpu', 'offload.pinMemory': false } as const;
    assert.equal(zero(2, offload).host.verdict, 'unknown');
    assert.equal(zero(2, { ...offload, 'hardware.hostMemory': 8 * GIB }).host.verdict, 'exceeds');
    assert.equal(zero(2, { ...offload, 'hardware.hostMemory': 16 * GIB }).host.verdict, 'fits');
  });
});
