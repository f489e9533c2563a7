import assert from 'node:assert/strict';
import { computeEstimate } from '../../../server/src/compute/flops';
import { documentTokens } from '../../../server/src/memory/packed-documents';
import { traceRun } from '../../../server/src/memory/traced-run';
import { findModel } from '../../../server/src/model/catalog';
import type { Model } from '../../../server/src/model/model';
import type { ComputeEstimate } from '../../../server/src/results/estimate';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, SMALL_LLAMA } from '../memory/a-run';

function flopsOf(model: Model, values: RunValues): ComputeEstimate {
  const run = aRun({ 'attention.implementation': 'flash2', 'precision.weights': 'bf16', ...values });
  return computeEstimate(traceRun(model, run), run);
}

/** Width, layers, heads, head size, inner size and vocabulary of the small Llama. */
const [h, L, a, d, f, V] = [2048, 8, 32, 64, 5632, 32000];
const llama = aModel(SMALL_LLAMA);
/** Two samples of 1024 tokens. */
const [b, s] = [2, 1024];
const T = b * s;
const BATCH = { 'batch.micro': b, 'batch.sequence': s } as const;
/** Weights of a layer that multiply, and of the whole model. */
const perLayer = 4 * h * a * d + 3 * h * f;
const matrices = L * perLayer + h * V;
/** Scores and weighted values of one layer over all pairs, and over those that a causal mask leaves. */
const square = 4 * b * s * s * a * d;
const causal = 4 * b * ((s * (s + 1)) / 2) * a * d;

function catalogued(id: string): Model {
  const model = findModel(id);
  assert.ok(model, id);
  return model;
}

const LORA_GRPO = { 'method.kind': 'lora', 'method.objective': 'grpo', 'lora.rank': 8 } as const;

describe('tokens of a step', () => {
  it('are those of all rows that run through the model', () => {
    const model = catalogued('Qwen/Qwen2.5-0.5B');
    const of = (values: RunValues) => flopsOf(model, { 'batch.sequence': 512, ...values });
    const plain = of({});
    for (const objective of ['dpo', 'orpo', 'reward'] as const) {
      const pairs = of({ 'method.objective': objective });
      assert.equal(pairs.tokensPerStep, 2 * plain.tokensPerStep, objective);
    }
    const questions = { 'method.objective': 'multiple-choice', 'batch.choices': 4 } as const;
    const bert = catalogued('google-bert/bert-base-uncased');
    const answers = flopsOf(bert, { 'batch.sequence': 512, ...questions });
    assert.equal(answers.tokensPerStep, 4 * plain.tokensPerStep);
    // A frozen model of another size sees both rows of a pair, too.
    const judged = { 'method.frozenParameters': 1_000_000 } as const;
    const more = (values: RunValues) => of({ ...values, ...judged }).flopsPerStep - of(values).flopsPerStep;
    assert.equal(more({ 'method.objective': 'dpo' }), 2 * more({}));
  });
});

