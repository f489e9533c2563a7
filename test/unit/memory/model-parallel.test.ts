import * as assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { estimate } from '../../../server/src/estimate';
import { bytesOf, emptyLedger, totalOf } from '../../../server/src/memory/ledger';
import { pipelineStages } from '../../../server/src/memory/pipeline';
import { playForward, rounded, savedStorages } from '../../../server/src/memory/play';
import { playBackward } from '../../../server/src/memory/play-backward';
import { segmentOf } from '../../../server/src/memory/segment';
import { shardingOf } from '../../../server/src/memory/sharding';
import { walkStep } from '../../../server/src/memory/step';
import { type TracedStage, traceRun } from '../../../server/src/memory/traced-run';
import { sumWeights } from '../../../server/src/memory/weights';
import type { RunValues } from '../../../server/src/run/fields';
import { runs } from '../long';
import { aModel, aRun, CARD } from './a-run';

/** GPT of Korthikanti et al. 2022 in small: h 1024, a 16, s 2048, b 2, tanh GELU, dropout everywhere. */
const GPT = {
  model_type: 'gpt2',
  n_embd: 1024,
  n_layer: 4,
  n_head: 16,
  n_positions: 2048,
  vocab_size: 51200,
  activation_function: 'gelu_new',
  resid_pdrop: 0.1,
  embd_pdrop: 0.1,
  attn_pdrop: 0.1,
};
const MEGATRON: RunValues = {
  'model.code': 'megatron',
  'precision.scheme': 'megatron',
  'precision.compute': 'fp16',
  'attention.implementation': 'eager',
  'batch.micro': 2,
  'batch.sequence': 2048,
  'hardware.gpus': 8,
};
const LLAMA = {
  model_type: 'llama',
  hidden_size: 2048,
  num_hidden_layers: 4,
  num_attention_heads: 16,
  num_key_value_heads: 8,
  intermediate_size: 5632,
  vocab_size: 32000,
  hidden_act: 'silu',
  tie_word_embeddings: false,
};

function layerOf(model: Record<string, unknown>, values: RunValues): TracedStage {
  const layer = traceRun(aModel(model), aRun(values)).find((t) => t.stage.role === 'layer');
  assert.ok(layer);
  return layer;
}

/** Bytes that a layer in the middle of the model keeps: saved storages, its own input included, not its output. */
function keptBy(layer: TracedStage): number {
  let bytes = 0;
  for (const storage of savedStorages(layer.tape)) bytes += rounded(storage.bytes);
  return bytes;
}

describe('activations of a Megatron GPT layer (Korthikanti et al. 2022, table 2)', () => {
  const [s, b, h, a] = [2048, 2, 1024, 16];
  const sbh = s * b * h;
  const scores = (5 * a * s) / h;
  /** Mean and deviation of two norms, fp32, which the paper leaves out. */
  const statistics = (t: number) => (2 * 2 * 4 * s * b) / t;
  const kept = (values: RunValues) => keptBy(layerOf(GPT, { ...MEGATRON, ...values }));

  it('no parallelism: sbh (34 + 5 as / h)', () => {
    assert.equal(kept({}), sbh * (34 + scores) + statistics(1));
  });

  for (const t of [2, 4, 8]) {
    it(`tensor parallel ${t}: sbh (10 + 24 / t + 5 as / (h t))`, () => {
      assert.equal(kept({ 'parallel.tensor': t }), sbh * (10 + (24 + scores) / t) + statistics(1));
    });

    it(`tensor and sequence parallel ${t}: sbh / t (34 + 5 as / h)`, () => {
      assert.equal(
        kept({ 'parallel.tensor': t, 'parallel.sequence': true }),
        (sbh * (34 + scores)) / t + statistics(t),
      );
    });
  }

  it('sequence parallelism alone does nothing', () => {
    assert.equal(kept({ 'parallel.sequence': true }), kept({}));
  });
});

