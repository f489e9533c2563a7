import assert from 'node:assert/strict';
import fc from 'fast-check';
import { exchangeSeconds, exchangesOf, waiting } from '../../../server/src/compute/exchange';
import { linkSpeeds } from '../../../server/src/compute/links';
import { findAccelerator } from '../../../server/src/hardware/catalog';
import { traceRun } from '../../../server/src/memory/traced-run';
import { sumWeights } from '../../../server/src/memory/weights';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, SMALL_LLAMA } from '../memory/a-run';

const llama = aModel(SMALL_LLAMA);
const P = llama.parameters.total;

/** Passes of all the weights or gradients in 16 bits over a link, in one optimizer step. */
function volume(values: RunValues): number {
  const run = aRun({
    'precision.weights': 'bf16',
    'precision.compute': 'bf16',
    'hardware.gpus': 8,
    'batch.accumulation': 4,
    ...values,
  });
  const sums = sumWeights(traceRun(llama, run), run);
  const bytes = exchangesOf(sums, run).reduce((sum, e) => sum + e.passes * e.times * e.bytes, 0);
  return bytes / (2 * P);
}

const near = (actual: number, expected: number) =>
  assert.ok(Math.abs(actual - expected) < 1e-9, `${actual} for ${expected}`);

describe('what data-parallel GPUs exchange', () => {
  it('DDP sums gradients once; Megatron scatters the sum and gathers', () => {
    near(volume({ 'parallel.data': 'ddp' }), 2);
    near(volume({ 'parallel.data': 'ddp', 'parallel.distributedOptimizer': true }), 2);
    near(volume({ 'parallel.data': 'ddp', 'hardware.gpus': 1 }), 0);
  });

  it('DeepSpeed: 2, 2 + 1, 2 per micro batch + 1, 3 per micro batch', () => {
    const zero = (stage: number) => volume({ 'parallel.data': 'zero', 'zero.stage': stage });
    near(zero(0), 2);
    near(zero(1), 3);
    near(zero(2), 4 * 2 + 1);
    near(zero(3), 4 * 3);
  });

  it('FSDP: weights twice per micro batch or once where they stay, gradients once unless each is synchronized', () => {
    const fsdp = (values: RunValues) =>
      volume({ 'parallel.data': 'fsdp2', 'fsdp.syncEachBatch': false, ...values });
    near(fsdp({}), 4 * 2 + 1);
    near(fsdp({ 'fsdp.syncEachBatch': true }), 4 * 3);
    near(fsdp({ 'fsdp.strategy': 'grad-op' }), 4 + 1);
    near(fsdp({ 'fsdp.strategy': 'grad-op', 'parallel.data': 'fsdp1' }), 1 + 1);
    near(fsdp({ 'fsdp.strategy': 'none' }), 2);
    // Two nodes: what a GPU keeps, an eighth, is summed with its twin.
    const nodes = { 'hardware.gpus': 16, 'hardware.nodes': 2, 'fsdp.strategy': 'hybrid' } as const;
    near(fsdp(nodes), 4 * 2 + 1 + 2 / 8);
  });

  it('Horovod broadcasts what other GPUs step', () => {
    near(volume({ 'parallel.data': 'horovod' }), 2);
    near(volume({ 'parallel.data': 'horovod', 'zero.stage': 1 }), 3);
    near(volume({ 'parallel.data': 'horovod', 'zero.stage': 2 }), 4 * 2 + 1);
  });
});

describe('seconds of exchanges', () => {
  it('are those of the slower link: a ring inside, a ring of nodes between', () => {
    const run = aRun({ 'hardware.gpus': 16, 'hardware.nodes': 2, 'parallel.data': 'fsdp2' });
    const gather = { bytes: 1600, passes: 1, among: 'shards', times: 1, beside: 'forward' } as const;
    const seconds = (inside: number | undefined, between?: number) =>
      exchangeSeconds([gather], run, { inside, between }).forward;
    assert.equal(seconds(100), 15);
    assert.equal(seconds(100, 100), 15);
    assert.equal(seconds(100, 10), 80);
    assert.equal(seconds(undefined), 0);
  });

  it('rings of tensor-parallel GPUs share the adapters of a node', () => {
    const run = aRun({
      'hardware.gpus': 16,
      'hardware.nodes': 2,
      'parallel.data': 'fsdp2',
      'parallel.tensor': 8,
    });
    const gather = { bytes: 1600, passes: 1, among: 'shards', times: 1, beside: 'forward' } as const;
    // Eight rings of two GPUs, one in each node.
    assert.equal(exchangeSeconds([gather], run, { between: 100 }).forward, (8 * 800) / 100);
  });

  it('are waited for as far as computing beside them is shorter', () => {
    const none = { forward: 0, backward: 0, 'last-backward': 0, nothing: 0 };
    const computing = { forward: 1, backward: 2 };
    assert.equal(waiting({ ...none, nothing: 3 }, computing, 1), 3);
    assert.equal(waiting({ ...none, forward: 3 }, computing, 1), 2);
    assert.equal(waiting({ ...none, backward: 1.5, 'last-backward': 1.5 }, computing, 1), 1);
    assert.equal(waiting({ ...none, 'last-backward': 1.5 }, computing, 4), 1);
  });

  it('are never more than all of them, nor less than those beside nothing', () => {
    const time = fc.double({ min: 0, max: 100, noNaN: true });
    const all = fc.record({ forward: time, backward: time, 'last-backward': time, nothing: time });
    fc.assert(
      fc.property(all, time, time, fc.integer({ min: 1, max: 64 }), (exchanged, forward, backward, micro) => {
        const waits = waiting(exchanged, { forward, backward }, micro);
        const sum = Object.values(exchanged).reduce((a, b) => a + b, 0);
        assert.ok(waits >= exchanged.nothing && waits <= sum + 1e-9, `${waits} of ${sum}`);
      }),
    );
  });
});

describe('links', () => {
  const speeds = (name: string, values: RunValues = {}) => {
    const accelerator = findAccelerator(name);
    assert.ok(accelerator, name);
    return linkSpeeds(aRun({ 'hardware.gpus': 16, 'hardware.nodes': 2, ...values }), accelerator);
  };

  it('collectives reach 80 % of NVLink and 73 % of the adapters', () => {
    const { rated, usual } = speeds('A100-SXM4-80GB');
    assert.deepEqual(rated, { inside: 300e9, between: 200e9 });
    assert.equal(usual.inside, 0.8 * 300e9);
    assert.equal(usual.between, 0.73 * 200e9);
  });

  it('GeForce cards may exchange through the host, professional ones do not', () => {
    assert.equal(speeds('RTX 4090').slowest.inside, 3e9);
    assert.equal(speeds('RTX 6000 Ada').slowest.inside, 0.8 * 31.5e9);
  });

  it('between nodes are those of the machine that the run names; none where there is one node', () => {
    assert.equal(speeds('H100', { 'hardware.instance': 'a3-highgpu-8g' }).rated.between, 100e9);
    assert.equal(speeds('H100').slowest.between, 0.73 * 100e9);
    assert.equal(speeds('H100', { 'hardware.nodes': 1 }).rated.between, undefined);
  });
});