describe('FLOPs of a step by published formulas', () => {
  it('equal those of Megatron-LM, arXiv 2104.04473 equation 2: every layer computed twice, no causal halving', () => {
    const [width, layers, vocabulary] = [1024, 24, 50_304];
    const gpt = aModel({
      model_type: 'gpt2',
      n_embd: width,
      n_layer: layers,
      n_head: 16,
      n_positions: 2048,
      vocab_size: vocabulary,
    });
    const { flopsPerStep } = flopsOf(gpt, {
      'batch.micro': 4,
      'batch.sequence': 2048,
      'attention.implementation': 'eager',
      'activations.checkpointing': 'full',
    });
    const [B, S] = [4, 2048];
    const expected =
      96 * B * S * layers * width ** 2 * (1 + S / (6 * width) + vocabulary / (16 * layers * width));
    assert.equal(flopsPerStep, expected);
  });

  it('that MFU counts are 6 N + 12 L H Q T per token, PaLM, arXiv 2204.02311 appendix B', () => {
    const { modelFlopsPerStep } = flopsOf(llama, BATCH);
    assert.equal(modelFlopsPerStep, T * (6 * matrices + 12 * L * a * d * s));
  });

  it('that kernels do skip masked pairs and make the scores again in backward', () => {
    const { flopsPerStep, forwardFlopsPerStep, profiledFlopsPerStep } = flopsOf(llama, BATCH);
    assert.equal(forwardFlopsPerStep, 2 * T * matrices + L * causal);
    assert.equal(flopsPerStep, 6 * T * matrices + 3.5 * L * causal);
    assert.equal(profiledFlopsPerStep, 6 * T * matrices + 3.5 * L * square);
  });

  it('of GPT-3 come to its 3.14e23 for 300 billion tokens (arXiv 2005.14165, table D.1)', () => {
    const gpt3 = aModel({
      model_type: 'gpt2',
      n_embd: 12_288,
      n_layer: 96,
      n_head: 96,
      n_positions: 2048,
      vocab_size: 50_257,
    });
    const { flopsPerStep, tokensPerStep } = flopsOf(gpt3, { 'batch.sequence': 2048 });
    const total = (flopsPerStep / tokensPerStep) * 300e9;
    // The paper counts 6 N without attention, which adds 2 %.
    assert.ok(total / 3.14e23 > 1 && total / 3.14e23 < 1.03, String(total));
  });

  it('of Llama 3.1 405B come to its 3.8e25 for 15.6 trillion tokens (arXiv 2407.21783)', () => {
    const { flopsPerStep, tokensPerStep } = flopsOf(catalogued('meta-llama/Llama-3.1-405B'), {
      'batch.sequence': 8192,
    });
    const total = (flopsPerStep / tokensPerStep) * 15.6e12;
    assert.ok(total / 3.8e25 > 1 && total / 3.8e25 < 1.05, String(total));
  });

  it('of experts count the chosen ones: Mixtral 8x7B trains at 6 times its 12.9 billion active parameters', () => {
    const { flopsPerStep, tokensPerStep } = flopsOf(catalogued('mistralai/Mixtral-8x7B-v0.1'), {
      'batch.sequence': 128,
    });
    const perToken = flopsPerStep / tokensPerStep / (6 * 12.9e9);
    assert.ok(Math.abs(perToken - 1) < 0.02, String(perToken));
  });
});

describe('FLOPs of a state space model', () => {
  const [width, inner, states, kernel, rank, layers, vocabulary] = [64, 128, 16, 4, 8, 3, 512];
  const mamba = aModel({
    model_type: 'mamba',
    hidden_size: width,
    intermediate_size: inner,
    state_size: states,
    conv_kernel: kernel,
    time_step_rank: rank,
    num_hidden_layers: layers,
    vocab_size: vocabulary,
    use_bias: false,
    use_conv_bias: true,
    expand: 2,
  });
  const projections = 2 * T * inner * (rank + 2 * states + rank + width);
  const joint = 2 * T * width * 2 * inner;
  const convolution = 2 * T * inner * kernel;
  const scan = 9 * T * inner * states;
  const head = 2 * T * width * vocabulary;

  it('are projections, convolution and scan, of which the kernel makes some again in backward', () => {
    const { flopsPerStep, forwardFlopsPerStep } = flopsOf(mamba, BATCH);
    const forward = layers * (joint + projections + convolution + scan) + head;
    assert.equal(forwardFlopsPerStep, forward);
    const again = convolution + 2 * T * inner * rank;
    assert.equal(flopsPerStep, 3 * forward + layers * again);
  });
});

describe('FLOPs of adapters', () => {
  const r = 16;
  const LORA: RunValues = {
    ...BATCH,
    'method.kind': 'lora',
    'lora.rank': r,
    'lora.targets': ['q_proj'],
  };

  it('leave out gradients of frozen weights, and of what comes before the first adapter', () => {
    const { flopsPerStep } = flopsOf(llama, LORA);
    const adapter = 2 * T * r * (h + a * d);
    const forward = 2 * T * matrices + L * causal + L * adapter;
    // Each adapter: gradients of both factors, and of both inputs but the first layer's.
    const adapters = L * 2 * adapter - 2 * T * r * h;
    const inputs = 2 * T * matrices - 2 * T * 3 * h * a * d;
    assert.equal(flopsPerStep, forward + inputs + 2.5 * L * causal + adapters);
  });

  it('come to two thirds of full training, and with checkpointing to three quarters', () => {
    const all = { ...LORA, 'lora.targets': ['all-linear'], 'lora.rank': 1, 'batch.sequence': 128 } as const;
    const ratio = (more: RunValues) =>
      flopsOf(llama, { ...all, ...more }).flopsPerStep /
      flopsOf(llama, { ...BATCH, 'batch.sequence': 128, ...more }).flopsPerStep;
    assert.ok(Math.abs(ratio({}) - 2 / 3) < 0.02, String(ratio({})));
    const again = ratio({ 'activations.checkpointing': 'full' });
    assert.ok(Math.abs(again - 3 / 4) < 0.02, String(again));
  });

  it('of a frozen stretch run forward only, where nothing makes its inputs require gradients', () => {
    const freeze = {
      ...BATCH,
      'method.kind': 'freeze',
      'method.trainableLayers': 2,
      'version.transformers': '4.57',
    } as const;
    const { flopsPerStep, forwardFlopsPerStep, recomputedFlopsPerStep } = flopsOf(llama, {
      ...freeze,
      'activations.checkpointing': 'full',
    });
    assert.equal(recomputedFlopsPerStep, 2 * (2 * T * perLayer + causal));
    // The norm of the first trained layer is trained too, so a gradient comes to it.
    const gradients = 2 * (2 * 2 * T * perLayer + 2.5 * causal) + 2 * T * h * V;
    assert.equal(flopsPerStep, forwardFlopsPerStep + recomputedFlopsPerStep + gradients);
  });
});

