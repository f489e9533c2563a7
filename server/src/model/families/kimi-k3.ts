import { say } from '../../wording/say';
import type { ConfigReader, JsonObject } from '../config';
import { type Block, rms } from '../layers/block';
import { kimiDeltaAttention } from '../layers/kimi-delta-attention';
import { gatedMlp } from '../layers/mlp';
import { mixtureOfExperts } from '../layers/moe';
import type { Stage } from '../model';
import type { Tracer } from '../tracer';
import { deepseekAttention } from './deepseek-attention';
import type { Architecture, ModelFamily } from './family';
import { sigmoidMoe } from './sigmoid-experts';
import { readSizes, type Sizes } from './sizes';
import { sparseDecoder } from './sparse-decoder';
import { unheardStage } from './unheard-tower';

/** What the configuration class has where the file leaves it out (NeMo Automodel, `models/kimi_k3/config.py`). */
const FILLED: JsonObject = {
  first_k_dense_replace: 1,
  num_expert_group: 1,
  topk_group: 1,
  hidden_act: 'silu',
};

/** A block, and weights beside it of which nothing is played. */
function beside(block: Block, weights: (t: Tracer) => void): Block {
  return (t, x) => {
    t.registerWeightsOf(weights);
    return block(t, x);
  };
}

const entered = (t: Tracer, width: number) =>
  t.input([1, 1, width], t.settings.computeDtype, false, 'entered');

/** A norm and a score for the states of earlier blocks of layers (`self_attention_res_norm`, `mlp_res_proj`). */
function residualScore(t: Tracer, name: string, hidden: number): void {
  t.weight({ name: `${name}_norm.weight`, shape: [hidden] });
  t.linear(entered(t, hidden), { name: `${name}_proj`, out: 1 });
}

/** Experts in a width of their own behind a norm, and a shared one of the full width (`KimiK3MoE`). */
function experts(config: ConfigReader, sizes: Sizes): Block {
  const latent = config.size('routed_expert_hidden_size');
  const shared = config.count(0, 'num_shared_experts');
  const moe = sigmoidMoe(
    config.fixed({ num_experts_per_tok: config.size('num_experts_per_token', 'num_experts_per_tok') }),
    sizes,
    shared,
  );
  const routed = mixtureOfExperts({
    ...moe,
    experts: {
      ...moe.experts,
      latent: { width: latent, into: 'mlp.routed_expert_down_proj', outOf: 'mlp.routed_expert_up_proj' },
    },
  });
  if (!config.flag(false, 'latent_moe_use_norm')) return routed;
  return beside(routed, (t) => t.weight({ name: 'mlp.routed_expert_norm.weight', shape: [latent] }));
}

