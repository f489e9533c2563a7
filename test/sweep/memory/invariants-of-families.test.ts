import assert from 'node:assert/strict';
import fc from 'fast-check';
import { estimate } from '../../../server/src/estimate';
import { bytesOf, emptyLedger } from '../../../server/src/memory/ledger';
import { shardingOf } from '../../../server/src/memory/sharding';
import { walkStep } from '../../../server/src/memory/step';
import { traceRun } from '../../../server/src/memory/traced-run';
import { ownWeights, sumWeights } from '../../../server/src/memory/weights';
import { catalogEntries, findModel } from '../../../server/src/model/catalog';
import type { Flow, Model } from '../../../server/src/model/model';
import { ONE_TOKEN } from '../../../server/src/model/trace-settings';
import { Tracer } from '../../../server/src/model/tracer';
import type { RunValues, TrainingRun } from '../../../server/src/run/fields';
import { runs } from '../../unit/long';
import { aRun, CARD } from '../../unit/memory/a-run';

const TYPES = [...new Set(catalogEntries().map(({ model_type }) => model_type))];

/** A model of the catalog: of any type as likely as of any other. */
const models = fc.tuple(fc.constantFrom(...TYPES), fc.nat()).map(([type, at]): Model => {
  const ids = catalogEntries().filter(({ model_type }) => model_type === type);
  const model = findModel(ids[at % ids.length]?.id ?? '');
  assert.ok(model);
  return model;
});

const values = fc
  .record({
    micro: fc.constantFrom(1, 2, 4),
    sequence: fc.constantFrom(256, 1024, 2048),
    accumulation: fc.constantFrom(1, 4),
    gpus: fc.constantFrom(2, 4, 8, 16),
    data: fc.constantFrom<NonNullable<RunValues['parallel.data']>[]>('none', 'ddp', 'zero', 'fsdp1', 'fsdp2'),
    stage: fc.constantFrom(1, 2, 3),
    checkpointing: fc.constantFrom<('none' | 'full')[]>('none', 'full'),
    reentrant: fc.boolean(),
    attention: fc.constantFrom<('sdpa' | 'eager' | 'flash2')[]>('sdpa', 'eager', 'flash2'),
    lora: fc.boolean(),
    rank: fc.constantFrom(8, 64),
    liger: fc.boolean(),
    optimizer: fc.constantFrom<('adamw' | 'sgd' | 'adamw-8bit' | 'lion')[]>(
      'adamw',
      'sgd',
      'adamw-8bit',
      'lion',
    ),
    mixed: fc.boolean(),
  })
  .map((r): RunValues => {
    const sharded = r.data === 'zero' ? 'deepspeed' : r.data.startsWith('fsdp') ? 'fsdp' : 'autocast';
    return {
      'batch.micro': r.micro,
      'batch.sequence': r.sequence,
      'batch.accumulation': r.accumulation,
      'hardware.gpus': r.data === 'none' ? 1 : r.gpus,
      'hardware.nodes': 1,
      'parallel.data': r.data,
      'activations.checkpointing': r.checkpointing,
      'activations.reentrant': r.reentrant,
      'attention.implementation': r.attention,
      'method.kind': r.lora ? 'lora' : 'full',
      'lora.targets': ['all-linear'],
      'lora.rank': r.rank,
      'kernels.liger': r.liger,
      'optimizer.name': r.optimizer,
      'precision.weights': r.mixed && r.data !== 'zero' ? 'fp32' : 'bf16',
      'precision.compute': 'bf16',
      'precision.scheme': r.mixed || r.data === 'zero' ? sharded : 'native',
      'zero.stage': r.stage,
      'zero.reduceBucket': 1_000_000,
      'zero.prefetchBucket': 0,
      'zero.maxReuseDistance': 0,
    };
  });

const peak = (model: Model, run: RunValues) =>
  estimate({ run: aRun(run), model, accelerator: CARD }).peak.allocatedBytes;

