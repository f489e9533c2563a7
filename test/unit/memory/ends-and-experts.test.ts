import assert from 'node:assert/strict';
import { largestUnit, wrappedUnits } from '../../../server/src/memory/fsdp/units';
import { bytesOf, emptyLedger, type Ledger } from '../../../server/src/memory/ledger';
import { shardingOf } from '../../../server/src/memory/sharding';
import { wrapsEndsApart } from '../../../server/src/memory/sharding-scheme';
import { traceRun } from '../../../server/src/memory/traced-run';
import { sumWeights } from '../../../server/src/memory/weights';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, SMALL_LLAMA } from './a-run';

const FSDP2: RunValues = {
  'hardware.gpus': 8,
  'parallel.data': 'fsdp2',
  'precision.weights': 'bf16',
  'precision.compute': 'bf16',
  'precision.scheme': 'fsdp',
  'lora.dtype': 'bf16',
};

describe('what FSDP wraps beside the layers', () => {
  it('lies apart from the root in Accelerate from 1.14 on, under FSDP 2', () => {
    const apart = (values: RunValues) => wrapsEndsApart(aRun({ ...FSDP2, ...values }));
    assert.equal(apart({ 'version.accelerate': '1.13.0' }), false);
    assert.equal(apart({ 'version.accelerate': '1.14.0' }), true);
    assert.equal(apart({ 'version.accelerate': '1.14.0', 'parallel.data': 'fsdp1' }), false);
    assert.equal(apart({ 'version.accelerate': '1.14.0', 'model.code': 'torchtune' }), false);
    assert.equal(apart({ 'version.accelerate': '1.13.0', 'fsdp.separateEnds': true }), true);
  });

  it('is gathered from the beginning only as the root', () => {
    const started = (version: string) => {
      const run = aRun({ ...FSDP2, 'version.accelerate': version });
      const stages = traceRun(aModel(SMALL_LLAMA), run);
      const plan = shardingOf(run, sumWeights(stages, run), stages).plan?.(stages);
      return bytesOf(plan?.start ?? emptyLedger(), 'gathered-parameters');
    };
    // Embedding, head and last norm, in bf16.
    assert.equal(started('1.13.0'), 2 * (2 * 32000 * 2048 + 2048));
    assert.ok(started('1.14.0') <= 2 * 2048);
  });
});

describe('FSDP 2 around the loss', () => {
  const plans = (values: RunValues, config: Record<string, unknown> = SMALL_LLAMA) => {
    const run = aRun({ ...FSDP2, ...values });
    const stages = traceRun(aModel(config), run);
    const plan = shardingOf(run, sumWeights(stages, run), stages).plan(stages);
    const head = stages.at(-1);
    const own = head && plan.stages.get(head);
    assert.ok(own);
    const { unsharded: layer = 0 } =
      plan.stages.get(stages.find(({ stage }) => stage.role === 'layer') ?? head) ?? {};
    const bytes = (ledger: Ledger) => bytesOf(ledger, 'gathered-parameters');
    const passes = { forward: own.forward(0, 1), backward: own.backward(0, 1) };
    const { forward, backward } = passes;
    return {
      forward: bytes(forward.during),
      loss: forward.otherHalf && bytes(forward.otherHalf.during),
      backward: bytes(backward.during),
      lossBackward: backward.otherHalf && bytes(backward.otherHalf.during),
      enters: backward.otherHalf && bytes(backward.otherHalf.enters),
      layer,
    };
  };
  const HEAD = 2 * (32000 * 2048 + 2048);

  it('keeps its last all-gather where the loss is inside the root, and lets go of it before a loss outside', () => {
    const inside = { 'model.code': 'transformers', 'version.accelerate': '1.14' } as const;
    const outside = { 'model.code': 'torchtitan', 'fsdp.separateEnds': true } as const;
    assert.equal(plans(inside).forward, 2 * HEAD);
    assert.deepEqual([plans(outside).forward, plans(outside).loss], [2 * HEAD, HEAD]);
    // Resharded always, nothing of it is there while the loss is taken.
    assert.equal(plans({ ...outside, 'fsdp.reshardsEnds': true }).loss, 0);
    // Where the head belongs to the root, the last layer's buffer is what stays.
    const root = { 'model.code': 'transformers', 'version.accelerate': '1.13' } as const;
    const { forward, layer } = plans(root);
    assert.ok(layer > 0);
    assert.equal(forward, layer);
    // torchtune's root gives back all that it has: the level holds it, and the loss is without.
    const tune = plans({ 'model.code': 'torchtune' });
    assert.deepEqual([tune.forward, tune.loss], [layer, -2 * 2 * 32000 * 2048 - 2 * 2048]);
  });

  it('fetches the last layer ahead of the loss only from a root with weights that the loss is in', () => {
    const root = plans({ 'version.accelerate': '1.13', 'fsdp.reshardsEnds': false });
    assert.equal(root.backward, root.layer);
    // Outside, the root is gathered when the gradient of the logits is there, with a buffer as large; then the layer is fetched.
    const tune = plans({ 'model.code': 'torchtune' });
    const whole = 2 * 2 * 32000 * 2048 + 2 * 2048;
    assert.deepEqual([tune.lossBackward, tune.enters, tune.backward], [0, 2 * whole, whole + tune.layer]);
    const tied = { ...SMALL_LLAMA, tie_word_embeddings: true };
    assert.equal(plans({ 'version.accelerate': '1.14' }, tied).backward, 0);
    const shared = plans({ 'version.accelerate': '1.13', 'fsdp.reshardsEnds': false }, tied);
    assert.equal(shared.backward, shared.layer);
  });
});

