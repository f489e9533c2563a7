import assert from 'node:assert/strict';
import fc from 'fast-check';
import { estimate } from '../../../server/src/estimate';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, CARD } from '../../unit/memory/a-run';

const llama = (layers: number) => ({
  model_type: 'llama',
  hidden_size: 1024,
  num_hidden_layers: layers,
  num_attention_heads: 16,
  num_key_value_heads: 4,
  intermediate_size: 2816,
  vocab_size: 32000,
  hidden_act: 'silu',
  tie_word_embeddings: false,
  max_position_embeddings: 4096,
});

/** Runs of every scheme that this version shards; sizes small enough for any of them to be the peak. */
const runs: fc.Arbitrary<RunValues> = fc
  .record({
    micro: fc.integer({ min: 1, max: 8 }),
    sequence: fc.constantFrom(128, 512, 2048),
    accumulation: fc.constantFrom(1, 4),
    gpus: fc.constantFrom(1, 2, 8),
    scheme: fc.constantFrom('fp32', 'bf16', 'autocast', 'deepspeed', 'fsdp1', 'fsdp2'),
    stage: fc.constantFrom(0, 1, 2, 3),
    checkpointing: fc.constantFrom('none', 'full', 'selective'),
    reentrant: fc.boolean(),
    attention: fc.constantFrom('sdpa', 'eager'),
    lora: fc.boolean(),
    optimizer: fc.constantFrom('adamw', 'sgd', 'adamw-8bit', 'lion'),
    offload: fc.boolean(),
  })
  .map((r): RunValues => {
    const base: RunValues = {
      'batch.micro': r.micro,
      'batch.sequence': r.sequence,
      'batch.accumulation': r.accumulation,
      'hardware.gpus': r.gpus,
      'activations.checkpointing': r.checkpointing as 'none' | 'full' | 'selective',
      'activations.reentrant': r.reentrant,
      'attention.implementation': r.attention as 'sdpa' | 'eager',
      'method.kind': r.lora ? 'lora' : 'full',
      'lora.targets': ['all-linear'],
      'optimizer.name': r.optimizer as 'adamw' | 'sgd' | 'adamw-8bit' | 'lion',
      'zero.reduceBucket': 1_000_000,
    };
    const bf16 = { 'precision.weights': 'bf16', 'precision.compute': 'bf16' } as const;
    switch (r.scheme) {
      case 'bf16':
        return { ...base, ...bf16, 'parallel.data': r.gpus > 1 ? 'ddp' : 'none' };
      case 'autocast':
        return {
          ...base,
          'precision.compute': 'bf16',
          'precision.scheme': 'autocast',
          'parallel.data': 'ddp',
        };
      case 'deepspeed':
        return {
          ...base,
          ...bf16,
          'precision.scheme': 'deepspeed',
          'parallel.data': 'zero',
          'zero.stage': r.stage,
          'offload.optimizer': r.offload && r.stage > 0 ? 'cpu' : 'none',
        };
      case 'fsdp1':
      case 'fsdp2':
        return {
          ...base,
          ...bf16,
          'precision.scheme': 'fsdp',
          'parallel.data': r.scheme,
          'offload.parameters': r.offload ? 'cpu' : 'none',
        };
      default:
        return { ...base, 'parallel.data': r.gpus > 1 ? 'ddp' : 'none' };
    }
  });