describe('recomputation in Megatron (Korthikanti et al. 2022, section 5)', () => {
  const [s, b, h] = [2048, 2, 1024];
  const sbh = s * b * h;
  const t = 4;
  /** What a layer leaves for its backward, its result in place of its input. */
  const left = (values: RunValues, model: Record<string, unknown> = GPT) => {
    const run = aRun({ ...MEGATRON, 'parallel.tensor': t, 'parallel.sequence': true, ...values });
    const layers = traceRun(aModel(model), run).filter((traced) => traced.stage.role === 'layer');
    const layer = layers.at(-1);
    assert.ok(layer);
    return totalOf(segmentOf(layer, run, 'pass').forward.exit);
  };
  const selective = { 'activations.checkpointing': 'selective' } as const;
  const statistics = (2 * 2 * 4 * s * b) / t;

  it('selective: 34 sbh / t', () => {
    assert.equal(left(selective), (34 * sbh) / t + statistics);
  });

  it('selective without sequence parallelism: sbh (10 + 24 / t)', () => {
    assert.equal(left({ ...selective, 'parallel.sequence': false }), sbh * (10 + 24 / t) + 4 * statistics);
  });

  it('full: the input of each layer', () => {
    const full = { 'activations.checkpointing': 'full' } as const;
    assert.equal(left({ ...full, 'parallel.sequence': false }), 2 * sbh);
    assert.equal(left(full), (2 * sbh) / t);
    assert.equal(
      left({ ...full, 'parallel.sequence': false, 'activations.distributed': true }),
      (2 * sbh) / t,
    );
  });

  it('modules: of the MLP its input stays, of norms nothing but theirs', () => {
    const scores = (5 * 16 * s) / h;
    const none = ((34 + scores) * sbh) / t + statistics;
    assert.equal(left({}), none);
    // GELU input and result, 8 sbh each.
    assert.equal(left({ ...selective, 'activations.modules': ['mlp'] }), none - (16 * sbh) / t);
    assert.equal(
      left({ ...selective, 'activations.modules': ['layernorm'] }),
      none - (4 * sbh) / t - statistics,
    );
    assert.equal(
      left({ ...selective, 'activations.modules': ['core_attn', 'mlp'] }),
      none - ((16 + scores) * sbh) / t,
    );
    assert.equal(left({ ...selective, 'activations.modules': ['moe', 'moe_act'] }), none);
  });

  it('block: the first layers of a stage are checkpointed, the others keep all', () => {
    const kept = (layers: number) => {
      const run = aRun({ ...MEGATRON, 'activations.checkpointing': 'full', 'activations.layers': layers });
      const [stage] = pipelineStages(traceRun(aModel(GPT), run), run);
      return stage?.stages
        .filter((traced) => traced.stage.role === 'layer')
        .map((x) => [x.copies, x.whole === true]);
    };
    assert.deepEqual(kept(3), [
      [3, false],
      [1, true],
    ]);
    assert.deepEqual(kept(4), [[4, false]]);
    assert.deepEqual(kept(0), [[4, true]]);
  });
});

/**
 * What `GPTModel` of megatron-core 0.16.1 allocated on fake tensors of PyTorch 2.13, in a fake process group (local layer
 * spec: norms of Apex, attention of matrix products; `test/oracle/model_parallel.py`): bytes that a layer's graph holds, bytes after forward less weights,
 * and the highest point of forward and of backward. Two layers, 51200 tokens, h 1024, a 16, s 2048, b 2; Llama with 4 key
 * heads, f 2816 and layer norms.
 */
const RECORDED = [
  { model: 'gpt', t: 1, sp: false, layer: 813_760_512, kept: 2_764_263_424, forward: 3_183_792_128 },
  { model: 'gpt', t: 4, sp: false, layer: 234_946_560, kept: 776_200_192, forward: 881_156_096 },
  { model: 'gpt', t: 4, sp: true, layer: 203_440_128, kept: 697_434_112, forward: 802_390_016 },
  { model: 'llama', t: 1, sp: false, layer: 405_864_448, kept: 1_944_801_280, forward: 2_364_329_984 },
  { model: 'llama', t: 2, sp: true, layer: 203_456_512, kept: 977_969_152, forward: 1_187_782_656 },
  { model: 'llama', t: 4, sp: false, layer: 127_467_520, kept: 557_572_096, forward: 662_528_000 },
  { model: 'llama', t: 4, sp: true, layer: 102_252_544, kept: 494_534_656, forward: 599_490_560 },
  { model: 'llama', t: 8, sp: true, layer: 51_650_560, kept: 252_817_408, forward: 305_344_512 },
] as const;

describe('Megatron-core on fake tensors', () => {
  const [s, b] = [2048, 2];
  const models = {
    gpt: { ...GPT, n_layer: 2, tie_word_embeddings: false },
    llama: {
      ...LLAMA,
      hidden_size: 1024,
      num_hidden_layers: 2,
      num_key_value_heads: 4,
      intermediate_size: 2816,
      vocab_size: 51200,
    },
  };
  for (const { model, t, sp, layer, kept, forward } of RECORDED) {
    const run = aRun({
      ...MEGATRON,
      'precision.compute': model === 'gpt' ? 'fp16' : 'bf16',
      'parallel.tensor': t,
      'parallel.sequence': sp,
    });
    // Not in the fused kernels of a real run: rotary tables for queries and keys, sine and cosine each.
    const tables = model === 'llama' ? 4 * s * 64 * 2 : 0;
    // RMS norms have no mean.
    const means = model === 'llama' ? (2 * 4 * s * b) / (sp ? t : 1) : 0;
    // Nor, beside these, the buffer that unfused scores are computed in, which stays, and a causal mask per layer.
    const unfused = (2 * b * 16 * s * s) / t + 2 * s * s + 2 * tables + (tables > 0 ? 4 * s * 64 : 0);
    const stages = traceRun(aModel(models[model]), run);

    it(`${model}, tensor parallel ${t}${sp ? ' with sequence parallelism' : ''}: a layer to the byte`, () => {
      const middle = stages.find((traced) => traced.stage.role === 'layer');
      assert.ok(middle);
      assert.equal(keptBy(middle), layer - tables - means);
    });

    it(`${model}, tensor parallel ${t}${sp ? ' with sequence parallelism' : ''}: forward within 0.1 %`, () => {
      const sums = sumWeights(stages, run);
      const sharding = shardingOf(run, sums, stages);
      const walk = walkStep(stages, run, sharding, emptyLedger());
      const rest = totalOf(sharding.atRest);
      const peak = Math.max(
        ...walk.points
          .filter((x) => x.moment === 'forward' || x.moment === 'loss')
          .map((x) => x.bytes - rest),
      );
      assert.ok(Math.abs((peak + unfused) / forward - 1) < 0.001, `${peak} for ${forward}`);
      const end = stages.reduce(
        (sum, traced) => sum + traced.copies * totalOf(segmentOf(traced, run, 'pass').forward.exit),
        0,
      );
      assert.ok(Math.abs((end + unfused) / kept - 1) < 0.001, `${end} for ${kept}`);
    });
  }
});

