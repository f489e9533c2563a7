import * as assert from 'node:assert/strict';
import { estimate, rankFigures } from '../../../server/src/estimate';
import { bytesOf, totalOf } from '../../../server/src/memory/ledger';
import {
  microBatchesInFlight,
  type PipelineStage,
  pipelineMemory,
  pipelineStages,
} from '../../../server/src/memory/pipeline';
import { layersPerChunk } from '../../../server/src/memory/pipeline-split';
import { type TracedStage, traceRun } from '../../../server/src/memory/traced-run';
import { ownWeights } from '../../../server/src/memory/weights';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, CARD, SMALL_LLAMA } from './a-run';

type Schedule = NonNullable<RunValues['parallel.pipelineSchedule']>;

/**
 * Micro batches held per rank and chunk at the fullest moment, counted over the orders that PyTorch 2.13 makes
 * (`torch/distributed/pipelining/schedules.py`, `pipeline_order`): from a forward to its whole backward, weight gradients
 * included.
 */
const ORDERS: readonly [Schedule, number, number, number, number[][]][] = [
  [
    'interleaved',
    2,
    2,
    2,
    [
      [2, 2],
      [2, 1],
    ],
  ],
  [
    'interleaved',
    2,
    3,
    8,
    [
      [3, 2, 2],
      [2, 2, 1],
    ],
  ],
  [
    'interleaved',
    4,
    2,
    2,
    [
      [2, 2],
      [2, 2],
      [2, 2],
      [2, 1],
    ],
  ],
  [
    'interleaved',
    4,
    2,
    8,
    [
      [7, 4],
      [5, 4],
      [4, 3],
      [4, 1],
    ],
  ],
  [
    'interleaved',
    4,
    3,
    12,
    [
      [7, 4, 4],
      [5, 4, 4],
      [4, 4, 3],
      [4, 4, 1],
    ],
  ],
  [
    'interleaved',
    8,
    2,
    64,
    [
      [15, 8],
      [13, 8],
      [11, 8],
      [9, 8],
      [8, 7],
      [8, 5],
      [8, 3],
      [8, 1],
    ],
  ],
  ['zero-bubble', 4, 1, 4, [[4], [4], [4], [4]]],
  [
    'zero-bubble',
    4,
    2,
    32,
    [
      [4, 4],
      [4, 4],
      [4, 4],
      [4, 4],
    ],
  ],
  ['zero-bubble', 4, 1, 2, [[2], [2], [2], [2]]],
  [
    'zbv',
    4,
    2,
    8,
    [
      [7, 1],
      [6, 2],
      [5, 3],
      [4, 4],
    ],
  ],
  [
    'zbv',
    4,
    2,
    4,
    [
      [4, 1],
      [4, 2],
      [4, 3],
      [4, 4],
    ],
  ],
  [
    'dualpipev',
    4,
    2,
    8,
    [
      [7, 1],
      [6, 2],
      [5, 3],
      [5, 4],
    ],
  ],
  [
    'dualpipev',
    2,
    2,
    8,
    [
      [3, 1],
      [3, 2],
    ],
  ],
  [
    'looped-bfs',
    2,
    2,
    8,
    [
      [8, 8],
      [8, 8],
    ],
  ],
];

describe('micro batches in flight', () => {
  for (const [schedule, p, v, m, expected] of ORDERS) {
    it(`${schedule}, ${p} stages of ${v}, ${m} micro batches: as PyTorch orders them`, () => {
      const run = aRun({
        'parallel.pipeline': p,
        'parallel.pipelineSchedule': schedule,
        'parallel.virtualStages': v,
        'batch.accumulation': m,
        'hardware.gpus': p,
      });
      assert.deepEqual(
        expected.map((_, index) => microBatchesInFlight(run, index)),
        expected,
      );
    });
  }

  it('1F1B holds one less per stage, and never more than there are', () => {
    const of = (m: number, index: number) =>
      microBatchesInFlight(aRun({ 'parallel.pipeline': 4, 'batch.accumulation': m }), index);
    assert.deepEqual(
      [0, 1, 2, 3].map((i) => of(16, i)),
      [[4], [3], [2], [1]],
    );
    assert.deepEqual(
      [0, 1, 2, 3].map((i) => of(2, i)),
      [[2], [2], [2], [1]],
    );
  });

  it('stages one after another hold one', () => {
    for (const m of [1, 2, 16])
      assert.deepEqual(
        microBatchesInFlight(
          aRun({
            'parallel.pipeline': 4,
            'parallel.pipelineSchedule': 'sequential',
            'batch.accumulation': m,
          }),
          0,
        ),
        [1],
      );
  });

  it('GPipe holds all', () => {
    const run = aRun({
      'parallel.pipeline': 4,
      'batch.accumulation': 16,
      'parallel.pipelineSchedule': 'gpipe',
    });
    assert.deepEqual(microBatchesInFlight(run, 3), [16]);
  });
});

