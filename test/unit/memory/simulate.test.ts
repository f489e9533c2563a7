import assert from 'node:assert/strict';
import { CachingAllocator } from '../../../server/src/memory/allocator';
import { batchLengths } from '../../../server/src/memory/batch-lengths';
import { groupsOf } from '../../../server/src/memory/layer-groups';
import { emptyLedger, totalOf } from '../../../server/src/memory/ledger';
import { shardingOf } from '../../../server/src/memory/sharding';
import { simulateSteps } from '../../../server/src/memory/simulate';
import { walkStep } from '../../../server/src/memory/step';
import { type TracedStage, traceRun } from '../../../server/src/memory/traced-run';
import { sumWeights } from '../../../server/src/memory/weights';
import { wrapFsdp1, wrappedBytes } from '../../../server/src/memory/wrapping';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, SMALL_LLAMA } from './a-run';

const MIB = 2 ** 20;
const BF16: RunValues = { 'precision.weights': 'bf16', 'precision.compute': 'bf16' };

function played(values: RunValues, config: Record<string, unknown> = SMALL_LLAMA, split = false) {
  const run = aRun(values);
  const model = aModel(config);
  const traced = traceRun(model, run);
  // Copies kept apart are played one by one: what groups of layers stand for.
  const stages: readonly TracedStage[] = split
    ? traced.flatMap((stage) => Array.from({ length: stage.copies }, () => ({ ...stage, copies: 1 })))
    : traced;
  const sharding = shardingOf(run, sumWeights(stages, run), stages);
  const constant = emptyLedger();
  const walk = walkStep(stages, run, sharding, constant);
  const unlimited = Number.POSITIVE_INFINITY;
  const simulated = simulateSteps(stages, walk, run, sharding, constant, unlimited, batchLengths(run));
  return { simulated, walk, run, stages, sharding };
}

describe('steps played on the allocator', () => {
  const plain: readonly (readonly [string, RunValues])[] = [
    ['keeping all activations', BF16],
    ['with checkpointing', { ...BF16, 'activations.checkpointing': 'full' }],
    [
      'with checkpoints in host memory',
      { ...BF16, 'activations.checkpointing': 'full', 'activations.offload': true },
    ],
    [
      'with reentrant checkpoints of two layers in host memory',
      {
        ...BF16,
        'activations.checkpointing': 'full',
        'activations.checkpointEvery': 2,
        'activations.reentrant': true,
        'activations.offload': true,
      },
    ],
    [
      'with checkpoints split over tensor-parallel GPUs',
      {
        ...BF16,
        'activations.checkpointing': 'full',
        'activations.distributed': true,
        'parallel.tensor': 2,
        'hardware.gpus': 2,
      },
    ],
    ['with autocast', { 'precision.compute': 'bf16', 'precision.scheme': 'autocast' }],
    ['with ZeRO 2', { ...BF16, 'parallel.data': 'zero', 'zero.stage': 2, 'precision.scheme': 'deepspeed' }],
  ];
  for (const [name, values] of plain) {
    it(`hand out at most what the walk has, ${name}`, () => {
      const { simulated, walk } = played({ ...values, 'batch.sequence': 2048, 'batch.micro': 16 });
      // Requests of 1 MiB and less are not played.
      assert.ok(
        Math.abs(simulated.allocated / walk.peak.bytes - 1) < 0.01,
        `${simulated.allocated} for ${walk.peak.bytes}`,
      );
      assert.ok(simulated.reserved >= simulated.allocated);
    });
  }

  it('come out as layer by layer where layers are played in groups', () => {
    for (const [name, values] of plain) {
      const deep = { ...SMALL_LLAMA, num_hidden_layers: 40 };
      const grouped = played({ ...values, 'batch.sequence': 2048 }, deep).simulated;
      const single = played({ ...values, 'batch.sequence': 2048 }, deep, true).simulated;
      assert.ok(Math.abs(grouped.allocated / single.allocated - 1) < 0.01);
      assert.ok(
        Math.abs(grouped.reserved / single.reserved - 1) < 0.08,
        `${name}: ${grouped.reserved} for ${single.reserved}`,
      );
    }
  });

  it('keep blocks of every new longest batch', () => {
    const alike = played({ ...BF16, 'batch.sequence': 4096 }).simulated;
    const varied = played({ ...BF16, 'batch.sequence': 4096, 'batch.varied': true }).simulated;
    assert.ok(varied.reserved > 1.05 * alike.reserved);
    assert.equal(varied.allocated, alike.allocated);
  });

  it('hold gathered buffers and shards of gradients apart under FSDP 2', () => {
    const values: RunValues = {
      ...BF16,
      'precision.scheme': 'fsdp',
      'parallel.data': 'fsdp2',
      'hardware.gpus': 8,
      'activations.checkpointing': 'full',
      'allocator.expandableSegments': true,
    };
    const { simulated, sharding, walk } = played(values);
    // Shards of the gradients are reserved all the time, whatever the moment of the peak.
    assert.ok(simulated.reserved > walk.peak.bytes);
    assert.ok(simulated.reserved > totalOf(sharding.atRest) + totalOf(sharding.gradientsAtStep));
  });
});