/**
 * What autograd kept of a Llama block under `parallelize_module` of PyTorch 2.13 (column and row linears; with sequence
 * parallelism `SequenceParallel` norms and `PrepareModuleInput`; `test/oracle/model_parallel.py`), on one of four ranks: h 256,
 * 8 heads, 4 key heads that are repeated, f 512, 2 x 128 tokens, bf16.
 */
describe('a block under DTensor', () => {
  for (const { t, sp, bytes } of [
    { t: 1, sp: false, bytes: 2_893_824 },
    { t: 4, sp: false, bytes: 1_708_032 },
    { t: 4, sp: true, bytes: 920_064 },
  ]) {
    it(`tensor parallel ${t}${sp ? ' with sequence parallelism' : ''}: to the byte`, () => {
      const block = layerOf(
        {
          ...LLAMA,
          hidden_size: 256,
          num_attention_heads: 8,
          num_key_value_heads: 4,
          intermediate_size: 512,
        },
        {
          'model.code': 'torchtitan',
          // The recording's norms are no fused kernels, as on CUDA before 2.9.
          'version.torch': '2.8',
          'precision.weights': 'bf16',
          'precision.compute': 'bf16',
          'hardware.gpus': 4,
          'parallel.tensor': t,
          'parallel.sequence': sp,
          'batch.micro': 2,
          'batch.sequence': 128,
        },
      );
      // There `nn.RMSNorm` without a fused kernel keeps its normalized input in fp32, the model's own norms in bf16.
      const norms = (2 * 2 * 128 * 256 * 2) / (sp ? t : 1);
      assert.equal(keptBy(block) + norms, bytes + roundings(block));
    });
  }
});

/** Bytes that the allocator's blocks add to small tensors. */
function roundings(layer: TracedStage): number {
  let bytes = 0;
  for (const storage of savedStorages(layer.tape)) bytes += rounded(storage.bytes) - storage.bytes;
  return bytes;
}

/** `compute_activation_memory` of `training/theoretical_memory_usage.py`: sbh (18 + 4 f / h) / t per layer. */
describe("Megatron's own report of activations", () => {
  const [s, b, t] = [2048, 2, 4];
  const values: RunValues = {
    ...MEGATRON,
    'precision.compute': 'bf16',
    'attention.implementation': 'flash2',
    'parallel.tensor': t,
    'parallel.sequence': true,
  };

  it('is right with GELU and dropout, but for statistics of norms and attention', () => {
    const statistics = (2 * 2 * 4 * s * b + 4 * b * 16 * s) / t;
    assert.equal(keptBy(layerOf(GPT, values)), (s * b * 1024 * (18 + 16)) / t + statistics);
  });

  it('counts masks of no dropout and leaves out a third of SwiGLU', () => {
    const mha = { ...LLAMA, num_key_value_heads: 16 };
    const [h, f] = [2048, 5632];
    const statistics = (2 * 4 * s * b + 4 * b * 16 * s) / t;
    const report = (s * b * h * (18 + (4 * f) / h)) / t;
    assert.equal(
      keptBy(layerOf(mha, values)),
      report - (2 * s * b * h) / t + (2 * s * b * f) / t + statistics,
    );
  });
});

describe('Megatron data parallelism', () => {
  const model = aModel(LLAMA);
  const restOf = (values: RunValues) => {
    const run = aRun({ ...MEGATRON, 'precision.compute': 'bf16', ...values });
    const stages = traceRun(model, run);
    const sums = sumWeights(stages, run);
    const sharding = shardingOf(run, sums, stages);
    return { rest: totalOf(sharding.atRest), step: totalOf(sharding.duringStep), trained: sums.trained };
  };

  /** `num_bytes_per_parameter` of `training/theoretical_memory_usage.py`, and its documentation of the optimizer. */
  for (const [compute, whole, fixed, shared] of [
    ['bf16', 18, 6, 12],
    ['fp16', 16, 4, 12],
    ['fp32', 16, 8, 8],
  ] as const) {
    it(`${compute}: ${whole} bytes per parameter, ${fixed} + ${shared} / d with the distributed optimizer`, () => {
      const plain = restOf({ 'precision.compute': compute });
      assert.equal(plain.rest, whole * plain.trained);
      const sharded = restOf({ 'precision.compute': compute, 'parallel.distributedOptimizer': true });
      assert.equal(sharded.rest, (fixed + shared / 8) * sharded.trained);
    });
  }

  it('copies main gradients that are not fp32 while it steps', () => {
    assert.equal(restOf({}).step, 0);
    const low = restOf({ 'precision.gradientAccumulation': 'bf16' });
    assert.equal(low.step, 4 * low.trained);
    assert.equal(low.rest, 16 * low.trained);
  });

  it('shards over context-parallel ranks too', () => {
    const values = { 'parallel.distributedOptimizer': true } as const;
    assert.equal(restOf({ ...values, 'parallel.context': 4 }).rest, restOf(values).rest);
  });
});

