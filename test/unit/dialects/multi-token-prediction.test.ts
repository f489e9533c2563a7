import assert from 'node:assert/strict';
import { stagesOfLayout } from '../../../server/src/dialects/megatron/pipeline-layout';
import { pipelineStages } from '../../../server/src/memory/pipeline';
import { type TracedStage, traceRun } from '../../../server/src/memory/traced-run';
import { sumWeights } from '../../../server/src/memory/weights';
import { modelFromConfig } from '../../../server/src/model/catalog';
import type { RunValues } from '../../../server/src/run/fields';
import { aRun } from '../memory/a-run';
import { assertStates, modelOf, read } from './reading';

type Flags = Readonly<Record<string, string | number | boolean>>;

function megatron(flags: Flags) {
  const lines = Object.entries({ seq_length: 128, micro_batch_size: 1, ...flags }).map(
    ([key, value]) => `  --${key.replaceAll('_', '-')}: ${value}`,
  );
  const uri = 'file:///tests/moe/case/model_config.yaml';
  return read('megatron', uri, `MODEL_ARGS:\n${lines.join('\n')}\n`);
}

const HIDDEN = 256;
const VOCABULARY = 1024;

const GPT: Flags = {
  num_layers: 4,
  hidden_size: HIDDEN,
  ffn_hidden_size: 512,
  num_attention_heads: 4,
  vocab_size: VOCABULARY,
  max_position_embeddings: 128,
  position_embedding_type: 'rope',
  normalization: 'RMSNorm',
  swiglu: true,
  disable_bias_linear: true,
  untie_embeddings_and_output_weights: true,
};

/** A layer of `GPT`: two norms, attention and a gated MLP. */
const LAYER = 2 * HIDDEN + 4 * HIDDEN ** 2 + 3 * HIDDEN * 512;
/** Norms of the tokens, of the hidden states and behind the layer, and `eh_proj` (`multi_token_prediction.py`). */
const AROUND = 3 * HIDDEN + 2 * HIDDEN * HIDDEN;

const weightsOf = (flags: Flags) => modelOf(megatron({ ...GPT, ...flags })).parameters.total;

function traced(
  flags: Flags,
  values: RunValues = {},
): { stages: TracedStage[]; run: ReturnType<typeof aRun> } {
  const config = megatron({ ...GPT, ...flags }).facts.find(({ field }) => field === 'model.config')?.value;
  const model = modelFromConfig(config as Record<string, unknown>, 'gpt', 'inline');
  assert.ok(!('error' in model));
  const run = aRun({
    'model.code': 'megatron',
    'precision.weights': 'bf16',
    'precision.compute': 'bf16',
    'precision.scheme': 'megatron',
    'loss.implementation': 'vocab-parallel',
    'batch.micro': 1,
    'batch.sequence': 128,
    ...values,
  });
  return { stages: traceRun(model, run), run };
}

/** Weights on the last of two pipeline stages. */
function onLastStage(flags: Flags): number {
  const { stages, run } = traced(flags, {
    'parallel.pipeline': 2,
    'batch.accumulation': 2,
    'hardware.gpus': 2,
  });
  const last = pipelineStages(stages, run, true).at(-1);
  return sumWeights(last?.stages ?? [], run).total;
}

