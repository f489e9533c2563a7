import assert from 'node:assert/strict';
import { onDemand } from '../../../server/src/memo/on-demand';
import { catalogEntries, findModel } from '../../../server/src/model/catalog';
import type { Flow, Model } from '../../../server/src/model/model';
import type { Tape } from '../../../server/src/model/tape';
import { ONE_TOKEN, type TraceSettings } from '../../../server/src/model/trace-settings';
import { Tracer } from '../../../server/src/model/tracer';
import { LONG } from '../../unit/long';

const BASE: TraceSettings = {
  ...ONE_TOKEN,
  batch: 2,
  sequence: 256,
  targetSequence: 128,
  attention: 'flash2',
};

interface Traced {
  readonly name: string;
  readonly role: string;
  readonly count: number;
  readonly tape: Tape;
}

function trace(model: Model, settings: Partial<TraceSettings> = {}): Traced[] {
  const flow: Flow = new Map();
  return model.stages.map((stage) => {
    const tracer = new Tracer({ ...BASE, ...settings });
    stage.trace(tracer, flow);
    return { name: stage.name, role: stage.role, count: stage.count, tape: tracer.finish() };
  });
}

function model(id: string): Model {
  const found = findModel(id);
  assert.ok(found, id);
  return found;
}

function layerOf(id: string, settings: Partial<TraceSettings> = {}): Tape {
  const layer = trace(model(id), settings).find((s) => s.role === 'layer');
  assert.ok(layer);
  return layer.tape;
}

function flopsOf(tape: Tape): number {
  return tape.operations.reduce((sum, o) => sum + o.flops, 0);
}

/** Bytes that autograd keeps of a tape, each storage once. */
function savedBytes(tape: Tape): number {
  const saved = new Set(tape.operations.flatMap((o) => o.saves));
  let bytes = 0;
  for (const storage of saved) bytes += storage.bytes;
  return bytes;
}

function check(id: string, stages: readonly Traced[]): void {
  for (const { name, tape } of stages) {
    for (const o of tape.operations) {
      const numbers = [
        o.flops,
        o.backwardFlops,
        o.forwardScratch,
        o.backwardScratch,
        ...o.outputs.map((x) => x.storage.bytes),
        ...o.saves.map((s) => s.bytes),
        ...o.weightGrads.map((g) => g.bytes),
      ];
      // Sentences are made where there is something to report: there are some hundred thousand operators.
      if (!numbers.every((n) => Number.isFinite(n) && n >= 0))
        assert.fail(`${id}, ${name}, ${o.name}: ${numbers}`);
      if (o.gradRules.length !== o.inputs.length)
        assert.fail(`${id}, ${name}, ${o.name}: rules of gradients`);
      if (o.name === 'split') {
        const parts = o.outputs.reduce((sum, x) => sum + x.elements, 0);
        assert.equal(parts, o.inputs[0]?.elements, `${id}, ${name}: split parts`);
      }
      if (o.name === 'view') {
        assert.equal(
          o.outputs[0]?.elements,
          o.inputs[0]?.elements,
          `${id}, ${name}: view of ${o.inputs[0]?.shape}`,
        );
      }
      for (const x of [...o.inputs, ...o.outputs]) {
        if (!x.shape.every((size) => Number.isInteger(size)))
          assert.fail(`${id}, ${name}, ${o.name}: ${x.shape}`);
      }
    }
  }
}

