import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { estimate } from '../../../server/src/estimate';
import type { Category, Estimate } from '../../../server/src/results/estimate';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, CARD, SMALL_LLAMA } from './a-run';

/**
 * What each scheme holds, against the tables of the ZeRO paper and of the frameworks' own code, in bytes per parameter.
 * The model has no tied weights and no tensor whose size eight GPUs do not divide.
 */
const model = aModel(SMALL_LLAMA);
const P = model.parameters.total;
const N = 8;

function of(values: RunValues): Estimate {
  return estimate({ run: aRun({ 'hardware.gpus': N, ...values }), model, accelerator: CARD });
}

/** Bytes of a category when the optimizer steps. */
function atStep(e: Estimate, category: Category): number {
  const sample = e.timeline.find((s) => s.moment === 'optimizer-step');
  return sample?.parts.find((part) => part.category === category)?.bytes ?? 0;
}

/** Highest bytes of a category over the step. */
function most(e: Estimate, category: Category): number {
  return Math.max(...e.timeline.map((s) => s.parts.find((part) => part.category === category)?.bytes ?? 0));
}

function near(actual: number, expected: number, what: string): void {
  assert.ok(
    Math.abs(actual - expected) <= 0.002 * Math.max(expected, 1) + (expected > 1e6 ? 4096 : 0),
    `${what}: ${actual} for ${expected}`,
  );
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

/**
 * Weights that the last rank's partition of stages 1 and 2 touches, and whose gradients it holds whole
 * (`stage_1_and_2.py`, `copy_grads_in_partition`): the head, the last norm, and the last layer's down projection, of which
 * the partition takes a part.
 */
const HEAD = 32000 * 2048;
const LAST = HEAD + 2048 + 5632 * 2048;

describe('what sharding schemes hold', () => {
  const stages: readonly [number, number, number, number, number][] = [
    // stage, weights, gradients at the step, masters, states: bytes per parameter
    [0, 2, 2, 4, 8],
    [1, 2, (2 * LAST) / P, 4 / N, 8 / N],
    [2, 2, (2 * LAST) / P, 4 / N, 8 / N],
    [3, 2 / N, 2 / N, 4 / N, 8 / N],
  ];
  for (const [stage, weights, gradients, masters, states] of stages) {
    it(`ZeRO ${stage}`, () => {
      const e = zero(stage);
      near(atStep(e, 'weights'), weights * P, 'weights');
      near(atStep(e, 'gradients'), gradients * P, 'gradients');
      near(atStep(e, 'master-weights'), masters * P, 'masters');
      near(atStep(e, 'optimizer-states'), states * P, 'states');
    });
  }

  it('ZeRO casts its partition of the gradients to fp32 before it steps', () => {
    near(most(zero(0), 'optimizer-transients'), 4 * P, 'stage 0');
    // Below stage 3 the norm comes first, of one gradient at a time in fp64; the largest is the head's.
    near(most(zero(2), 'optimizer-transients'), 8 * HEAD, 'stage 2');
    near(most(zero(3), 'optimizer-transients'), (6 * P) / N, 'stage 3');
    const groups = zero(3, { 'zero.subGroup': 1_000_000 });
    near(most(groups, 'optimizer-transients'), 6 * 1_000_000, 'a sub-group at a time');
  });

  it('buckets are allocated whole, in elements of the low precision, twice where communication overlaps, and joined once more', () => {
    const bucket = 500_000_000;
    near(
      most(zero(2, { 'zero.reduceBucket': bucket }), 'communication-buffers'),
      (2 + 2) * bucket,
      'one, and what is sent',
    );
    const overlapping = zero(2, { 'zero.reduceBucket': bucket, 'zero.overlapCommunication': true });
    near(most(overlapping, 'communication-buffers'), (4 + 2) * bucket, 'two');
    // Stage 0 has none; it joins half a billion gradients at a time when backward is over (`engine.py`).
    near(most(zero(0, { 'zero.reduceBucket': 1 }), 'communication-buffers'), 2 * 500_000_000, 'stage 0');
  });

  it('buckets are there before the gradient of the loss until DeepSpeed 0.17.1, from then on with the first gradient', () => {
    const atLoss = (version: string) => {
      const e = zero(2, {
        'zero.reduceBucket': 500_000_000,
        'version.deepspeed': version,
        'batch.micro': 16,
      });
      const loss = e.timeline.find((s) => s.moment === 'backward');
      return loss?.parts.find((part) => part.category === 'communication-buffers')?.bytes ?? 0;
    };
    near(atLoss('0.17.1'), 2 * 500_000_000, 'before');
    assert.equal(atLoss('0.19.8'), 0);
  });

  it('stage 3 keeps small weights whole on every GPU', () => {
    const e = zero(3, { 'zero.persistenceThreshold': 2048 });
    const norms = (2 * 8 + 1) * 2048;
    near(atStep(e, 'weights'), (2 * P) / N + 2 * norms, 'weights');
  });

  it('optimizer offload moves masters and states to the host: 18 bytes per parameter over the node', () => {
    const e = zero(2, { 'offload.optimizer': 'cpu', 'offload.pinMemory': false });
    assert.equal(atStep(e, 'master-weights') + atStep(e, 'optimizer-states'), 0);
    // Every process stages its largest gradient, that of the head.
    const largest = 2 * 32000 * 2048 * N;
    near(e.host.bytesPerNode, 18 * P + largest, 'host: masters 4, states 8, gradients 4, staging 2');
    const twoNodes = zero(2, {
      'offload.optimizer': 'cpu',
      'offload.pinMemory': false,
      'loading.hostCopies': 'none',
      'hardware.gpus': 16,
      'hardware.nodes': 2,
    });
    near(twoNodes.host.bytesPerNode, (18 * P) / 2 + largest, 'each of two nodes holds half');
  });

  it('parameter offload leaves only what is gathered', () => {
    const e = zero(3, {
      'offload.optimizer': 'cpu',
      'offload.parameters': 'cpu',
      'offload.pinMemory': false,
    });
    assert.equal(atStep(e, 'weights'), 0);
    assert.ok(most(e, 'gathered-parameters') > 0);
    near(e.host.bytesPerNode, 20 * P, 'host');
  });

  it('ZeRO stages are not shrunk for frozen weights below 3', () => {
    const lora = { 'method.kind': 'lora', 'lora.targets': ['all-linear'] } as const;
    const second = zero(2, lora);
    const all = P + second.model.trainableParameters;
    near(atStep(second, 'weights'), 2 * all, 'base and adapters whole at stage 2');
    near(atStep(zero(3, lora), 'weights'), (2 * all) / N, 'all of it split at stage 3');
  });

  it('stage 3 casts gradients to the type of the masters, where that is another', () => {
    const low = { 'precision.masterWeights': 'bf16', 'precision.gradientAccumulation': 'bf16' } as const;
    near(
      most(zero(3, low), 'optimizer-transients'),
      (2 * P) / N,
      'bf16 masters are stepped with what was reduced',
    );
  });

  describe('bf16 weights of DeepSpeed without ZeRO', () => {
    const piped: RunValues = { 'parallel.pipeline': 2, 'hardware.gpus': 2 * N, 'batch.accumulation': 4 };
    const held = (values: RunValues) => {
      const e = zero(0, values);
      return { states: atStep(e, 'optimizer-states'), gradients: atStep(e, 'gradients'), e };
    };
    // Elements of the fullest stage of the pipeline: its weights are two bytes each.
    const elementsOf = (e: Estimate) => atStep(e, 'weights') / 2;

    it('are stepped by BF16_Optimizer under a pipeline: states in parts, gradients whole', () => {
      const now = held(piped);
      near(now.states, (8 * elementsOf(now.e)) / N, 'states');
      // The buffer, and the zeroed gradients of the weights.
      near(now.gradients, (2 + 2) * elementsOf(now.e), 'gradients accumulate in bf16');
      const wide = held({ ...piped, 'precision.gradientAccumulation': 'fp32' });
      near(wide.gradients, (4 + 2) * elementsOf(wide.e), 'gradients accumulate in fp32');
    });

    it('and before 0.18 without one, in fp32 unless stated otherwise', () => {
      const before = held({ 'version.deepspeed': '0.17.5' });
      near(before.states, (8 * P) / N, 'states');
      near(before.gradients, (4 + 2) * P, 'gradients');
      const since = held({ 'version.deepspeed': '0.18.0' });
      near(since.states, 8 * P, 'states, whole');
      near(since.gradients, 2 * P, 'gradients');
    });

    it('fp16 is stepped whole as ever', () => {
      const half = { 'precision.compute': 'fp16', 'precision.weights': 'fp16' } as const;
      near(held({ ...half, 'version.deepspeed': '0.17.5' }).states, 8 * P, 'states');
    });
  });

  describe('quantized weights under FSDP', () => {
    const quantized = (values: RunValues) =>
      atStep(
        of({
          'method.kind': 'lora',
          'lora.targets': ['all-linear'],
          'quantization.kind': 'nf4',
          'precision.weights': 'bf16',
          'precision.compute': 'bf16',
          'parallel.data': 'fsdp2',
          ...values,
        }),
        'quantized-weights',
      );
    const whole = quantized({ 'hardware.gpus': 1, 'parallel.data': 'none' });

    it("are whole with bitsandbytes' bytes, split but for their scales with its other storage, split with torchao", () => {
      near(quantized({ 'quantization.storage': 'uint8' }), whole, 'bitsandbytes, uint8');
      const linear = P - 2 * 32000 * 2048 - 17 * 2048;
      const scales = whole - linear / 2;
      near(quantized({ 'quantization.storage': 'bf16' }), linear / 2 / N + scales, 'bitsandbytes, bf16');
      // Every inner tensor of an NF4Tensor is split (`nf4tensor.py`, `nf4_split`).
      near(quantized({ 'model.code': 'torchtune' }), whole / N, 'torchao');
    });

    it('scales of bitsandbytes stay on the GPU where weights are offloaded', () => {
      const linear = P - 2 * 32000 * 2048 - 17 * 2048;
      const offloaded = quantized({ 'quantization.storage': 'bf16', 'offload.parameters': 'cpu' });
      near(offloaded, whole - linear / 2, 'scales');
      near(quantized({ 'model.code': 'torchtune', 'offload.parameters': 'cpu' }), 0, 'torchao');
    });
  });

  it('DDP holds buckets of every gradient, and gradients beside them unless they are views', () => {
    const ddp = { 'parallel.data': 'ddp' } as const;
    near(atStep(of(ddp), 'communication-buffers'), 4 * P, 'buckets');
    near(atStep(of(ddp), 'gradients'), 4 * P, 'gradients');
    const views = of({ ...ddp, 'ddp.gradientAsBucketView': true });
    near(atStep(views, 'communication-buffers'), 4 * P, 'buckets that the gradients are views of');
    assert.equal(atStep(views, 'gradients'), 0);
    assert.equal(atStep(of({ ...ddp, 'hardware.gpus': 1 }), 'communication-buffers'), 0);
  });

  for (const data of ['fsdp1', 'fsdp2'] as const) {
    it(`${data.toUpperCase()} with mixed precision: 16 bytes per parameter, split`, () => {
      const mixed: RunValues = {
        'precision.compute': 'bf16',
        'precision.scheme': 'fsdp',
        'parallel.data': data,
      };
      const e = of(mixed);
      near(atStep(e, 'weights'), (4 * P) / N, 'weights');
      near(atStep(e, 'gradients'), (4 * P) / N, 'gradients');
      near(atStep(e, 'optimizer-states'), (8 * P) / N, 'states');
      assert.equal(atStep(e, 'master-weights'), 0);
      const hybrid = of({ ...mixed, 'fsdp.strategy': 'hybrid', 'hardware.gpus': 16, 'hardware.nodes': 2 });
      near(atStep(hybrid, 'weights'), (4 * P) / 8, 'split inside a node only');
      const offloaded = of({ ...mixed, 'offload.parameters': 'cpu', 'offload.pinMemory': false });
      assert.equal(atStep(offloaded, 'weights') + atStep(offloaded, 'optimizer-states'), 0);
      near(offloaded.host.bytesPerNode, 16 * P, 'host');
    });

    it(`${data.toUpperCase()} keeps unsharded gradients while it accumulates without reducing`, () => {
      const values: RunValues = {
        'precision.compute': 'bf16',
        'precision.scheme': 'fsdp',
        'parallel.data': data,
        'batch.accumulation': 4,
      };
      const kept = most(of({ ...values, 'fsdp.syncEachBatch': false }), 'gradients');
      const synced = most(of({ ...values, 'fsdp.syncEachBatch': true }), 'gradients');
      assert.ok(kept >= 2 * P, `${kept}`);
      assert.ok(synced < kept / 2, `${synced}`);
    });
  }

  describe('accumulation under FSDP', () => {
    /** Bytes of gradients per parameter that lie there when the last micro step begins. */
    const kept = (values: RunValues) => {
      const e = of({
        'precision.compute': 'bf16',
        'precision.scheme': 'fsdp',
        'batch.accumulation': 4,
        'activations.reentrant': false,
        ...values,
      });
      const first = e.timeline.find((s) => s.moment === 'forward');
      return (first?.parts.find(({ category }) => category === 'gradients')?.bytes ?? 0) / P;
    };
    // What earlier micro batches left: fp32 shards where each reduces, whole 16-bit gradients where none does.
    const REDUCED = 4 / N;
    const WHOLE = 2;
    const cases: readonly (readonly [string, RunValues, number])[] = [
      [
        'FSDP 2 through Accelerate 1.10',
        { 'parallel.data': 'fsdp2', 'version.accelerate': '1.10.1' },
        REDUCED,
      ],
      ['FSDP 2 through Accelerate 1.11', { 'parallel.data': 'fsdp2', 'version.accelerate': '1.11.0' }, WHOLE],
      ['FSDP 1 through Accelerate', { 'parallel.data': 'fsdp1', 'version.accelerate': '1.10.1' }, WHOLE],
      ['torchtune', { 'parallel.data': 'fsdp2', 'model.code': 'torchtune' }, REDUCED],
      ['torchtitan', { 'parallel.data': 'fsdp2', 'model.code': 'torchtitan' }, REDUCED],
      ['litgpt', { 'parallel.data': 'fsdp1', 'model.code': 'litgpt' }, WHOLE],
    ];
    for (const [name, values, expected] of cases) {
      it(`${name}: ${expected === WHOLE ? 'whole gradients wait for the last' : 'each micro batch reduces its own'}`, () => {
        near(kept(values), expected, 'bytes per parameter');
        near(kept({ ...values, 'fsdp.syncEachBatch': true }), REDUCED, 'told to reduce');
        near(kept({ ...values, 'fsdp.syncEachBatch': false }), WHOLE, 'told not to');
      });
    }

    it('schedules of pipeline parallelism reduce with the last micro batch', () => {
      const values: RunValues = { 'parallel.data': 'fsdp2', 'model.code': 'torchtitan' };
      const piped = kept({ ...values, 'parallel.pipeline': 2, 'hardware.gpus': 16 });
      assert.ok(piped > 0.9, `${piped}`);
    });
  });

  it('tensor parallelism splits matrices and their states', () => {
    const whole = of({ 'hardware.gpus': 2, 'parallel.data': 'none' });
    const split = of({ 'hardware.gpus': 2, 'parallel.data': 'none', 'parallel.tensor': 2 });
    const norms = (2 * 8 + 1) * 2048;
    // transformers' plans leave an untied embedding whole.
    const unsplit = norms + 32000 * 2048;
    near(atStep(split, 'weights'), 4 * ((P - unsplit) / 2 + unsplit), 'weights');
    assert.ok(split.peak.allocatedBytes < whole.peak.allocatedBytes);
  });

  it('a pipeline splits layers; its first stage keeps the most micro batches', () => {
    const e = of({
      'hardware.gpus': 4,
      'parallel.data': 'none',
      'parallel.pipeline': 4,
      'batch.accumulation': 8,
    });
    const layer = (P - 2 * 32000 * 2048 - 2048) / 8;
    const first = 4 * (2 * layer + 32000 * 2048);
    const last = first + 4 * 2048;
    assert.ok(
      [first, last].some((bytes) => Math.abs(atStep(e, 'weights') - bytes) < 4096),
      `${atStep(e, 'weights')}`,
    );
  });

  const megatron: RunValues = {
    'model.code': 'megatron',
    'precision.scheme': 'megatron',
    'precision.compute': 'bf16',
    'precision.weights': 'bf16',
    'parallel.data': 'ddp',
    'parallel.distributedOptimizer': true,
  };
  it('a precision-aware optimizer keeps what bf16 weights lack, and copies no gradients', () => {
    const low: RunValues = { ...megatron, 'precision.gradientAccumulation': 'bf16' };
    const [plain, aware] = [of(low), of({ ...low, 'optimizer.precisionAware': true })];
    near(atStep(plain, 'master-weights'), (4 * P) / 8, 'main weights');
    near(atStep(aware, 'master-weights'), (2 * P) / 8, 'what is kept of them');
    near(atStep(plain, 'optimizer-transients'), (4 * P) / 8, 'copies of gradients');
    assert.equal(atStep(aware, 'optimizer-transients'), 0);
    assert.equal(atStep(aware, 'optimizer-states'), atStep(plain, 'optimizer-states'));
    const half = of({ ...low, 'optimizer.precisionAware': true, 'precision.masterWeights': 'fp16' });
    near(atStep(half, 'master-weights'), (2 * P) / 8, 'main weights in fp16');
    // Of fp8 only one recipe lets it, and which one this is no field states.
    const eight = { ...low, 'precision.fp8': 'transformer-engine' } as const;
    assert.equal(
      atStep(of({ ...eight, 'optimizer.precisionAware': true }), 'master-weights'),
      atStep(of(eight), 'master-weights'),
    );
  });

  for (const [what, values, sharing] of [
    ['context-parallel ranks share the distributed optimizer', { ...megatron, 'parallel.context': 4 }, 8],
    ['instances of it do not', { ...megatron, 'parallel.replicate': 2 }, 4],
    [
      'BF16_Optimizer partitions without ZeRO',
      {
        'precision.scheme': 'deepspeed',
        'precision.compute': 'bf16',
        'precision.weights': 'bf16',
        'precision.gradientAccumulation': 'fp32',
        'parallel.data': 'zero',
        'zero.stage': 0,
      },
      8,
    ],
    ['ZeRO 1', { 'parallel.data': 'zero', 'zero.stage': 1 }, 8],
    ['replicas do not', { 'parallel.data': 'ddp' }, undefined],
  ] as const) {
    it(`the formula of optimizer states divides by the GPUs that share them: ${what}`, () => {
      const part = of(values).parts.find(({ category }) => category === 'optimizer-states');
      assert.ok(part?.formula);
      const [, millions, bytes] = /^([\d.]+)M trainable parameters × ([\d.]+) bytes/.exec(part.formula) ?? [];
      const [, divisor] = / \/ (\d+) GPU/.exec(part.formula) ?? [];
      assert.equal(divisor, sharing === undefined ? undefined : String(sharing), part.formula);
      const stated = (Number(bytes) * Number(millions) * 1e6) / Number(divisor ?? 1);
      assert.ok(Math.abs(stated / part.bytes - 1) < 0.01, `${part.formula} = ${stated} for ${part.bytes}`);
    });
  }
});

describe('what surrounds the step', () => {
  it('asks a scheme what it does, never which it is', () => {
    const files = [
      'initialization',
      'evaluation',
      'saving',
      'rollout',
      'host-memory',
      'simulate',
      'whole-run',
    ];
    for (const file of files) {
      const source = readFileSync(`server/src/memory/${file}.ts`, 'utf8');
      assert.doesNotMatch(source, /'parallel\.data'|'zero\.stage'|isFsdp/, file);
    }
  });
});