const MIXTRAL = {
  model_type: 'mixtral',
  hidden_size: 1024,
  num_hidden_layers: 4,
  num_attention_heads: 16,
  num_key_value_heads: 8,
  intermediate_size: 3584,
  num_local_experts: 8,
  num_experts_per_tok: 2,
  vocab_size: 32000,
  hidden_act: 'silu',
  tie_word_embeddings: false,
};

describe('expert parallelism', () => {
  const base: RunValues = {
    ...MEGATRON,
    'precision.compute': 'bf16',
    'attention.implementation': 'flash2',
    'parallel.distributedOptimizer': true,
  };
  const sumsOf = (values: RunValues) => {
    const run = aRun({ ...base, ...values });
    const stages = traceRun(aModel(MIXTRAL), run);
    const sums = sumWeights(stages, run);
    return { run, stages, sums, rest: shardingOf(run, sums, stages).atRest };
  };
  const experts = 4 * 8 * 3 * 1024 * 3584;

  it('holds a share of the experts, and all of the rest', () => {
    const whole = sumsOf({});
    const split = sumsOf({ 'parallel.expert': 4 });
    assert.equal(whole.sums.expertTrained, experts);
    assert.equal(split.sums.expertTrained, experts / 4);
    assert.equal(whole.sums.trained - split.sums.trained, (3 / 4) * experts);
    assert.equal(split.sums.total, whole.sums.total);
  });

  it("shards an expert's states over the ranks that hold it: world / (etp ep pp)", () => {
    // Eight ranks: dense weights over eight, experts over two copies of a quarter each, so an eighth of all.
    const { rest, sums } = sumsOf({ 'parallel.expert': 4 });
    const dense = sums.trained - sums.expertTrained;
    assert.equal(bytesOf(rest, 'master-weights'), 4 * (dense / 8 + experts / 8));
    const tensor = sumsOf({ 'parallel.expert': 2, 'parallel.tensor': 2, 'parallel.sequence': true });
    const local = tensor.sums.trained - tensor.sums.expertTrained;
    assert.equal(tensor.sums.expertTrained, experts / 4);
    assert.equal(bytesOf(tensor.rest, 'master-weights'), 4 * (local / 4 + experts / 8));
  });

  it('splits experts over their own tensor-parallel size', () => {
    const values = { 'parallel.tensor': 2, 'parallel.sequence': true, 'parallel.expert': 4 } as const;
    assert.equal(sumsOf(values).sums.expertTrained, experts / 8);
    assert.equal(sumsOf({ ...values, 'parallel.expertTensor': 1 }).sums.expertTrained, experts / 4);
  });

  it('ZeRO and FSDP too: an expert is split over the copies of it that there are', () => {
    const states = (values: RunValues) => {
      const { sums, run, stages } = sumsOf({
        'precision.scheme': 'native',
        'model.code': 'transformers',
        'precision.weights': 'bf16',
        ...values,
      });
      return { sums, states: bytesOf(shardingOf(run, sums, stages).atRest, 'optimizer-states') };
    };
    for (const [values, bytes] of [
      [{ 'parallel.data': 'zero', 'zero.stage': 1, 'precision.scheme': 'deepspeed' }, 8],
      [{ 'parallel.data': 'fsdp2' }, 4],
    ] as const) {
      const { sums, states: held } = states({ ...values, 'parallel.expert': 4 });
      const dense = sums.trained - sums.expertTrained;
      // Eight GPUs, four ways: each quarter of the experts lies on two.
      assert.ok(Math.abs(held / (bytes * (dense / 8 + experts / 8)) - 1) < 1e-9, JSON.stringify(values));
      const all = states(values);
      assert.ok(Math.abs(held / all.states - 1) < 1e-9);
    }
  });

  it('keeps per pair of token and expert: its input, gate and up, product', () => {
    const kept = (values: RunValues) => {
      const layer = sumsOf(values).stages.find((traced) => traced.stage.role === 'layer');
      assert.ok(layer);
      return keptBy(layer);
    };
    const [h, f] = [1024, 3584];
    const pairs = 2 * 2048 * 2;
    const two = kept({ 'parallel.capacityFactor': 2, 'parallel.expert': 2 });
    const one = kept({ 'parallel.capacityFactor': 1, 'parallel.expert': 2 });
    // The routing weight of each pair beside them.
    assert.equal(two - one, pairs * (2 * h + 6 * f) + pairs * 2);
    assert.equal(kept({ 'parallel.expert': 2 }), one);
    // Parts of the sequence, whole experts: as many pairs over all ranks.
    const parts = { 'parallel.tensor': 2, 'parallel.sequence': true, 'parallel.expertTensor': 1 } as const;
    assert.ok(kept({ ...parts, 'parallel.expert': 2 }) < 0.55 * one);
  });
});