describe('frozen experts that are split over GPUs', () => {
  it('are shared by as many fewer', () => {
    const config = {
      ...SMALL_LLAMA,
      model_type: 'mixtral',
      num_key_value_heads: 8,
      num_local_experts: 8,
      num_experts_per_tok: 2,
    };
    for (const scheme of ['fsdp2', 'zero'] as const) {
      const run = aRun({
        ...FSDP2,
        'parallel.data': scheme,
        'zero.stage': 3,
        'zero.persistenceThreshold': 0,
        'precision.scheme': scheme === 'zero' ? 'deepspeed' : 'fsdp',
        'parallel.expert': 4,
        'method.kind': 'lora',
        'lora.targets': ['q_proj'],
      });
      const stages = traceRun(aModel(config), run);
      const sums = sumWeights(stages, run);
      assert.ok(sums.expertFrozen > 0.5 * sums.frozen);
      const trained = scheme === 'zero' ? 2 : 4;
      const expected =
        (trained * sums.trained + 2 * (sums.frozen - sums.expertFrozen)) / 8 + (2 * sums.expertFrozen) / 2;
      assert.equal(bytesOf(shardingOf(run, sums, stages).atRest, 'weights'), expected);
    }
  });
});

describe("adapters of Megatron's experts", () => {
  it('are split as the experts are, lie in the type of the weights, and have one module for gate and up', () => {
    const config = {
      ...SMALL_LLAMA,
      model_type: 'mixtral',
      num_hidden_layers: 2,
      num_key_value_heads: 8,
      num_local_experts: 8,
      num_experts_per_tok: 2,
    };
    const run = aRun({
      'hardware.gpus': 8,
      'parallel.data': 'ddp',
      'parallel.distributedOptimizer': true,
      'parallel.expert': 4,
      'parallel.expertTensor': 1,
      'precision.weights': 'bf16',
      'precision.compute': 'bf16',
      'precision.scheme': 'megatron',
      'model.code': 'megatron',
      'method.kind': 'lora',
      'lora.rank': 4,
      'lora.targets': ['all-linear'],
      'lora.dtype': 'fp32',
      'version.transformers': '4.57',
      'optimizer.name': 'adamw',
    });
    const stages = traceRun(aModel(config), run);
    const sums = sumWeights(stages, run);
    // Two layers of two experts here: 2048 to 2 x 5632 and 5632 to 2048, of rank 4.
    const experts = 2 * 2 * 4 * (2048 + 2 * 5632 + 5632 + 2048);
    assert.equal(sums.expertTrained, experts);
    const { atRest } = shardingOf(run, sums, stages);
    assert.equal(bytesOf(atRest, 'adapters'), 2 * sums.trained);
    // Eight GPUs hold the others' copies, two an expert's.
    assert.equal(bytesOf(atRest, 'master-weights'), 4 * ((sums.trained - experts) / 8 + experts / 2));
  });
});