describe('layers per pipeline stage', () => {
  const of = (layers: number, values: RunValues) =>
    layersPerChunk(aRun({ 'parallel.pipeline': 4, ...values }), layers);

  it('evenly, the first stages taking the remainder', () => {
    assert.deepEqual(of(32, {}), [8, 8, 8, 8]);
    assert.deepEqual(of(30, {}), [8, 8, 7, 7]);
  });

  it('with embedding and head counted as layers (Megatron account_for_*, torchtitan by default)', () => {
    assert.deepEqual(of(30, { 'parallel.embeddingLayers': 1, 'parallel.headLayers': 1 }), [7, 8, 8, 7]);
    // _generate_llm_fqn_per_model_part(4, 32, 1, 1) of torchtitan 0.3.0.
    assert.deepEqual(of(32, { 'model.code': 'torchtitan' }), [8, 9, 8, 7]);
  });

  it('with stated first and last stages, or all of them', () => {
    assert.deepEqual(of(30, { 'parallel.firstStageLayers': 7, 'parallel.lastStageLayers': 7 }), [7, 8, 8, 7]);
    assert.deepEqual(of(61, { 'parallel.lastStageLayers': 13 }), [16, 16, 16, 13]);
    assert.deepEqual(of(10, { 'parallel.stageLayers': ['1', '3', '4', '2'] }), [1, 3, 4, 2]);
  });

  it('over chunks in model order', () => {
    const values = { 'parallel.pipelineSchedule': 'interleaved', 'parallel.virtualStages': 2 } as const;
    assert.deepEqual(of(32, values), [4, 4, 4, 4, 4, 4, 4, 4]);
    assert.deepEqual(of(28, { ...values, 'parallel.firstStageLayers': 4 }), [2, 4, 4, 4, 2, 4, 4, 4]);
  });

  it('never fewer than none', () => {
    for (const layers of [1, 2, 3, 5]) {
      const counts = of(layers, { 'model.code': 'torchtitan' });
      assert.ok(counts.every((count) => count >= 0));
      assert.equal(
        counts.reduce((sum, count) => sum + count, 0),
        layers,
      );
    }
  });
});