describe('FLOPs that checkpointing does again', () => {
  const again = (values: RunValues, model = llama) =>
    flopsOf(model, { ...BATCH, ...values }).recomputedFlopsPerStep;
  const layer = 2 * T * perLayer + causal;

  it('are all layers where reentrant, and not the head', () => {
    assert.equal(again({ 'activations.checkpointing': 'full' }), L * layer);
  });

  it('stop at the last tensor that is needed where not reentrant: the last product is left out', () => {
    const full = { 'activations.checkpointing': 'full', 'activations.reentrant': false } as const;
    assert.equal(again(full), L * (layer - 2 * T * f * h));
    assert.equal(again({ ...full, 'activations.checkpointEvery': 4 }), L * layer - 2 * (2 * T * f * h));
    assert.equal(again({ ...full, 'activations.checkpointEvery': 3 }), L * layer - 3 * (2 * T * f * h));
  });

  it('are none where products and attention are kept', () => {
    assert.equal(again({ 'activations.checkpointing': 'selective' }), 0);
  });

  it('are every second product of a layer in torchtitan: keys, output and up projections', () => {
    const values = { 'activations.checkpointing': 'selective', 'model.code': 'torchtitan' } as const;
    assert.equal(again(values), L * 2 * T * (h * a * d + a * d * h + h * f));
  });

  it('are the first layers of each pipeline chunk where only those are checkpointed', () => {
    const block = { 'activations.checkpointing': 'full', 'activations.layers': 1 } as const;
    assert.equal(again(block), layer);
    const four = { ...block, 'hardware.gpus': 4, 'parallel.pipeline': 4, 'activations.layers': 3 } as const;
    assert.equal(again(four), L * layer);
    assert.equal(again({ ...four, 'activations.layers': 1 }), 4 * layer);
  });

  it('are the core of attention in Megatron unless modules are named', () => {
    const megatron = { 'model.code': 'megatron', 'activations.checkpointing': 'selective' } as const;
    assert.equal(again(megatron), L * causal);
    const mlp = again({ ...megatron, 'activations.modules': ['mlp'] });
    assert.equal(mlp, L * 2 * T * 3 * h * f);
  });

  it('do not count for MFU', () => {
    const plain = flopsOf(llama, BATCH);
    const checkpointed = flopsOf(llama, { ...BATCH, 'activations.checkpointing': 'full' });
    assert.equal(checkpointed.modelFlopsPerStep, plain.modelFlopsPerStep);
    assert.equal(plain.hfuFlopsPerStep, plain.modelFlopsPerStep);
    assert.equal(checkpointed.hfuFlopsPerStep, plain.modelFlopsPerStep + L * (2 * T * perLayer + square));
    assert.equal(checkpointed.flopsPerStep, plain.flopsPerStep + L * layer);
  });
});