describe('FSDP 2 splits the first dimension of a weight and pads', () => {
  const mixtral = {
    ...SMALL_LLAMA,
    model_type: 'mixtral',
    num_key_value_heads: 8,
    num_local_experts: 8,
    num_experts_per_tok: 2,
  };
  const atRest = (values: RunValues) => {
    const run = aRun({ ...FSDP2, 'version.transformers': '5.23', ...values });
    const stages = traceRun(aModel(mixtral), run);
    return { run, stages, rest: shardingOf(run, sumWeights(stages, run), stages).atRest };
  };
  /** Elements of the first rank: of each weight as many rows as `torch.chunk` gives it (`_chunk_with_empty`). */
  const firstRank = (stages: ReturnType<typeof traceRun>, gpus: number) => {
    let elements = 0;
    for (const { tape, copies } of stages)
      for (const { shape } of tape.weights) {
        const [rows = 1, ...rest] = shape;
        elements += copies * Math.ceil(rows / gpus) * rest.reduce((product, size) => product * size, 1);
      }
    return elements;
  };

  for (const gpus of [8, 12, 32]) {
    it(`so a stack of 8 experts comes down to one expert on ${gpus} GPUs`, () => {
      const { stages, rest } = atRest({ 'hardware.gpus': gpus });
      const elements = firstRank(stages, gpus);
      const near = (actual: number, expected: number) =>
        assert.ok(Math.abs(actual / expected - 1) < 1e-9, `${actual} for ${expected}`);
      near(bytesOf(rest, 'weights'), 4 * elements);
      near(bytesOf(rest, 'optimizer-states'), 8 * elements);
      const experts = 8 * 8 * 3 * 2048 * 5632;
      assert.ok(elements >= experts / 8);
    });
  }

  it('gathers and scatters the padding too', () => {
    const { run, stages } = atRest({ 'hardware.gpus': 32 });
    const plan = shardingOf(run, sumWeights(stages, run), stages).plan(stages);
    const layer = stages.find(({ stage }) => stage.role === 'layer');
    assert.ok(layer);
    let whole = 0;
    for (const { shape } of layer.tape.weights) {
      const [rows = 1, ...rest] = shape;
      whole += 32 * Math.ceil(rows / 32) * rest.reduce((product, size) => product * size, 1);
    }
    // In the last backward the input of the reduce-scatter stands beside the gathered weights.
    const { unsharded = 0, reduced = 0 } = plan.stages.get(layer) ?? {};
    assert.equal(unsharded, 2 * whole);
    assert.equal(reduced, 2 * whole);
  });

  it('is no limit to experts of linear layers each, to torchtitan, nor to FSDP 1', () => {
    const experts = (8 * 8 * 3 * 2048 * 5632) / 8;
    for (const values of [
      { 'version.transformers': '4.57' },
      { 'model.code': 'torchtitan' },
      { 'parallel.data': 'fsdp1' },
    ] as const) {
      const { rest } = atRest({ 'hardware.gpus': 32, ...values });
      assert.ok(bytesOf(rest, 'weights') < 4 * experts, JSON.stringify(values));
    }
  });

  it('is the same for the step, for loading and for saving', () => {
    const wrapped = (values: RunValues, config = SMALL_LLAMA) => {
      const run = aRun({ ...FSDP2, 'version.accelerate': '1.13.0', ...values });
      const stages = traceRun(aModel(config), run);
      const { units, root } = wrappedUnits(stages, run);
      return {
        units: units.map(({ stage }) => stage.stage.role),
        root: root.map(({ stage, copies }) => `${copies} ${stage.stage.role}`),
        largest: largestUnit(run, stages, 1),
      };
    };
    const all = 2 * 32000 * 2048 + 2048;
    const plain = wrapped({});
    assert.deepEqual(new Set(plain.units), new Set(['layer']));
    assert.equal(plain.largest, all);
    const apart = wrapped({ 'fsdp.separateEnds': true });
    assert.ok(apart.units.length > plain.units.length);
    assert.ok(apart.largest < all);
    // Ends that share a weight are one unit, which the root is taken for.
    const tied = wrapped({ 'fsdp.separateEnds': true }, { ...SMALL_LLAMA, tie_word_embeddings: true });
    assert.deepEqual(new Set(tied.units), new Set(['layer']));
    assert.equal(tied.largest, 32000 * 2048 + 2048);
    // Nothing is wrapped but the whole model.
    const whole = wrapped({ 'fsdp.wrap': 'none' });
    assert.deepEqual(whole.units, []);
    assert.ok(whole.root.some((words) => words.endsWith('layer')) && whole.largest > all);
  });
});

describe('experts that are whole on their GPU', () => {
  it('are gathered by FSDP 2 all the same, unless they are left out of it', () => {
    const mixtral = {
      ...SMALL_LLAMA,
      model_type: 'mixtral',
      num_key_value_heads: 8,
      num_local_experts: 8,
      num_experts_per_tok: 2,
    };
    const gathered = (values: RunValues) => {
      const run = aRun({ ...FSDP2, 'version.transformers': '5.23', 'parallel.expert': 8, ...values });
      const stages = traceRun(aModel(mixtral), run);
      const layer = stages.find(({ stage }) => stage.role === 'layer');
      assert.ok(layer);
      const plan = shardingOf(run, sumWeights(stages, run), stages).plan(stages);
      return plan.stages.get(layer)?.unsharded ?? 0;
    };
    // One expert of eight on each GPU, in bf16.
    const experts = 2 * 3 * 2048 * 5632;
    const within = gathered({});
    const apart = gathered({ 'fsdp.gathersWholeExperts': false });
    assert.equal(within - apart, experts);
    // With copies to share they are wrapped either way.
    const shared = { 'parallel.expert': 4 } as const;
    assert.equal(gathered(shared), gathered({ ...shared, 'fsdp.gathersWholeExperts': false }));
  });
});