/** Elements of the largest weight. */
function largestOf(model: Model): number {
  const flow: Flow = new Map();
  let largest = 0;
  for (const stage of model.stages) {
    const tracer = new Tracer(ONE_TOKEN);
    stage.trace(tracer, flow);
    for (const { localElements } of tracer.finish().weights) largest = Math.max(largest, localElements);
  }
  return largest;
}

/** `less` needs no more than `more`, but for blocks' rounding and what is named. */
function noMore(model: Model, less: RunValues, more: RunValues, besides = 0): void {
  const [below, above] = [peak(model, less), peak(model, more)];
  assert.ok(below <= above * 1.002 + 2 ** 20 + besides, `${model.id}: ${below} > ${above}`);
}

const fsdp2On = (gpus: number): RunValues => ({
  'parallel.data': 'fsdp2',
  'precision.scheme': 'fsdp',
  'hardware.gpus': gpus,
});

/** Elements that FSDP 2 gathers of the largest layer, and of what is outside of all, padded: every rank sends as many rows of each weight as the first has. */
function gatheredOf(model: Model, run: TrainingRun): { layer: number; rest: number } {
  const gpus = run['hardware.gpus'];
  const sums = { layer: 0, rest: 0 };
  for (const traced of traceRun(model, run)) {
    const padded = ownWeights(traced).reduce(
      (sum, { localElements, rows }) => sum + gpus * Math.ceil(rows / gpus) * (localElements / rows),
      0,
    );
    if (traced.stage.role === 'layer') sums.layer = Math.max(sums.layer, padded);
    else sums.rest += padded;
  }
  return sums;
}

/**
 * Bytes that padding makes a run on more GPUs gather and reduce beyond one on fewer: of layers at most the weights, the buffers of
 * their all-gather and of the one before, the one fetched ahead and two inputs of a reduction; of the rest weights, buffer and input.
 */
function morePadding(model: Model, more: RunValues, fewer: RunValues): number {
  const [padded, plain] = [more, fewer].map((values) => gatheredOf(model, aRun(values)));
  if (!padded || !plain) return 0;
  const most = (elements: number) => 4 * Math.max(0, elements);
  return 6 * most(padded.layer - plain.layer) + 3 * most(padded.rest - plain.rest);
}

function holds(of: (model: Model, run: RunValues) => void): void {
  fc.assert(fc.property(models, values, of), { numRuns: runs(40, 1500) });
}