describe('operators of the catalog', () => {
  const variants: Readonly<Record<string, Partial<TraceSettings>>> = {
    'flash attention': {},
    'eager attention': { attention: 'eager' },
    'SDPA with a mask': { attention: 'sdpa', attentionMask: true },
    autocast: { weightDtype: 'fp32', autocast: true },
    Liger: { liger: true, loss: 'liger' },
    'a loss in chunks of a budget': { loss: 'budgeted-chunks' },
    'a loss in chunks of what is free': { loss: 'free-chunks', freeBytes: 2 ** 30 },
    'a loss in chunks of one buffer': { loss: 'fused-chunks', lossTiles: 4096 },
    LoRA: {
      trainable: () => false,
      adapter: { rank: 8, dropout: 0.05, dtype: 'fp32', dora: false, targets: () => true },
    },
    NF4: { quantization: 'nf4' },
    classification: { objective: 'classification' },
    'no images': { images: 0 },
  };
  // Every model of the catalog as it is, and one of each type in every second way; in the long run all of both.
  const PLAIN = 'flash attention';
  const all = onDemand(() => catalogEntries().map(({ id }) => id));
  const ofEachType = onDemand(() => [...new Map(all().map((id) => [model(id).modelType, id])).values()]);
  for (const [way, [name, settings]] of Object.entries(variants).entries()) {
    it(`are sound with ${name}`, function () {
      this.timeout(60_000);
      const met = LONG || name === PLAIN ? all() : ofEachType().filter((_, type) => (type + way) % 2 === 0);
      for (const id of met) check(id, trace(model(id), settings));
    });
  }

  it('size chunks of a loss by a budget of 4 GiB, one or a multiple of four of them', () => {
    const scratch = (batch: number, sequence: number, more: Partial<TraceSettings> = {}) => {
      const stages = trace(model('google/gemma-3-4b-it'), {
        batch,
        sequence,
        images: 0,
        loss: 'budgeted-chunks',
        ...more,
        trainable: () => false,
      });
      const operations = stages.flatMap(({ tape }) => tape.operations);
      return operations.find(({ name }) => name.endsWith('.fused_loss'))?.forwardScratch;
    };
    const [vocabulary, bf16] = [262_208, 2];
    // Logits and their gradient of a chunk. Below 4 GiB at 16 bytes a logit all tokens are one chunk.
    assert.equal(scratch(1, 512), 2 * 512 * vocabulary * bf16);
    assert.equal(scratch(1, 1024), 2 * (1024 / 4) * vocabulary * bf16);
    assert.equal(scratch(2, 4096), 2 * Math.ceil(8192 / 12) * vocabulary * bf16);
    // Half of what is free, where that is less: 1 GiB, less the gradient of the inputs, of 32 GiB that are asked for.
    assert.equal(scratch(2, 4096, { freeBytes: 2 ** 31 }), 2 * Math.ceil(8192 / 36) * vocabulary * bf16);
    // Releases that counted 4 bytes a logit against half of what is free: 8 GiB of logits in fp32 are one chunk where 8 GiB are free,
    // and four where the half is rounded up to.
    const free = (loss: 'free-chunks' | 'half-free-chunks', gib: number) =>
      scratch(2, 4096, { loss, freeBytes: gib * 2 ** 30 });
    const chunk = (tokens: number) => 2 * tokens * vocabulary * bf16;
    assert.equal(free('free-chunks', 8.1), chunk(8192));
    assert.equal(free('free-chunks', 7.9), chunk(8192 / 4));
    assert.equal(free('half-free-chunks', 8.1), chunk(8192 / 4));
    assert.equal(free('half-free-chunks', 16.1), chunk(8192));
  });

  it('register the same weights whether a batch has images or not', () => {
    for (const id of ['google/gemma-3-4b-pt', 'Qwen/Qwen2.5-VL-7B-Instruct', 'llava-hf/llava-1.5-7b-hf']) {
      const names = (images: number) =>
        trace(model(id), { images }).map(({ tape }) =>
          tape.weights.map((w) => `${w.name} ${w.localElements}`),
        );
      assert.deepEqual(names(0), names(1));
    }
  });

  it('hold a share of the weights on each tensor-parallel rank', () => {
    for (const id of [
      'meta-llama/Llama-3.1-8B',
      'Qwen/Qwen3-30B-A3B',
      'deepseek-ai/DeepSeek-V2-Lite',
      'EleutherAI/pythia-6.9b',
    ]) {
      const stages = trace(model(id), { tensorParallel: 4 });
      check(id, stages);
      const layer = stages.find((s) => s.role === 'layer');
      const matrices = layer?.tape.weights.filter((w) => w.role === 'matrix') ?? [];
      const whole = matrices.reduce((sum, w) => sum + w.elements, 0);
      const local = matrices.reduce((sum, w) => sum + w.localElements, 0);
      assert.ok(local < 0.35 * whole, `${id}: ${local / whole}`);
    }
  });

  it('hold a share of the experts on each expert-parallel rank', () => {
    const weights = layerOf('mistralai/Mixtral-8x7B-v0.1', { expertParallel: 4 }).weights;
    const experts = weights.filter((w) => w.expert);
    assert.ok(experts.length > 0);
    for (const w of experts) assert.equal(w.localElements * 4, w.elements);
  });
});

