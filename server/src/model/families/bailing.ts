import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import type { Block } from '../layers/block';
import { gatedMlp } from '../layers/mlp';
import { mixtureOfExperts } from '../layers/moe';
import type { Architecture, ModelFamily } from './family';
import { llamaAttention } from './llama-parts';
import { sigmoidMoe } from './sigmoid-experts';
import { readSizes } from './sizes';
import { sparseDecoder } from './sparse-decoder';

/**
 * Ling 2.0 (`BailingMoeV2ForCausalLM`, of which transformers has no class): queries, keys and values of one linear layer, heads normed and
 * rotated by half, experts chosen by sigmoid scores and a bias of each, a shared one beside them.
 */
function build(config: ConfigReader): Architecture {
  if (!config.flag(false, 'use_qk_norm') || config.text('sigmoid', 'score_function') !== 'sigmoid') {
    throw new ConfigError(say('"{0}" is not supported', 'use_qk_norm: false, score_function: softmax'));
  }
  const sizes = readSizes(config);
  const attention = llamaAttention(sizes, {
    module: 'attention',
    projections: 'query_key_value',
    output: 'dense',
    bias: { qkv: config.flag(false, 'use_qkv_bias'), output: config.flag(false, 'use_bias') },
    norm: { kind: 'head', names: ['query_layernorm', 'key_layernorm'] },
    rotary: config.rotaryShare(1),
  });
  const moe = sigmoidMoe(config, sizes, config.count(0, 'num_shared_experts'));
  const routed = mixtureOfExperts({ ...moe, router: { ...moe.router, correction: 'mlp.gate.expert_bias' } });
  const dense: Block = (t, x) =>
    gatedMlp(t, x, { name: 'mlp', inner: sizes.inner, activation: sizes.activation });
  const first = config.count(0, 'first_k_dense_replace');
  return sparseDecoder<'sparse' | 'dense'>(sizes, {
    kinds: Array.from({ length: sizes.layers }, (_, i) => (i < first ? 'dense' : 'sparse')),
    mixer: () => attention,
    feedForward: (kind) => (kind === 'sparse' ? routed : dense),
    norms: ['input_layernorm', 'post_attention_layernorm'],
    finalNorm: 'norm',
    embedding: 'word_embeddings',
  });
}

export const bailing: ModelFamily = { modelTypes: ['bailing_moe', 'bailing_moe_v2'], build };