describe('what ZeRO 2 makes along the way', () => {
  // Logits of 8192 x 128000 in fp32 are the largest requests of a step by far.
  const values: RunValues = {
    ...BF16,
    'batch.sequence': 8192,
    'hardware.gpus': 8,
    'activations.checkpointing': 'full',
    'parallel.data': 'zero',
    'zero.stage': 2,
    'zero.overlapCommunication': true,
    'precision.scheme': 'deepspeed',
  };
  const wide = { ...SMALL_LLAMA, vocab_size: 128_000 };

  it('finds room where the logits were: buckets come after them, gradients are flattened, then cast', () => {
    // Two buckets of 500 M elements reserve nothing that a step with buckets of nothing does not.
    const buffered = played(values, wide).simulated;
    const without = played({ ...values, 'zero.reduceBucket': 1 }, wide).simulated;
    assert.ok(
      buffered.reserved <= without.reserved + 2 * 2 ** 21,
      `${buffered.reserved} for ${without.reserved}`,
    );
  });

  it('finds none before them, where DeepSpeed makes its buckets first', () => {
    const late = played({ ...values, 'version.deepspeed': '0.17.2' }, wide).simulated;
    const early = played({ ...values, 'version.deepspeed': '0.17.1' }, wide).simulated;
    // Two buckets of 500 M elements of 2 B.
    assert.ok(early.allocated - late.allocated >= 2 * 1e9);
    assert.ok(early.reserved - late.reserved >= 1.9e9);
  });
});

describe('groups of layers', () => {
  it('stand for all layers, the first alone', () => {
    for (const layers of [1, 2, 11, 12, 13, 24, 40, 96, 127]) {
      const groups = groupsOf(layers);
      assert.ok(groups.length <= 12);
      assert.equal(
        groups.reduce((sum, others) => sum + 1 + others, 0),
        layers,
      );
      assert.equal(groups[0], 0);
    }
  });
});

describe('wrapping in FSDP 1', () => {
  it('leaves the shards and, cached, the copies of the largest unit', () => {
    const run = aRun({ ...BF16, 'parallel.data': 'fsdp1', 'hardware.gpus': 2 });
    const stages = traceRun(aModel(SMALL_LLAMA), run);
    const allocator = new CachingAllocator(Number.POSITIVE_INFINITY);
    wrapFsdp1(allocator, stages, run);
    const placed = wrappedBytes(stages, run);
    const weights = 2 * sumWeights(stages, run).trained;
    assert.equal(placed, weights / 2);
    // A unit's weights, their broadcast copy and the flat weight lie beside each other; shards are cut out of them later.
    assert.ok(allocator.reserved > placed + 100 * MIB);
    assert.ok(allocator.reserved < placed + 3 * (weights - placed));
  });

  it('leaves no shards on the GPU where weights are offloaded', () => {
    const run = aRun({
      ...BF16,
      'parallel.data': 'fsdp1',
      'hardware.gpus': 2,
      'offload.parameters': 'cpu',
    });
    const stages = traceRun(aModel(SMALL_LLAMA), run);
    assert.equal(wrappedBytes(stages, run), 0);
    // All that wrapping took is free again: two requests of any unit's size find room.
    const allocator = new CachingAllocator(Number.POSITIVE_INFINITY);
    wrapFsdp1(allocator, stages, run);
    const { reserved } = allocator;
    allocator.allocate(40 * MIB);
    allocator.allocate(40 * MIB);
    assert.equal(allocator.reserved, reserved);
  });
});

describe('lengths of the batches that are played', () => {
  it('rise up to the longest, which comes last', () => {
    for (const values of [{}, { 'batch.meanSequence': 300 }, { 'batch.micro': 4 }] as const) {
      const lengths = batchLengths(aRun({ 'batch.varied': true, ...values }));
      assert.deepEqual(
        lengths,
        lengths.toSorted((a, b) => a - b),
      );
      assert.equal(lengths.at(-1), 1);
      assert.ok((lengths[0] ?? 0) > 0);
    }
  });

  it('are two alike where batches are', () => {
    assert.deepEqual(batchLengths(aRun({})), [1, 1]);
    assert.deepEqual(batchLengths(aRun({ 'batch.varied': true, 'batch.packed': true })), [1, 1]);
  });
});
