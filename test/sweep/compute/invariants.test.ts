import assert from 'node:assert/strict';
import fc from 'fast-check';
import { computeEstimate } from '../../../server/src/compute/flops';
import { timeEstimate } from '../../../server/src/compute/time-estimate';
import { acceleratorNames, findAccelerator } from '../../../server/src/hardware/catalog';
import { traceRun } from '../../../server/src/memory/traced-run';
import { sumWeights } from '../../../server/src/memory/weights';
import type { ComputeEstimate, Spread, TimeEstimate } from '../../../server/src/results/estimate';
import type { RunValues } from '../../../server/src/run/fields';
import { runs } from '../../unit/long';
import { aModel, aRun, SMALL_LLAMA } from '../../unit/memory/a-run';

const llama = aModel(SMALL_LLAMA);

function both(values: RunValues, gpu = 'A100-SXM4-80GB'): { compute: ComputeEstimate; time?: TimeEstimate } {
  const accelerator = findAccelerator(gpu);
  assert.ok(accelerator);
  const run = aRun({ 'precision.compute': 'bf16', 'precision.scheme': 'autocast', ...values });
  const stages = traceRun(llama, run);
  const compute = computeEstimate(stages, run);
  const time = timeEstimate(stages, sumWeights(stages, run), run, accelerator, compute);
  return { compute, time: typeof time === 'string' ? undefined : time };
}

const SOME_RUN: fc.Arbitrary<RunValues> = fc.record({
  'batch.micro': fc.integer({ min: 1, max: 8 }),
  'batch.sequence': fc.integer({ min: 16, max: 4096 }),
  'batch.accumulation': fc.integer({ min: 1, max: 16 }),
  'batch.varied': fc.boolean(),
  'activations.checkpointing': fc.constantFrom('none', 'full', 'selective'),
  'activations.reentrant': fc.boolean(),
  'activations.offload': fc.boolean(),
  'method.kind': fc.constantFrom('full', 'lora', 'freeze'),
  'lora.targets': fc.constant(['all-linear']),
  'quantization.kind': fc.constantFrom('none', 'nf4'),
  'attention.implementation': fc.constantFrom('eager', 'sdpa', 'flash2', 'flex'),
  'kernels.compile': fc.boolean(),
  'parallel.data': fc.constantFrom('ddp', 'zero', 'fsdp2'),
  'zero.stage': fc.constantFrom(1, 2, 3),
  'offload.optimizer': fc.constantFrom('none', 'cpu'),
  'hardware.gpus': fc.constantFrom(1, 2, 8),
  'optimizer.name': fc.constantFrom('adamw', 'sgd', 'paged-adamw-8bit'),
  'schedule.steps': fc.integer({ min: 1, max: 1_000_000 }),
});

function inOrder(name: string, spread: Spread | undefined): void {
  if (!spread) return;
  const { low, likely, high } = spread;
  const holds = low >= 0 && low <= likely && likely <= high && Number.isFinite(high);
  assert.ok(holds, `${name}: ${low}, ${likely}, ${high}`);
}

describe('compute of any run', () => {
  it('has ranges in order, finite, on every card', () => {
    fc.assert(
      fc.property(SOME_RUN, fc.constantFrom(...acceleratorNames()), (values, gpu) => {
        const { time } = both(values, gpu);
        fc.pre(time !== undefined);
        inOrder('step', time.stepSeconds);
        inOrder('rate', time.tokensPerSecondPerGpu);
        inOrder('mfu', time.mfu);
        inOrder('run', time.runSeconds);
        inOrder('hours', time.gpuHours);
        inOrder('energy', time.energyKwh);
        inOrder('cost', time.costUsd);
      }),
      { numRuns: runs(75, 300) },
    );
  });

  it('uses no more of a card than there is', () => {
    const others: fc.Arbitrary<RunValues> = fc.record({
      'method.frozenParameters': fc.constantFrom(0, 1e9, 70e9),
      'method.frozenModels': fc.constantFrom(0, 1),
      'precision.fp8': fc.constantFrom('none', 'torchao', 'transformer-engine'),
      'kernels.tf32': fc.boolean(),
      'precision.compute': fc.constantFrom('bf16', 'fp16', 'fp32'),
    });
    fc.assert(
      fc.property(SOME_RUN, others, fc.constantFrom(...acceleratorNames()), (values, other, gpu) => {
        const { time } = both({ ...values, ...other }, gpu);
        const shares = [time?.mfu, time?.hfu].filter((share) => share !== undefined);
        fc.pre(shares.length > 0);
        for (const { high } of shares) assert.ok(high <= 1 + 1e-9, `${high}`);
      }),
      { numRuns: runs(150, 600) },
    );
  });

  it('is proportional to accumulation', () => {
    fc.assert(
      fc.property(SOME_RUN, fc.integer({ min: 2, max: 9 }), (values, factor) => {
        const accumulation = values['batch.accumulation'] ?? 1;
        const one = both(values).compute;
        const more = both({ ...values, 'batch.accumulation': factor * accumulation }).compute;
        for (const key of [
          'flopsPerStep',
          'modelFlopsPerStep',
          'profiledFlopsPerStep',
          'tokensPerStep',
        ] as const) {
          assert.ok(Math.abs(more[key] / (factor * one[key]) - 1) < 1e-12, key);
        }
      }),
      { numRuns: runs(20, 80) },
    );
  });

  it('never falls by recomputation, and MFU does not count it', () => {
    fc.assert(
      fc.property(SOME_RUN, (values) => {
        const without = both({ ...values, 'activations.checkpointing': 'none' }).compute;
        const { compute } = both(values);
        assert.ok(compute.flopsPerStep >= without.flopsPerStep);
        assert.ok(compute.recomputedFlopsPerStep >= 0);
        // Under LoRA checkpointing makes the embedded tokens require a gradient.
        if (values['method.kind'] === 'full') {
          assert.equal(compute.modelFlopsPerStep, without.modelFlopsPerStep);
        }
        assert.ok(compute.profiledFlopsPerStep >= compute.flopsPerStep);
      }),
      { numRuns: runs(30, 120) },
    );
  });

  it('is not slower at its fastest on more GPUs, the global batch being the same', () => {
    fc.assert(
      fc.property(SOME_RUN, fc.constantFrom(2, 4, 8), (values, more) => {
        const base = { ...values, 'batch.accumulation': 8, 'hardware.gpus': 1 } as const;
        const spread = { ...values, 'batch.accumulation': 8 / more, 'hardware.gpus': more } as const;
        const one = both(base).time;
        const many = both(spread).time;
        assert.ok(one && many);
        assert.ok(many.stepSeconds.low <= one.stepSeconds.low * (1 + 1e-9));
      }),
      { numRuns: runs(30, 120) },
    );
  });
});