describe('what must hold of runs of every family of models', () => {
  it('a larger micro batch, a longer sequence of any length and more micro batches never need less', () => {
    fc.assert(
      fc.property(models, values, fc.integer({ min: 1, max: 999 }), (model, run, longer) => {
        noMore(model, run, { ...run, 'batch.micro': 2 * (run['batch.micro'] ?? 1) });
        noMore(model, run, { ...run, 'batch.sequence': longer + (run['batch.sequence'] ?? 1) });
        noMore(model, run, { ...run, 'batch.accumulation': 2 * (run['batch.accumulation'] ?? 1) });
      }),
      { numRuns: runs(40, 1500) },
    );
  });

  it('a larger rank, and DoRA in place of LoRA, never need less', () => {
    holds((model, run) => {
      const lora: RunValues = { ...run, 'method.kind': 'lora' };
      noMore(model, lora, { ...lora, 'lora.rank': 2 * (run['lora.rank'] ?? 8) });
      noMore(model, lora, { ...lora, 'lora.dora': true });
    });
  });

  // Adapters keep fp32 copies of their inputs, which may be more than gradients and states where these are sharded or small, or layers are kept.
  it('LoRA of a model of a billion weights never needs more than full training with states on one GPU, layers recomputed', () => {
    holds((model, run) => {
      if (model.parameters.total < 1e9) return;
      const alone: RunValues = {
        ...run,
        'hardware.gpus': 1,
        'parallel.data': 'none',
        'precision.scheme': run['parallel.data'] === 'none' ? run['precision.scheme'] : 'autocast',
        'optimizer.name': 'adamw',
        'activations.checkpointing': 'full',
      };
      noMore(model, { ...alone, 'method.kind': 'lora' }, { ...alone, 'method.kind': 'full' });
    });
  });

  it('checkpointing never needs more', () => {
    holds((model, run) => {
      const full: RunValues = { ...run, 'method.kind': 'full' };
      noMore(
        model,
        { ...full, 'activations.checkpointing': 'full' },
        { ...full, 'activations.checkpointing': 'none' },
      );
    });
  });

  it('more GPUs never need more memory each, what they gather of padding apart', () => {
    holds((model, run) => {
      if (run['parallel.data'] === 'none') return;
      const twice = { ...run, 'hardware.gpus': 2 * (run['hardware.gpus'] ?? 2) };
      noMore(model, twice, run, run['parallel.data'] === 'fsdp2' ? morePadding(model, twice, run) : 0);
    });
  });

  it('of FSDP 2 more GPUs than a weight has rows have a row each at most, and gather as many rows as there are GPUs', () => {
    const mixtral = findModel('mistralai/Mixtral-8x7B-v0.1');
    assert.ok(mixtral);
    const on = (gpus: number) => gatheredOf(mixtral, aRun(fsdp2On(gpus))).layer;
    const experts = 8 * 3 * 4096 * 14336;
    // All other weights of a layer have rows for 8, 16 and 32 GPUs; the router has one for each expert.
    const rest = 2 * 4096 * 4096 + 2 * 1024 * 4096 + 2 * 4096;
    assert.equal(on(8), rest + experts + 8 * 4096);
    assert.equal(on(16), rest + 2 * (experts + 8 * 4096));
    assert.equal(on(32), rest + 4 * (experts + 8 * 4096));
  });

  // Stage 2 makes its part of all gradients with the first of them; stage 3 holds its part of the weights beside those that are gathered.
  // A gradient larger than the bucket is reduced whole, at most through a copy.
  it('a higher ZeRO stage never needs more, one part of the weights and the largest gradient apart', () => {
    fc.assert(
      fc.property(models, values, fc.constantFrom(1, 2), (model, run, stage) => {
        const zero: RunValues = {
          ...run,
          'method.kind': 'full',
          'parallel.data': 'zero',
          'hardware.gpus': Math.max(2, run['hardware.gpus'] ?? 2),
          'precision.weights': 'bf16',
          'precision.scheme': 'deepspeed',
        };
        const part = (2 * model.parameters.total) / (zero['hardware.gpus'] ?? 2) + 2 * 2 * largestOf(model);
        noMore(model, { ...zero, 'zero.stage': stage + 1 }, { ...zero, 'zero.stage': stage }, part);
      }),
      { numRuns: runs(40, 1500) },
    );
  });
});

describe('a step of every family', function () {
  this.timeout(120_000);

  it('gives back all that forward and backward made, but for gradients of weights', () => {
    for (const type of TYPES) {
      const model = findModel(catalogEntries().find(({ model_type }) => model_type === type)?.id ?? '');
      assert.ok(model);
      for (const [checkpointing, scheme] of [
        ['none', 'native'],
        ['full', 'autocast'],
      ] as const) {
        const run = aRun({
          'batch.sequence': 512,
          'activations.checkpointing': checkpointing,
          'precision.scheme': scheme,
          'precision.compute': scheme === 'native' ? 'fp32' : 'bf16',
        });
        const stages = traceRun(model, run);
        const sharding = shardingOf(run, sumWeights(stages, run), stages);
        const { afterBackward } = walkStep(stages, run, sharding, emptyLedger());
        const left = (['activations', 'checkpoints', 'logits-and-loss', 'autocast-cache'] as const).reduce(
          (sum, category) => sum + bytesOf(afterBackward, category) - bytesOf(sharding.atRest, category),
          0,
        );
        // Values of losses and the like, in blocks of the allocator.
        assert.ok(Math.abs(left) <= 8192, `${type}, ${checkpointing}, ${scheme}: ${left} bytes`);
      }
    }
  });
});