/** Everything that the sharding schemes know, on at least two GPUs. Buckets are left out, whose size is the user's. */
const shardedRuns: fc.Arbitrary<RunValues> = fc
  .record({
    base: runs,
    gpus: fc.constantFrom(2, 4, 8, 16, 32),
    data: fc.constantFrom<('zero' | 'fsdp1' | 'fsdp2')[]>('zero', 'fsdp1', 'fsdp2'),
    stage: fc.constantFrom(1, 2, 3),
    mixed: fc.boolean(),
    reduce: fc.constantFrom<('fp32' | 'bf16')[]>('fp32', 'bf16'),
    strategy: fc.constantFrom<('full' | 'grad-op')[]>('full', 'grad-op'),
    wrap: fc.constantFrom<('layer' | 'none')[]>('layer', 'none'),
    ends: fc.boolean(),
    prefetch: fc.constantFrom<('pre' | 'post' | 'none')[]>('pre', 'post', 'none'),
    each: fc.boolean(),
    overlap: fc.boolean(),
    contiguous: fc.boolean(),
    reuse: fc.constantFrom(0, 10_000_000, 1_000_000_000),
    ahead: fc.constantFrom(0, 1_000_000, 50_000_000),
    live: fc.constantFrom(0, 30_000_000, 1_000_000_000),
    threshold: fc.constantFrom(0, 100_000),
    hpz: fc.constantFrom(1, 2),
    offload: fc.boolean(),
  })
  .map((r): RunValues => {
    const zero = r.data === 'zero';
    return {
      ...r.base,
      // Divided by every number of GPUs: FSDP 2 pads what is not.
      'lora.rank': 64,
      'precision.weights': 'bf16',
      'precision.compute': 'bf16',
      'precision.scheme': zero ? 'deepspeed' : r.mixed ? 'fsdp' : 'native',
      'precision.reduce': zero ? undefined : r.reduce,
      'parallel.data': r.data,
      'hardware.gpus': r.gpus,
      'hardware.nodes': 1,
      'lora.dtype': 'bf16',
      'zero.stage': r.stage,
      'zero.reduceBucket': 0,
      'zero.overlapCommunication': r.overlap,
      'zero.contiguousGradients': r.contiguous,
      'zero.maxReuseDistance': r.reuse,
      'zero.prefetchBucket': r.ahead,
      'zero.maxLiveParameters': r.live,
      'zero.persistenceThreshold': r.threshold,
      'zero.hpzPartition': r.hpz,
      'fsdp.strategy': r.strategy,
      'fsdp.wrap': r.wrap,
      'fsdp.separateEnds': r.ends,
      'fsdp.backwardPrefetch': r.prefetch,
      'fsdp.syncEachBatch': r.each,
      'offload.optimizer': zero && r.offload ? 'cpu' : 'none',
      'offload.parameters': (!zero || r.stage === 3) && r.offload ? 'cpu' : 'none',
    };
  });
const zeroRuns = shardedRuns.filter((values) => values['parallel.data'] === 'zero');
const fsdpRuns = shardedRuns.filter((values) => values['parallel.data'] !== 'zero');

const model = aModel(llama(4));
/** Deep enough that all of it is far more than what is gathered around the turn. */
const deep = aModel(llama(24));
const peak = (values: RunValues, of = model) =>
  estimate({ run: aRun(values), model: of, accelerator: CARD }).peak.allocatedBytes;
/** Rounding of blocks may differ by a few of them. */
const SLACK = 64 * 1024;