describe('more ranks', () => {
  const arbitrary = fc.record({
    heads: fc.constantFrom(16, 32),
    keyHeads: fc.constantFrom(8, 16),
    inner: fc.constantFrom(2048, 5632),
    micro: fc.constantFrom(1, 2, 4),
    sequence: fc.constantFrom(1024, 4096),
    checkpointing: fc.constantFrom('none', 'full', 'selective'),
    implementation: fc.constantFrom('sdpa', 'eager'),
    code: fc.constantFrom('megatron', 'torchtitan', 'transformers'),
    sp: fc.boolean(),
  });
  /** transformers' plans split no sequences. */
  const splitsSequences = arbitrary.filter(({ code }) => code !== 'transformers');
  const peak = (r: typeof arbitrary extends fc.Arbitrary<infer T> ? T : never, values: RunValues) => {
    const model = aModel({
      ...LLAMA,
      num_attention_heads: r.heads,
      num_key_value_heads: r.keyHeads,
      intermediate_size: r.inner,
    });
    const run = aRun({
      'batch.micro': r.micro,
      'batch.sequence': r.sequence,
      'batch.accumulation': 8,
      'hardware.gpus': 8,
      'model.code': r.code,
      'precision.weights': 'bf16',
      'precision.compute': 'bf16',
      'precision.scheme': r.code === 'megatron' ? 'megatron' : 'native',
      'optimizer.implementation': 'fused',
      'activations.checkpointing': r.checkpointing,
      'attention.implementation': r.implementation,
      'parallel.sequence': r.sp && r.code !== 'transformers',
      ...values,
    });
    return estimate({ run, model, accelerator: CARD }).peak.allocatedBytes;
  };

  it('tensor parallelism never needs more', () => {
    fc.assert(
      fc.property(arbitrary, (r) => {
        const of = (tensor: number) => peak(r, { 'parallel.tensor': tensor });
        assert.ok(of(2) <= of(1) && of(4) <= of(2) && of(8) <= of(4));
      }),
      { numRuns: runs(30, 120) },
    );
  });

  it('sequence parallelism never needs more, but for a gathered input at a time', () => {
    fc.assert(
      fc.property(splitsSequences, fc.constantFrom(2, 4, 8), (r, tensor) => {
        const of = (sp: boolean) => peak({ ...r, sp }, { 'parallel.tensor': tensor });
        assert.ok(of(true) <= of(false) + 3 * r.micro * r.sequence * 2048 * 2);
      }),
      { numRuns: runs(20, 80) },
    );
  });

  it("context parallelism never needs more, the exchange's buffers of one attention apart", () => {
    fc.assert(
      fc.property(arbitrary, fc.constantFrom('ring', 'all-gather', 'all-to-all'), (r, method) => {
        const of = (context: number) =>
          peak(r, { 'parallel.context': context, 'parallel.contextMethod': method });
        const tokens = (r.micro * r.sequence) / 2;
        const buffers = tokens * 128 * (r.heads * 24 + r.keyHeads * 48);
        assert.ok(of(2) <= of(1) + buffers && of(4) <= of(2) + buffers);
      }),
      { numRuns: runs(20, 80) },
    );
  });
});