describe('FLOPs of one layer, forward', () => {
  const T = BASE.batch * BASE.sequence;
  const s = BASE.sequence;
  /** Pairs of query and key under a causal mask, over the whole batch. */
  const causalPairs = (BASE.batch * s * (s + 1)) / 2;

  it('of Llama equal the closed form', () => {
    const [h, a, k, d, f] = [4096, 32, 8, 128, 14336];
    const projections = 2 * T * h * (2 * a * d + 2 * k * d);
    const expected = projections + 4 * causalPairs * a * d + 6 * T * h * f;
    assert.equal(flopsOf(layerOf('meta-llama/Llama-3.1-8B')), expected);
  });

  it('of GPT-2 equal the closed form', () => {
    const h = 768;
    const expected = 2 * T * h * 4 * h + 4 * causalPairs * h + 4 * T * h * 4 * h;
    assert.equal(flopsOf(layerOf('gpt2')), expected);
  });

  it('of BERT see every pair', () => {
    const h = 768;
    const expected = 2 * T * h * 4 * h + 4 * BASE.batch * s * s * h + 4 * T * h * 4 * h;
    assert.equal(flopsOf(layerOf('google-bert/bert-base-uncased')), expected);
  });

  it('of Mixtral count the chosen experts and the router', () => {
    const [h, a, k, d, f, experts, chosen] = [4096, 32, 8, 128, 14336, 8, 2];
    const projections = 2 * T * h * (2 * a * d + 2 * k * d);
    const moe = 2 * T * h * experts + chosen * 6 * T * h * f;
    assert.equal(
      flopsOf(layerOf('mistralai/Mixtral-8x7B-v0.1')),
      projections + 4 * causalPairs * a * d + moe,
    );
  });

  it('of a sliding window are bounded by it', () => {
    const layers = trace(model('google/gemma-2-2b'), { sequence: 8192, batch: 1 }).filter(
      (x) => x.role === 'layer',
    );
    const [sliding, full] = layers.map((x) => flopsOf(x.tape));
    const pairs = (8192 * 8193) / 2 - (4096 * 8192 - (4096 * 4095) / 2);
    assert.equal((full ?? 0) - (sliding ?? 0), 4 * pairs * 8 * 256);
  });

  it('of the whole model are about twice the active parameters per token', () => {
    for (const id of [
      'meta-llama/Llama-3.1-8B',
      'Qwen/Qwen3-30B-A3B',
      'deepseek-ai/DeepSeek-V3',
      'openai/gpt-oss-20b',
      'ai21labs/Jamba-v0.1',
    ]) {
      const found = model(id);
      const stages = trace(found, { batch: 1, sequence: 16 });
      const flops = stages.reduce((sum, x) => sum + x.count * flopsOf(x.tape), 0);
      const lookup = found.vocabulary * found.hiddenSize;
      const perToken = flops / 16 / (2 * (found.parameters.active - lookup));
      assert.ok(perToken > 0.98 && perToken < 1.03, `${id}: ${perToken}`);
    }
  });
});

describe('what autograd keeps of one layer', () => {
  const T = BASE.batch * BASE.sequence;

  it('equals the measured closed form for Llama with flash attention', () => {
    const [h, a, k, f] = [4096, 32, 8, 14336];
    const expected = ((20 + (4 * k) / a) * h + 8 * f) * T + 4 * T * a + 8 * T;
    assert.equal(savedBytes(layerOf('meta-llama/Llama-3.1-8B')), expected);
  });

  it('equals the closed form for GPT-2 with dropout', () => {
    // 58 bytes per element with the gelu written in Python, and the statistics of two norms.
    const [h, a] = [768, 12];
    const expected = 58 * T * h + 4 * T * a + 2 * 8 * T;
    assert.equal(savedBytes(layerOf('gpt2')), expected);
  });

  it('grows by the norms of queries and keys in Qwen 3', () => {
    const qwen = layerOf('Qwen/Qwen3-8B');
    const [h, a, k, d, f] = [4096, 32, 8, 128, 12288];
    const llamaLike = ((20 + (4 * k) / a) * h + 8 * f) * T + 4 * T * a + 8 * T;
    const heads = 6 * T * (a + k) * d + 4 * T * (a + k);
    assert.equal(savedBytes(qwen), llamaLike + heads);
  });

  it('of frozen linears is nothing but what the kernels need', () => {
    const frozen = layerOf('meta-llama/Llama-3.1-8B', { trainable: () => false });
    assert.equal(savedBytes(frozen), 0);
  });
});