describe('what must hold of every run', () => {
  it('parts add up to the process at its peak, and none is negative', () => {
    fc.assert(
      fc.property(runs, (values) => {
        const e = estimate({ run: aRun(values), model, accelerator: CARD });
        assert.equal(
          e.parts.reduce((sum, part) => sum + part.bytes, 0),
          e.peak.processBytes,
        );
        for (const part of e.parts) assert.ok(part.bytes > 0 && Number.isInteger(part.bytes), part.category);
        for (const sample of e.timeline) for (const part of sample.parts) assert.ok(part.bytes > 0);
        assert.ok(e.peak.lowerBytes <= e.peak.processBytes && e.peak.processBytes <= e.peak.upperBytes);
      }),
    );
  });

  it('a smaller micro batch or sequence never needs more', () => {
    fc.assert(
      fc.property(runs, (values) => {
        const more = peak(values);
        const micro = values['batch.micro'] ?? 1;
        const sequence = values['batch.sequence'] ?? 1;
        if (micro > 1) assert.ok(peak({ ...values, 'batch.micro': micro - 1 }) <= more + SLACK);
        assert.ok(peak({ ...values, 'batch.sequence': sequence / 2 }) <= more + SLACK);
      }),
    );
  });

  it('checkpointing never needs more than keeping everything', () => {
    fc.assert(
      fc.property(runs, (values) => {
        const none = peak({ ...values, 'activations.checkpointing': 'none' });
        // One layer is recomputed in whole, so a model of one segment gains nothing: its input and output stay twice.
        const boundary = 4 * (values['batch.micro'] ?? 1) * (values['batch.sequence'] ?? 1) * 1024 * 4;
        // Adapters' checkpoints need a gradient of the embedded tokens, for which stage 3 keeps the embedding whole.
        const embedding =
          values['method.kind'] === 'lora' && values['zero.stage'] === 3 ? 32000 * 1024 * 2 : 0;
        assert.ok(peak({ ...values, 'activations.checkpointing': 'full' }) <= none + boundary + embedding);
      }),
    );
  });

  it('more GPUs never need more memory each where state is sharded, buckets apart', () => {
    fc.assert(
      fc.property(shardedRuns, (values) => {
        const twice = { ...values, 'hardware.gpus': 2 * (values['hardware.gpus'] ?? 2) };
        assert.ok(peak(twice) <= peak(values) + SLACK, `${peak(twice)} > ${peak(values)}`);
      }),
    );
  });

  it('a higher ZeRO stage never needs more, buckets and gathered weights apart', () => {
    fc.assert(
      fc.property(zeroRuns, fc.constantFrom(1, 2), (values, stage) => {
        const lower = peak({ ...values, 'zero.stage': stage });
        const higher = peak({
          ...values,
          'zero.stage': stage + 1,
          'zero.maxReuseDistance': 0,
          'zero.prefetchBucket': 0,
          'zero.hpzPartition': 1,
        });
        // Stage 2 measures offloaded gradients in fp64 on the GPU, one by one; stage 1 when all others are gone.
        const largest = 32000 * 1024 * (values['offload.optimizer'] === 'none' ? 2 : 2 + 8);
        assert.ok(higher <= lower + largest + SLACK, `${stage}: ${higher} > ${lower}`);
      }),
    );
  });

  it('what FSDP gives back in forward is never more than what it keeps', () => {
    fc.assert(
      fc.property(fsdpRuns, (values) => {
        const full = peak({ ...values, 'fsdp.strategy': 'full' }, deep);
        const kept = peak({ ...values, 'fsdp.strategy': 'grad-op' }, deep);
        // What is gathered twice at the turn, or ahead: FSDP2 holds a layer, its buffer and the one before.
        const layer = 4 * (2 * 1024 * 1024 + 2 * 1024 * 256 + 3 * 1024 * 2816);
        const embedding = 4 * 32000 * 1024;
        assert.ok(full <= kept + 3 * layer + embedding + SLACK, `${full} > ${kept}`);
      }),
    );
  });

  it('offload leaves no more on the GPU', () => {
    fc.assert(
      fc.property(shardedRuns, (values) => {
        const there = peak({ ...values, 'offload.parameters': 'none', 'offload.optimizer': 'none' });
        const fsdp = values['parallel.data'] !== 'zero';
        const away = peak(
          fsdp
            ? { ...values, 'offload.parameters': 'cpu' }
            : { ...values, 'offload.optimizer': 'cpu', 'zero.contiguousGradients': true },
        );
        // Offloaded gradients are measured in fp64 on the GPU, and pass through a buffer of the largest one's size.
        const largest = 32000 * 1024 * (2 + 8);
        assert.ok(away <= there + (fsdp ? 0 : largest) + SLACK, `${away} > ${there}`);
      }),
    );
  });

  it('frozen weights have no gradient and no state', () => {
    const run = aRun({
      'method.kind': 'lora',
      'lora.rank': 4,
      'lora.targets': ['q_proj'],
      'parallel.data': 'none',
    });
    const e = estimate({ run, model, accelerator: CARD });
    const states = e.parts.find((part) => part.category === 'optimizer-states')?.bytes ?? 0;
    assert.equal(states, 8 * e.model.trainableParameters);
    assert.equal(e.model.trainableParameters, 4 * 4 * (1024 + 1024));
  });

  it('depth costs nothing: the ends of a run of layers bound it', () => {
    fc.assert(
      fc.property(runs, (values) => {
        const run = aRun({ ...values, 'method.kind': 'full' });
        const whole = estimate({ run, model: deep, accelerator: CARD }).peak.allocatedBytes;
        // The same model with each layer a stage of its own: every layer is walked.
        const apart = {
          ...deep,
          stages: deep.stages.flatMap((stage) =>
            Array.from({ length: stage.count }, () => ({ ...stage, count: 1 })),
          ),
        };
        const every = estimate({ run, model: apart, accelerator: CARD }).peak.allocatedBytes;
        assert.equal(whole, every);
      }),
      { numRuns: 40 },
    );
  });
});