describe('tensor parallelism', () => {
  const base: RunValues = {
    'batch.micro': 1,
    'batch.sequence': 2048,
    'precision.weights': 'bf16',
    'precision.compute': 'bf16',
    'hardware.gpus': 16,
  };
  const weightsOf = (values: RunValues, model: Record<string, unknown> = LLAMA) => {
    const weights = new Map<string, { elements: number; local: number }>();
    for (const { stage, tape } of traceRun(aModel(model), aRun({ ...base, ...values }))) {
      for (const w of tape.weights) {
        if (stage.role !== 'layer' || !weights.has(w.name))
          weights.set(w.name, { elements: w.elements, local: w.localElements });
      }
    }
    return weights;
  };

  it('splits projections by column and row, and leaves norms whole', () => {
    const weights = weightsOf({ 'parallel.tensor': 4 });
    const share = (name: string) => {
      const weight = weights.get(name);
      return weight && weight.elements / weight.local;
    };
    for (const name of ['q_proj', 'k_proj', 'v_proj', 'o_proj'])
      assert.equal(share(`self_attn.${name}.weight`), 4);
    for (const name of ['gate_proj', 'up_proj', 'down_proj']) assert.equal(share(`mlp.${name}.weight`), 4);
    assert.equal(share('input_layernorm.weight'), 1);
  });

  it('copies key heads where there are fewer than ranks, and counts the model as it is', () => {
    const weights = weightsOf({ 'parallel.tensor': 16 });
    assert.deepEqual(weights.get('self_attn.k_proj.weight'), {
      elements: 1024 * 2048,
      local: 128 * 2048,
    });
  });

  it('pads the vocabulary in Megatron, in memory only', () => {
    const model = { ...LLAMA, vocab_size: 50257 };
    const megatron = { 'model.code': 'megatron', 'precision.scheme': 'megatron' } as const;
    const padded = weightsOf({ ...megatron, 'parallel.tensor': 8 }, model).get('lm_head.weight');
    // `vocab_size_with_padding`: the next multiple of 128 x 8.
    assert.deepEqual(padded, { elements: 50257 * 2048, local: (51200 * 2048) / 8 });
    const single = weightsOf(megatron, model).get('embed_tokens.weight');
    assert.deepEqual(single, { elements: 50257 * 2048, local: 50304 * 2048 });
    const chosen = weightsOf({ ...megatron, 'parallel.vocabularyMultiple': 1 }, model);
    assert.equal(chosen.get('lm_head.weight')?.local, 50257 * 2048);
    const titan = weightsOf({ 'model.code': 'torchtitan', 'parallel.tensor': 8 }, model);
    assert.equal(titan.get('lm_head.weight')?.local, Math.ceil(50257 / 8) * 2048);
  });

  it('transformers keeps embedding and logits whole on every rank, Megatron splits both', () => {
    const logits = (values: RunValues) => {
      const head = traceRun(aModel(LLAMA), aRun({ ...base, 'parallel.tensor': 4, ...values })).at(-1);
      assert.ok(head);
      return playForward(head.tape, { grad: true, consumed: new Set() }).peakBytes;
    };
    const whole = 2048 * 32000;
    // Logits, gathered logits, fp32 copy and log-softmax against logits and one fp32 copy of a quarter.
    assert.ok(logits({}) > 10 * whole);
    const megatron = { 'model.code': 'megatron', 'precision.scheme': 'megatron' } as const;
    assert.ok(logits(megatron) < (7 * whole) / 4);
    assert.equal(weightsOf({ 'parallel.tensor': 4 }).get('embed_tokens.weight')?.local, 32000 * 2048);
  });

  it("Megatron's fused loss is compiled: a second fp32 copy in backward, where the plain one works in place", () => {
    const highest = (loss: 'vocab-parallel' | 'vocab-parallel-compiled') => {
      const values = {
        'model.code': 'megatron',
        'precision.scheme': 'megatron',
        'parallel.tensor': 4,
      } as const;
      const head = traceRun(aModel(LLAMA), aRun({ ...base, ...values, 'loss.implementation': loss })).at(-1);
      assert.ok(head);
      const { peakBytes, exit } = playForward(head.tape, { grad: true, consumed: new Set() });
      const backward = playBackward(head.tape, { gradients: 'pass', holdGradient: false });
      return { forward: peakBytes, backward: totalOf(exit) + backward.peakBytes };
    };
    const [plain, compiled] = [highest('vocab-parallel'), highest('vocab-parallel-compiled')];
    const logits = (2048 * 32000) / 4;
    assert.equal(compiled.forward, plain.forward);
    // Softmax, its copy and the gradient in bf16: 10 bytes, as `test/oracle/model_parallel.py loss` finds, against 6.
    // Beside them the head's input, whole, and a mask and an id for every token.
    const others = 2048 * 2048 * 2 + 2048 * 9;
    const error = (bytes: number, each: number) => bytes / (each * logits + others) - 1;
    assert.ok(Math.abs(error(compiled.backward, 10)) < 0.01, `${error(compiled.backward, 10)}`);
    assert.ok(Math.abs(error(plain.backward, 6)) < 0.01, `${error(plain.backward, 6)}`);
  });

  it("writes PyTorch's loss over split logits out: 14 bytes per logit forward, 16 backward", () => {
    const head = traceRun(
      aModel(LLAMA),
      aRun({
        ...base,
        'model.code': 'torchtitan',
        'version.torch': '2.8',
        'parallel.tensor': 4,
        'parallel.sequence': true,
        'loss.implementation': 'vocab-parallel',
      }),
    ).at(-1);
    assert.ok(head);
    const logits = (2048 * 32000) / 4;
    const { peakBytes, exit } = playForward(head.tape, { grad: true, consumed: new Set() });
    // The gathered input of the head, the norm's own results and rows beside them.
    const others = 2048 * 2048 * 2 + (2048 * 2048 * 6) / 4 + 2048 * 4;
    assert.ok(Math.abs(peakBytes - 14 * logits - others) < 0.02 * peakBytes, `${peakBytes / logits}`);
    const backward = playBackward(head.tape, { gradients: 'pass', holdGradient: false });
    const highest = totalOf(exit) + backward.peakBytes;
    assert.ok(Math.abs(highest - 16 * logits - others) < 0.02 * highest, `${highest / logits}`);
  });

  it('torchtitan without the loss on split logits gathers them on every rank', () => {
    const head = (loss: 'vocab-parallel' | 'full') =>
      traceRun(
        aModel(LLAMA),
        aRun({
          ...base,
          'model.code': 'torchtitan',
          'parallel.tensor': 4,
          'parallel.sequence': true,
          'loss.implementation': loss,
        }),
      ).at(-1);
    const logits = (loss: 'vocab-parallel' | 'full') => {
      const outputs = head(loss)?.tape.operations.flatMap((operation) => operation.outputs) ?? [];
      return Math.max(...outputs.filter((x) => x.storage.kind === 'logits').map((x) => x.elements));
    };
    assert.equal(logits('vocab-parallel'), (2048 * 32000) / 4);
    assert.equal(logits('full'), 2048 * 32000);
    // The head's weight stays split.
    for (const loss of ['vocab-parallel', 'full'] as const) {
      const weight = head(loss)?.tape.weights.find(({ role }) => role === 'head');
      assert.equal(weight?.localElements, (32000 * 2048) / 4);
    }
  });

  it("DTensor makes an embedding's gradient whole before it is split, Megatron its own rows", () => {
    const lookup = (values: RunValues) => {
      const run = { ...base, 'parallel.data': 'fsdp2', 'parallel.sequence': true, ...values } as const;
      const [first] = traceRun(aModel(LLAMA), aRun(run));
      return first?.tape.operations.find(({ weights }) => weights[0]?.role === 'embedding');
    };
    const scratch = (values: RunValues) => lookup(values)?.backwardScratch;
    // Beside its own rows, which are copied when the gradient of 2048 tokens is gone.
    assert.equal(scratch({ 'model.code': 'torchtitan', 'parallel.tensor': 4 }), 2 * (32000 - 2048) * 2048);
    assert.equal(scratch({ 'model.code': 'torchtitan', 'parallel.tensor': 1 }), 0);
    const megatron = { 'model.code': 'megatron', 'precision.scheme': 'megatron' } as const;
    assert.equal(scratch({ ...megatron, 'parallel.tensor': 4 }), 0);
    // Where no data-parallel scheme reduces it, it stays a partial sum until the optimizer steps.
    const alone = { 'model.code': 'torchtitan', 'parallel.tensor': 4, 'parallel.data': 'none' } as const;
    assert.equal(scratch(alone), 0);
    assert.equal(lookup(alone)?.weightGrads[0]?.bytes, 2 * 32000 * 2048);
  });

  describe('four facts, whoever runs the model', () => {
    const t = 4;
    const traced = (values: RunValues) =>
      traceRun(aModel(LLAMA), aRun({ ...base, 'parallel.tensor': t, ...values }));
    const logitsOf = (values: RunValues) => {
      const made = new Map<string, number>();
      for (const { outputs, name } of traced(values).at(-1)?.tape.operations ?? [])
        for (const x of outputs) if (x.shape.at(-1) !== 1) made.set(name, x.shape.at(-1) ?? 0);
      return made;
    };
    const table = (values: RunValues) => traced(values)[0]?.tape.weights[0]?.localElements;

    // torchtune 0.6.1 `models/llama3/_parallelism.py`: `RowwiseParallel(input_layouts=Replicate())` for the embedding and
    // `ColwiseParallel(output_layouts=Replicate())` for the head.
    it('torchtune splits the embedding and gathers the logits', () => {
      const torchtune = { 'model.code': 'torchtune' } as const;
      assert.equal(table(torchtune), (32000 * 2048) / t);
      assert.equal(logitsOf(torchtune).get('lm_head.gather'), 32000);
      const [first] = traced({ ...torchtune, 'parallel.data': 'fsdp2' });
      const lookup = first?.tape.operations.find(({ weights }) => weights[0]?.role === 'embedding');
      assert.equal(lookup?.backwardScratch, 2 * (32000 - 2048) * 2048, 'its gradient is made whole');
    });

    // Automodel 0.7 `optimized_tp_plans.py`, `_parallelize_llama`, and `loss/masked_ce.py`: `logits.float()`, then
    // `logits.full_tensor()`.
    it('a head that keeps its part is gathered where the loss is taken, in fp32', () => {
      const automodel = {
        'model.code': 'transformers',
        'parallel.embedding': 'split',
        'parallel.headOutput': 'split',
        'parallel.sequence': true,
      } as const;
      assert.equal(table(automodel), (32000 * 2048) / t);
      const made = logitsOf(automodel);
      assert.equal(made.get('lm_head'), 32000 / t);
      assert.equal(made.get('lm_head.gather'), undefined);
      assert.equal(made.get('loss.float'), 32000 / t);
      assert.equal(made.get('loss.full_tensor'), 32000);
      assert.equal(made.get('loss.log_softmax'), 32000);
      const parallel = logitsOf({ ...automodel, 'loss.implementation': 'vocab-parallel' });
      assert.ok([...parallel].every(([name, width]) => width <= 32000 / t || !/^(lm_head|loss)/.test(name)));
    });

    it('the residual lies in parts where that is stated', () => {
      const residual = (values: RunValues) =>
        Math.max(
          ...traced({ ...values, 'model.code': 'transformers' })
            .filter(({ stage }) => stage.role === 'layer')
            .flatMap(({ tape }) => tape.operations.filter(({ name }) => /residual|add/.test(name)))
            .flatMap(({ outputs }) => outputs.map((x) => x.shape.at(-2) ?? 0)),
        );
      assert.equal(residual({}), 2048);
      assert.equal(residual({ 'parallel.sequence': true }), 2048 / t);
    });

    it('what is stated counts for more than what the code does', () => {
      const titan = { 'model.code': 'torchtitan', 'parallel.sequence': true } as const;
      assert.equal(table({ ...titan, 'parallel.embedding': 'whole' }), 32000 * 2048);
      const split = { ...titan, 'loss.implementation': 'vocab-parallel' } as const;
      assert.equal(logitsOf(split).get('lm_head.gather'), undefined);
      assert.equal(logitsOf({ ...split, 'parallel.headOutput': 'gathered' }).get('lm_head.gather'), 32000);
    });
  });

  // `_fused_rms_norm` since torch 2.9: input and reciprocal root. Before, torchtitan's norms are composites with an fp32 copy.
  it("torchtitan's norms are one kernel since torch 2.9", () => {
    const norms = (torch: string) => {
      const layer = layerOf(LLAMA, {
        'model.code': 'torchtitan',
        'precision.weights': 'bf16',
        'precision.compute': 'bf16',
        'version.torch': torch,
      });
      const kept = layer.tape.operations.filter(({ name }) => /layernorm|norm/.test(name));
      return { count: kept.length, wide: kept.some(({ name }) => name.endsWith('.float')) };
    };
    assert.deepEqual(norms('2.13'), { count: 2, wide: false });
    assert.equal(norms('2.8').wide, true);
  });

  it('torchtitan keeps the gathered input of attention and MLP, Megatron its own part', () => {
    const t = 4;
    const sbh = 2048 * 2048;
    const kept = (code: 'megatron' | 'torchtitan') =>
      keptBy(
        layerOf(LLAMA, {
          ...base,
          'model.code': code,
          'precision.scheme': code === 'megatron' ? 'megatron' : 'native',
          'parallel.tensor': t,
          'parallel.sequence': true,
        }),
      );
    const megatron = kept('megatron');
    // Norm inputs and outputs 8, queries and result 4, keys and values 2, gate, up and product 6 f / h; row statistics.
    const rows = 2048 * 4;
    const expected = (sbh * (8 + 4 + 2) + 6 * 2048 * 5632) / t + (2 * rows) / t + (16 * rows) / t;
    assert.equal(megatron, expected);
    assert.ok(kept('torchtitan') > megatron + 2 * 2 * sbh * (1 - 1 / t));
  });
});