describe('FLOPs of attention', () => {
  const forward = (values: RunValues, model = llama) =>
    flopsOf(model, { ...BATCH, ...values }).forwardFlopsPerStep - 2 * T * matrices;

  it('are of all pairs where the kernel is given a mask, or scores are matrices', () => {
    assert.equal(forward({ 'attention.implementation': 'sdpa' }), L * causal);
    assert.equal(forward({ 'attention.implementation': 'sdpa', 'attention.mask': true }), L * square);
    assert.equal(forward({ 'attention.implementation': 'eager' }), L * square);
  });

  it('are bounded by a window: 4 a d pairs of it', () => {
    const mistral = aModel({ ...SMALL_LLAMA, model_type: 'mistral', sliding_window: 256, head_dim: d });
    const pairs = 256 * s - (256 * 255) / 2;
    assert.equal(forward({}, mistral), L * 4 * b * pairs * a * d);
  });

  it('are those of a sample’s own tokens where samples are packed and their mean length is known', () => {
    const packed = { 'batch.packed': true, 'batch.meanSequence': 128 } as const;
    const seen = documentTokens(aRun({ ...BATCH, ...packed, 'attention.implementation': 'flash2' }));
    // Exponential lengths of mean 128 up to 1024: nearly twice the mean.
    assert.ok(seen && seen > 240 && seen < 256, String(seen));
    const expected = (L * 4 * b * s * (seen + 1) * a * d) / 2;
    assert.ok(Math.abs(forward(packed) / expected - 1) < 1e-12);
    assert.equal(forward({ ...packed, 'attention.implementation': 'sdpa' }), L * causal);
    assert.equal(forward({ 'batch.packed': true }), L * causal);
  });

  it('are the same over all GPUs however tokens and heads are split', () => {
    const one = flopsOf(llama, { 'batch.sequence': 4096 });
    for (const split of ['parallel.context', 'parallel.ulysses', 'parallel.tensor'] as const) {
      const four = flopsOf(llama, { 'batch.sequence': 4096, 'hardware.gpus': 4, [split]: 4 });
      const error = four.flopsPerStep / one.flopsPerStep - 1;
      assert.ok(Math.abs(error) < 1e-9, `${split}: ${error}`);
    }
  });
});

describe('FLOPs of objectives', () => {
  const plain = flopsOf(llama, BATCH);

  it('count the forward of a reference beside the pair', () => {
    const dpo = flopsOf(llama, { ...BATCH, 'method.objective': 'dpo', 'method.referenceModel': true });
    assert.equal(dpo.referenceFlopsPerStep, 2 * plain.forwardFlopsPerStep);
    assert.equal(dpo.flopsPerStep, 2 * plain.flopsPerStep + 2 * plain.forwardFlopsPerStep);
    assert.equal(flopsOf(llama, { ...BATCH, 'method.objective': 'dpo' }).referenceFlopsPerStep, 0);
  });

  it('count the passes that score as the run states them', () => {
    const scored = flopsOf(llama, { ...BATCH, ...LORA_GRPO, 'method.scoringForwards': 2 });
    assert.equal(scored.referenceFlopsPerStep, 2 * plain.forwardFlopsPerStep);
    const unscored = {
      ...BATCH,
      ...LORA_GRPO,
      'method.objective': 'rloo',
      'method.scoringForwards': 0,
    } as const;
    assert.equal(flopsOf(llama, unscored).referenceFlopsPerStep, 0);
  });

  it('take the base without its adapters for the reference under LoRA', () => {
    const lora = { ...BATCH, 'method.kind': 'lora', 'lora.targets': ['q_proj'] } as const;
    const dpo = flopsOf(llama, { ...lora, 'method.objective': 'dpo' });
    assert.equal(dpo.referenceFlopsPerStep, 2 * plain.forwardFlopsPerStep);
    const known = flopsOf(llama, {
      ...lora,
      'method.objective': 'dpo',
      'method.precomputedReference': true,
    });
    assert.equal(known.referenceFlopsPerStep, 0);
  });

  it('count reward models of the same size and a value model that is trained', () => {
    const grpo = flopsOf(llama, { ...BATCH, 'method.objective': 'grpo', 'method.frozenModels': 2 });
    assert.equal(grpo.referenceFlopsPerStep, 2 * plain.forwardFlopsPerStep);
    const ppo = flopsOf(llama, { ...BATCH, 'method.objective': 'ppo', 'method.valueModel': true });
    assert.equal(ppo.flopsPerStep, 2 * plain.flopsPerStep);
  });

  it('count a teacher by its parameters', () => {
    const { referenceFlopsPerStep } = flopsOf(llama, { ...BATCH, 'method.frozenParameters': 7e9 });
    assert.equal(referenceFlopsPerStep, 2 * 7e9 * T);
  });

  it('run the model once more where it teaches itself', () => {
    const itself = { ...BATCH, 'method.objective': 'distillation', 'loss.divergence': 'mixture' } as const;
    assert.equal(flopsOf(llama, itself).referenceFlopsPerStep, plain.forwardFlopsPerStep);
    const taught = flopsOf(llama, { ...itself, 'method.frozenParameters': 7e9 });
    assert.equal(taught.referenceFlopsPerStep, 2 * 7e9 * T);
  });
});