describe('pipeline stages', () => {
  const model = aModel(SMALL_LLAMA);
  const base: RunValues = {
    'hardware.gpus': 4,
    'parallel.pipeline': 4,
    'batch.accumulation': 16,
    'precision.weights': 'bf16',
    'precision.compute': 'bf16',
  };
  const stagesOf = (values: RunValues, of = model) => {
    const run = aRun({ ...base, ...values });
    return { run, stages: pipelineStages(traceRun(of, run), run) };
  };

  it('looks at the first, the fullest between and the last', () => {
    assert.deepEqual(
      stagesOf({}).stages.map((s) => s.index),
      [0, 1, 3],
    );
    // The third stage has fewer micro batches, but more layers, and more of them in flight.
    assert.deepEqual(
      stagesOf({ 'parallel.stageLayers': ['2', '1', '4', '1'] }).stages.map((s) => s.index),
      [0, 2, 3],
    );
  });

  it('looks at few stages of many', () => {
    const many = aModel({ ...SMALL_LLAMA, num_hidden_layers: 128 });
    for (const schedule of ['1f1b', 'interleaved', 'zero-bubble', 'zbv', 'dualpipev'] as const) {
      const { stages } = stagesOf(
        {
          'parallel.pipeline': 32,
          'hardware.gpus': 32,
          'batch.accumulation': 64,
          'parallel.pipelineSchedule': schedule,
          'parallel.virtualStages': schedule === 'interleaved' ? 2 : 1,
        },
        many,
      );
      assert.ok(stages.length <= 4, `${schedule}: ${stages.map((stage) => stage.index)}`);
    }
  });

  it('cuts every weight to one stage, and copies a tied one to both ends', () => {
    const count = (tied: boolean) => {
      const of = aModel({ ...SMALL_LLAMA, tie_word_embeddings: tied });
      const { stages } = stagesOf({ 'parallel.stageLayers': ['2', '2', '2', '2'] }, of);
      return stages.map((s) =>
        s.stages.reduce(
          (sum, t) => sum + t.copies * ownWeights(t).reduce((all, w) => all + w.localElements, 0),
          0,
        ),
      );
    };
    const layer = 4 * 2048 * 2048 + 3 * 2048 * 5632 + 2 * 2048;
    const table = 32000 * 2048;
    assert.deepEqual(count(false), [table + 2 * layer, 2 * layer, table + 2 * layer + 2048]);
    assert.deepEqual(count(true), count(false));
  });

  it('holds what the other micro batches in flight keep, and nothing of it when the optimizer steps', () => {
    const { run, stages } = stagesOf({});
    const [first, second] = stages;
    assert.ok(first && second);
    const a = pipelineMemory(first, run);
    const b = pipelineMemory(second, run);
    assert.equal(totalOf(a.always), 0);
    // Two layers each: three others at the first stage, two and the received inputs at the second.
    const kept = bytesOf(b.throughout, 'activations');
    const hidden = 1024 * 2048 * 2;
    assert.equal(bytesOf(b.throughout, 'communication-buffers'), 3 * hidden);
    assert.ok(Math.abs(bytesOf(a.throughout, 'activations') / 3 - kept / 2) < 3 * hidden);
    const step = estimate({ run, model, accelerator: CARD }).timeline.find(
      (s) => s.moment === 'optimizer-step',
    );
    assert.ok(step?.parts.every((part) => part.category !== 'activations'));
  });

  it('PyTorch has a receive buffer for every micro batch and direction', () => {
    const { run, stages } = stagesOf({
      'model.code': 'torchtitan',
      'parallel.stageLayers': ['2', '2', '2', '2'],
    });
    const hidden = 1024 * 2048 * 2;
    assert.deepEqual(
      stages.map((s) => bytesOf(pipelineMemory(s, run).always, 'communication-buffers')),
      [16 * hidden, 32 * hidden, 16 * hidden],
    );
  });

  describe('fp8 copies of weights (Transformer Engine)', () => {
    const fp8: RunValues = { 'precision.fp8': 'transformer-engine', 'precision.scheme': 'megatron' };
    const layer = 2 * (4 * 2048 * 2048 + 3 * 2048 * 5632);
    /** Bytes that pipelining adds on a stage, with and without those copies. */
    const added = (values: RunValues, index: number) => {
      const { run, stages } = stagesOf({ ...fp8, ...values });
      const stage = stages.find((s) => s.index === index);
      assert.ok(stage);
      const bare = new Map<TracedStage, TracedStage>();
      const without = (traced: TracedStage) => {
        const known = bare.get(traced);
        if (known) return known;
        const operations = traced.tape.operations.map((operation) => ({
          ...operation,
          saves: operation.saves.filter(({ name }) => !name.endsWith('.weight.fp8')),
        }));
        const made = { ...traced, tape: { ...traced.tape, operations } };
        bare.set(traced, made);
        return made;
      };
      const chunks = stage.chunks.map((chunk) => ({ ...chunk, stages: chunk.stages.map(without) }));
      const walked = chunks[stage.chunks.indexOf(stage.walked)];
      assert.ok(walked);
      const of = (s: PipelineStage) => bytesOf(pipelineMemory(s, run).throughout, 'activations');
      return { all: of(stage), bare: of({ ...stage, chunks, walked }) };
    };

    it('are there once, however many micro batches are in flight', () => {
      for (const accumulation of [1, 2, 16]) {
        const { all, bare } = added({ 'batch.accumulation': accumulation }, 0);
        assert.equal(all, bare, `${accumulation}`);
        if (accumulation > 1) assert.ok(bare > 0);
      }
      const selective = added({ 'activations.checkpointing': 'selective' }, 0);
      assert.equal(selective.all, selective.bare);
    });

    it('and once in each chunk of an interleaved schedule', () => {
      const { all, bare } = added(
        { 'parallel.pipelineSchedule': 'interleaved', 'parallel.virtualStages': 2 },
        0,
      );
      assert.equal(all - bare, layer);
    });

    it('raise the peak by themselves, not by a multiple', () => {
      const peak = (values: RunValues) => {
        const run = aRun({ ...base, 'precision.scheme': 'megatron', ...values });
        return estimate({ run, model, accelerator: CARD }).peak.allocatedBytes;
      };
      const more = peak(fp8) - peak({});
      assert.ok(more < 2 * layer, `${more}`);
    });
  });

  it('Megatron frees a result once it is sent', () => {
    const kept = (values: RunValues) => {
      const { run, stages } = stagesOf(values);
      return stages[0] ? bytesOf(pipelineMemory(stages[0], run).throughout, 'activations') : 0;
    };
    const hidden = 1024 * 2048 * 2;
    const megatron = { 'precision.scheme': 'megatron' } as const;
    assert.equal(kept({}) - kept(megatron), 3 * hidden);
  });

  it('more stages never need more on a GPU, buffers of received inputs apart', () => {
    const peak = (p: number, values: RunValues = {}) => {
      const run = aRun({
        ...base,
        'hardware.gpus': p,
        'parallel.pipeline': p,
        'optimizer.implementation': 'fused',
        ...values,
      });
      const found = estimate({ run, model, accelerator: CARD });
      const buffers = found.parts.find((part) => part.category === 'communication-buffers')?.bytes ?? 0;
      return found.peak.allocatedBytes - buffers;
    };
    assert.ok(peak(2) <= peak(1));
    assert.ok(peak(4) <= peak(2));
    assert.ok(peak(8) <= peak(4));
    const v = { 'parallel.pipelineSchedule': 'zbv' } as const;
    assert.ok(peak(4, v) <= peak(2, v));
  });

  it('names the rank of the worst stage', () => {
    const found = (values: RunValues) =>
      estimate({ run: aRun({ ...base, ...values }), model, accelerator: CARD }).peak.rank;
    assert.equal(
      found({ 'parallel.stageLayers': ['1', '1', '5', '1'], 'optimizer.implementation': 'foreach' }),
      2,
    );
    assert.equal(found({ 'hardware.gpus': 16, 'parallel.stageLayers': ['1', '5', '1', '1'] }), 4);
  });

  it('plays every schedule with fewer micro batches than stages', () => {
    for (const schedule of [
      '1f1b',
      'gpipe',
      'interleaved',
      'looped-bfs',
      'zero-bubble',
      'zbv',
      'dualpipev',
    ] as const) {
      const run = aRun({
        ...base,
        'batch.accumulation': 1,
        'parallel.pipelineSchedule': schedule,
        'parallel.virtualStages': 2,
      });
      const { peak, timeline } = estimate({ run, model, accelerator: CARD });
      assert.ok(Number.isFinite(peak.allocatedBytes) && peak.allocatedBytes > 0, schedule);
      assert.ok(timeline.every((sample) => sample.parts.every((part) => part.bytes >= 0)));
    }
  });

  it('names GPUs that there are for every stage, with fewer layers or GPUs than stages too', () => {
    for (const stages of [2, 3, 8, 13]) {
      for (const gpus of [1, 2, 8, 13]) {
        const run = aRun({ ...base, 'hardware.gpus': gpus, 'parallel.pipeline': stages });
        let next = 0;
        for (const { first, last, allocatedBytes } of rankFigures({ run, model, accelerator: CARD })) {
          assert.ok(first >= next && last >= first, `${stages} stages, ${gpus} GPUs: ${first} to ${last}`);
          assert.ok(allocatedBytes > 0);
          next = last + 1;
        }
        assert.ok(next > 0);
      }
    }
  });
});