/** Kimi Linear's layers with gates of full rank, and on every layer a choice among what earlier blocks of layers gave. */
function textOf(stated: ConfigReader): Architecture {
  const missing = Object.entries(FILLED).filter(([name]) => stated.stated(name) === undefined);
  const config = stated.fixed({ ...Object.fromEntries(missing), hidden_act: 'silu' });
  const sizes = readSizes(config);
  const { hidden } = sizes;
  const section = config.nested('', 'linear_attn_config');
  const full = new Set((section.list('full_attn_layers') ?? []).map(Number));
  const dense = config.size('first_k_dense_replace');
  const latent = deepseekAttention(config, sizes);
  const gated = sizes.heads * config.size('v_head_dim');
  const attention = config.flag(false, 'mla_use_output_gate')
    ? beside(latent, (t) => {
        t.linear(entered(t, hidden), { name: 'self_attn.g_proj', out: gated, split: 'column' });
      })
    : latent;
  const delta = kimiDeltaAttention({
    module: 'self_attn',
    hidden,
    heads: section.size('num_heads'),
    headDim: section.size('head_dim'),
    kernel: section.size('short_conv_kernel_size'),
    fullGate: section.flag(false, 'use_full_rank_gate'),
  });
  const scored = config.has('attn_res_block_size');
  const withScores = (mixer: Block): Block =>
    scored
      ? beside(mixer, (t) => {
          residualScore(t, 'self_attention_res', hidden);
          residualScore(t, 'mlp_res', hidden);
        })
      : mixer;
  const mixers = { all: withScores(attention), delta: withScores(delta) };
  const routed = experts(config, sizes);
  const plain: Block = (t, x) =>
    gatedMlp(t, x, { name: 'mlp', inner: sizes.inner, activation: sizes.activation });
  const text = sparseDecoder<`${'all' | 'delta'}/${'sparse' | 'dense'}`>(sizes, {
    kinds: Array.from(
      { length: sizes.layers },
      (_, i) => `${full.has(i + 1) ? 'all' : 'delta'}/${i >= dense ? 'sparse' : 'dense'}` as const,
    ),
    mixer: (kind) => (kind.startsWith('all') ? mixers.all : mixers.delta),
    feedForward: (kind) => (kind.endsWith('sparse') ? routed : plain),
    norms: ['input_layernorm', 'post_attention_layernorm'],
    finalNorm: 'norm',
    embedding: 'embed_tokens',
  });
  const output = unheardStage('output_attn_res', scored ? 1 : 0, (t) =>
    residualScore(t, 'output_attn_res', hidden),
  );
  return {
    ...text,
    stages: scored ? [output, ...text.stages] : text.stages,
    unplayed: ['attention-residuals'],
    notes: [say('what each layer reads of earlier blocks of layers is not estimated')],
  };
}

/** MoonViT with norms of one gain, attention in a width of its own and no biases, and its projector (`MoonViT3dPretrainedModel`). */
function tower(config: ConfigReader, width: number): Stage[] {
  const hidden = config.size('vt_hidden_size');
  const inner = config.size('vt_intermediate_size');
  const own = config.sizeOr(hidden, 'qkv_hidden_size');
  const [high = 2, wide = 2] = (config.list('merge_kernel_size') ?? []).map(Number);
  const joined = hidden * high * wide;
  const patch = config.size('patch_size');
  const prefix = 'vision_tower.';
  const grid = config.size('init_pos_emb_height') * config.size('init_pos_emb_width');
  return [
    unheardStage('vision_tower', 1, (t) => {
      t.weight({ name: `${prefix}patch_embed.proj.weight`, shape: [hidden, 3, patch, patch] });
      t.weight({ name: `${prefix}patch_embed.pos_emb.weight`, shape: [grid, hidden], role: 'embedding' });
      rms(`${prefix}final_layernorm`)(t, entered(t, hidden));
      t.linear(entered(t, joined), { name: 'mm_projector.proj.0', out: joined });
      t.linear(entered(t, joined), { name: 'mm_projector.proj.2', out: width });
      rms('mm_projector.post_norm')(t, entered(t, width));
    }),
    unheardStage('vision_tower.blocks', config.size('vt_num_hidden_layers'), (t) => {
      for (const norm of ['norm0', 'norm1']) rms(`${prefix}${norm}`)(t, entered(t, hidden));
      t.linear(entered(t, hidden), { name: `${prefix}wqkv`, out: 3 * own });
      t.linear(entered(t, own), { name: `${prefix}wo`, out: hidden });
      t.linear(entered(t, hidden), { name: `${prefix}mlp.fc0`, out: inner });
      t.linear(entered(t, inner), { name: `${prefix}mlp.fc1`, out: hidden });
    }),
  ];
}

/**
 * Kimi K3, which transformers has no class for: counted as NeMo Automodel builds it (`nemo_automodel/components/models/kimi_k3/model.py`). Its
 * activation, gates, and the residuals between blocks of layers are not played, so no run of it gets a verdict.
 */
function build(config: ConfigReader): Architecture {
  const text = textOf(config.textModel('kimi_linear'));
  if (!config.has('vision_config')) return text;
  const seen = tower(config.nested('kimi_k3_vision', 'vision_config'), text.figures.hiddenSize);
  return { ...text, stages: [...seen, ...text.stages], playsImages: false };
}

export const kimiK3: ModelFamily = { modelTypes: ['kimi_k3'], build };