describe('context parallelism', () => {
  const base: RunValues = {
    'batch.micro': 1,
    'batch.sequence': 8192,
    'precision.weights': 'bf16',
    'precision.compute': 'bf16',
    'hardware.gpus': 8,
  };
  const attentionOf = (values: RunValues) => {
    const { tape } = layerOf(LLAMA, { ...base, ...values });
    const op = tape.operations.find((o) => o.name === 'self_attn.attention');
    assert.ok(op);
    return op;
  };

  it('keeps a share of every activation', () => {
    const kept = (cp: number) => keptBy(layerOf(LLAMA, { ...base, 'parallel.context': cp }));
    assert.equal(kept(4), kept(1) / 4);
  });

  it('needs the fp32 sums and the gathered keys of PyTorch', () => {
    const [tokens, cp] = [2048, 4];
    const result = tokens * 2048;
    const keys = 2 * tokens * 1024;
    const { forwardScratch } = attentionOf({ 'parallel.context': cp });
    assert.equal(forwardScratch, 16 * result + cp * keys * 2);
    const ring = attentionOf({ 'parallel.context': cp, 'parallel.contextMethod': 'ring' });
    assert.equal(ring.forwardScratch, 16 * result + 3 * keys * 2);
  });

  it('needs what the ring of Transformer Engine receives, and the result of each step', () => {
    const [tokens, cp] = [2048, 4];
    const { forwardScratch } = attentionOf({
      'parallel.context': cp,
      'model.code': 'megatron',
      'precision.scheme': 'megatron',
    });
    assert.equal(forwardScratch, (cp - 1) * 2 * tokens * 1024 * 2 + cp * tokens * 2048 * 2);
  });

  it('computes the same in all', () => {
    const flops = (values: RunValues, ranks: number) => attentionOf(values).flops * ranks;
    const one = flops({}, 1);
    assert.equal(flops({ 'parallel.context': 4 }, 4), one);
    assert.equal(flops({ 'parallel.ulysses': 4 }, 4), one);
    assert.equal(flops({ 'parallel.context': 2, 'parallel.ulysses': 2 }, 4), one);
  });

  it('Ulysses keeps the exchanged result once more, and copies of key heads fewer than ranks', () => {
    const kept = (ulysses: number, context: number, model = LLAMA) =>
      keptBy(layerOf(model, { ...base, 'parallel.ulysses': ulysses, 'parallel.context': context }));
    const tokens = 2048;
    assert.equal(kept(4, 1) - kept(1, 4), tokens * 2048 * 2);
    const few = { ...LLAMA, num_key_value_heads: 2 };
    // Two key and two value heads become four each, of which a rank has one of all tokens.
    assert.equal(kept(4, 1, few) - kept(1, 4, few), tokens * 2048 * 2 + 2 * 2 * tokens * 128 * 2);
  });
});