describe('multi-token prediction of Megatron-Core', () => {
  it('adds norms, a projection and a layer for each token further on', () => {
    const without = weightsOf({});
    assert.equal(without, 4 * LAYER + HIDDEN + 2 * VOCABULARY * HIDDEN);
    assert.equal(weightsOf({ mtp_num_layers: 1 }), without + AROUND + LAYER);
    assert.equal(weightsOf({ mtp_num_layers: 3 }), without + 3 * (AROUND + LAYER));
    assert.equal(weightsOf({ mtp_num_layers: 3, mtp_use_repeated_layer: true }), without + AROUND + LAYER);
  });

  it('has the layer of the last one of the decoder', () => {
    const experts = { num_experts: 4, moe_ffn_hidden_size: 64, moe_router_topk: 2 };
    const sparse = 2 * HIDDEN + 4 * HIDDEN ** 2 + 4 * HIDDEN + 4 * 3 * HIDDEN * 64;
    const of = (moe_layer_freq: string) =>
      weightsOf({ ...experts, moe_layer_freq, mtp_num_layers: 1 }) -
      weightsOf({ ...experts, moe_layer_freq });
    assert.equal(of('([0]*1+[1]*3)'), AROUND + sparse);
    assert.equal(of('([1]*3+[0]*1)'), AROUND + LAYER);
  });

  it('has the layers of its letters in a hybrid', () => {
    const mamba = { ...GPT, normalization: 'RMSNorm', mtp_use_repeated_layer: false };
    const of = (hybrid_layer_pattern: string) => weightsOf({ ...mamba, hybrid_layer_pattern });
    const [attention, mlp] = [HIDDEN + 4 * HIDDEN ** 2, HIDDEN + 3 * HIDDEN * 512];
    assert.equal(of('M*-/*-/*-') - of('M*-'), 2 * (AROUND + attention + mlp));
    assert.equal(of('M*-/*--') - of('M*-'), AROUND + attention + 2 * mlp);
    const old = { hybrid_override_pattern: 'M*-', mtp_hybrid_override_pattern: '"*-"', mtp_num_layers: 2 };
    assert.equal(weightsOf({ ...mamba, ...old }), of('M*-/*-/*-'));
  });

  it('lies on the last pipeline stage, with an embedding of its own there', () => {
    const depth = AROUND + LAYER;
    const without = 2 * LAYER + HIDDEN + VOCABULARY * HIDDEN;
    assert.equal(onLastStage({}), without);
    assert.equal(onLastStage({ mtp_num_layers: 1 }), without + depth + VOCABULARY * HIDDEN);
    assert.equal(onLastStage({ mtp_num_layers: 2 }), without + 2 * depth + VOCABULARY * HIDDEN);
    const repeated = { mtp_num_layers: 2, mtp_use_repeated_layer: true };
    assert.equal(onLastStage(repeated), without + depth + VOCABULARY * HIDDEN);
    // The output layer allocates its weight wherever the first stage is another (`gpt_model.py`, `skip_weight_param_allocation`).
    const tied = { untie_embeddings_and_output_weights: false };
    assert.equal(onLastStage({ ...tied, mtp_num_layers: 1 }), without + depth + VOCABULARY * HIDDEN);
  });

  it('keeps a softmax for the loss of each depth, and the hidden states of all as one', () => {
    const kept = (depths: number) => {
      const head = traced({ mtp_num_layers: depths }).stages.at(-1);
      return head?.tape.operations.flatMap(({ saves }) => saves) ?? [];
    };
    for (const depths of [1, 2]) {
      const softmaxes = kept(depths).filter(
        ({ bytes, kind }) => kind === 'logits' && bytes > 4 * 128 * VOCABULARY,
      );
      assert.equal(softmaxes.length, 1 + depths);
      const states = new Set(kept(depths).filter(({ name }) => name === 'cat'));
      assert.deepEqual(
        [...states].map(({ bytes }) => bytes),
        [(1 + depths) * 128 * HIDDEN * 2],
      );
    }
  });

  it('is computed again as a whole layer, but not where blocks of layers are', () => {
    const whole = (values: RunValues) =>
      pipelineStages(traced({ mtp_num_layers: 1 }, values).stages, aRun(values))[0]?.stages.find(
        ({ stage }) => stage.name === 'mtp.layers',
      )?.whole;
    assert.equal(whole({ 'activations.checkpointing': 'full' }), undefined);
    assert.equal(whole({ 'activations.checkpointing': 'full', 'activations.layers': 9 }), true);
  });

  it('is modelled where the arguments build the model', () => {
    const features = (flags: Flags, expected: string | undefined) =>
      assertStates(megatron({ ...GPT, ...flags }), { 'features.unmodelled': expected });
    features({ mtp_num_layers: 1 }, undefined);
    features({ hybrid_layer_pattern: 'M*-/*-' }, undefined);
    features({ hybrid_layer_pattern: 'M*-', mtp_num_layers: 1 }, 'multi-token-prediction file');
    features({ mtp_num_layers: 2, mtp_hsm: true }, 'multi-token-prediction file');
    const stages = { pipeline_model_parallel_size: 4, mtp_num_layers: 1 };
    features({ ...stages, pipeline_model_parallel_layout: 'Et|t|tt|mL' }, undefined);
    features({ ...stages, pipeline_model_parallel_layout: 'Et|tt|tm|L' }, 'multi-token-prediction file');
    features(
      { ...stages, pipeline_model_parallel_layout: '[[embedding], [mtp]]' },
      'multi-token-prediction file',
    );
    features({ ...stages, pipeline_model_parallel_layout: 'null' }, undefined);
  });
});

describe('a layout of pipeline stages', () => {
  it('is read as Megatron-Core reads it', () => {
    const layers = (text: string) => stagesOfLayout(text)?.map((stage) => stage.layers);
    assert.deepEqual(layers('Ettt|(tt|)*3,m|L'), [3, 2, 2, 2, 0, 0]);
    assert.deepEqual(layers('Et*3|(tt|)*6mL'), [3, 2, 2, 2, 2, 2, 2, 0]);
    assert.deepEqual(stagesOfLayout('Et|tm*2L')?.at(-1), { layers: 1, predicting: 2 });
    for (const text of ['', 'ttt', 'Etx|L', 'Et*99999999|L', '[[embedding]]'])
      assert.equal(stagesOfLayout(text), undefined, text);
  });

  it('gives the stages, and their chunks', () => {
    const layout = (pipeline_model_parallel_layout: string) =>
      megatron({ ...GPT, pipeline_model_parallel_size: 2, pipeline_model_parallel_layout });
    assertStates(layout('Et|tttL'), {
      'parallel.stageLayers': '1,3 file',
      'parallel.virtualStages': undefined,
    });
    assertStates(layout('Et|t|t|tL'), {
      'parallel.stageLayers': '1,1,1,1 file',
      'parallel.virtualStages': '2 file',
      'parallel.pipelineSchedule': 'interleaved file',
    });
    for (const unread of ['[[embedding, decoder], [decoder, loss]]', 'Et|t|tL'])
      assertStates(layout(unread), { 'parallel.stageLayers': undefined });
  });
});
