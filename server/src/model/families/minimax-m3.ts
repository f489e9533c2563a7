import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import { type Block, rms } from '../layers/block';
import { fusedGatedMlp } from '../layers/fused-mlp';
import { mixtureOfExperts } from '../layers/moe';
import { ELEMENT_BYTES } from '../tape';
import type { Architecture, ModelFamily } from './family';
import { llamaAttention } from './llama-parts';
import { eachLayer, sigmoidMoe } from './sigmoid-experts';
import { readSizes, type Sizes } from './sizes';
import { sparseDecoder } from './sparse-decoder';

/** Gate and up in one linear layer, clamped as gpt-oss does it (`MiniMaxM3VLDenseMLP`). */
function jointMlp(name: string, inner: number): Block {
  return fusedGatedMlp({
    name,
    inner,
    gateUp: 'gate_up_proj',
    down: 'down_proj',
    activation: 'clamped',
  });
}

/** What ranks blocks of keys for each query: heads of their own, as many as there are key heads. */
interface BlockIndexer {
  readonly heads: number;
  readonly dim: number;
}

/**
 * The indexer's choice as a mask of every query head over all keys, which SDPA is given (`MiniMaxM3VLIndexer`,
 * `build_block_mask`). Its indices carry no gradient: of its scores in fp32 nothing stays.
 */
function blockMask(sizes: Sizes, { heads, dim }: BlockIndexer): Block {
  return (t, x) => {
    const [batch = 1, sequence = 1] = x.shape;
    const name = 'self_attn.indexer';
    t.registerWeightsOf((probe) => {
      const token = probe.input([1, 1, sizes.hidden], x.dtype, false, name);
      const q = probe.linear(token, { name: `${name}.q_proj`, out: heads * dim });
      const k = probe.linear(token, { name: `${name}.k_proj`, out: dim });
      rms(`${name}.q_norm`, 'gemma')(probe, probe.view(q, [1, 1, heads, dim]));
      rms(`${name}.k_norm`, 'gemma')(probe, k);
    });
    const queryHeads = sizes.heads / t.settings.tensorParallel;
    const pairs = batch * sequence * sequence;
    const width = ELEMENT_BYTES[x.dtype];
    // Scores and their masked copy; then two masks of a byte per head, and zeros that the last one is filled over.
    const scores = 2 * heads * pairs * ELEMENT_BYTES.fp32;
    return t.fused({
      name,
      inputs: [],
      outputs: [{ shape: [batch, queryHeads, sequence, sequence], dtype: x.dtype }],
      pairs: true,
      forwardScratch: Math.max(scores, queryHeads * pairs * (2 + width)),
      flops: 2 * batch * sequence * sizes.hidden * dim * (heads + 1) + 2 * pairs * heads * dim,
    });
  };
}

/** The indexer's sizes, under the names of the class or, as the checkpoint has them, in a section. */
function indexerOf(config: ConfigReader): BlockIndexer {
  const section = config.nested('', 'sparse_attention_config');
  return {
    heads: section.sizeOr(config.size('index_n_heads'), 'sparse_num_index_heads'),
    dim: section.sizeOr(config.size('index_head_dim'), 'sparse_index_dim'),
  };
}

/** MiniMax M3's language model: M2's experts with a shared one and gpt-oss's gate, attention over chosen blocks of keys. */
function minimaxM3(config: ConfigReader): Architecture {
  const sizes = readSizes(config);
  const section = config.nested('', 'sparse_attention_config');
  const indexer = indexerOf(config);
  if (sizes.heads % indexer.heads !== 0) {
    throw new ConfigError(
      say(
        '{0} attention heads cannot share {1} key and value heads evenly',
        String(sizes.heads),
        String(indexer.heads),
      ),
    );
  }
  const listed = config.list('layer_types');
  const chooses = section.list('sparse_attention_freq');
  const isSparse = eachLayer(config, ['mlp_layer_types', 'moe_layer_freq'], 'sparse');
  const attention = (mask?: Block) =>
    llamaAttention(sizes, {
      norm: { kind: 'head', style: 'gemma' },
      rotary: config.sizeOr(sizes.headDim, 'rotary_dim') / sizes.headDim,
      mask,
    });
  const moe = sigmoidMoe(config.fixed({ moe_intermediate_size: sizes.inner }), sizes, 0, false);
  const experts = mixtureOfExperts({
    ...moe,
    experts: { ...moe.experts, clamped: true },
    shared: {
      name: 'mlp.shared_experts',
      inner: 0,
      first: true,
      block: jointMlp('mlp.shared_experts', config.size('shared_intermediate_size')),
    },
    scaledSum: true,
  });
  const dense = jointMlp('mlp', config.size('dense_intermediate_size'));
  return sparseDecoder<string>(sizes, {
    kinds: Array.from({ length: sizes.layers }, (_, i) => {
      const chosen = listed ? listed[i] === 'minimax_m3_sparse' : chooses?.[i] === 1;
      return `${chosen ? 'blocks' : 'all'}/${isSparse(i, true) ? 'sparse' : 'dense'}`;
    }),
    mixer: (kind) => attention(kind.startsWith('blocks') ? blockMask(sizes, indexer) : undefined),
    feedForward: (kind) => (kind.endsWith('sparse') ? experts : dense),
    norms: ['input_layernorm', 'post_attention_layernorm'],
    normOf: (name) => rms(name, 'gemma'),
    finalNorm: 'norm',
    embedding: 'embed_tokens',
    notes: [
      say('the tokens that each one sees are chosen by a mask over all of them, as transformers does it'),
    ],
  });
}

export const minimaxM3Family: ModelFamily = {
  // The checkpoint's own name of the type, and transformers'.
  modelTypes: ['minimax_m3_vl_text', 'minimax_m3'],
  build: (config) => minimaxM3(config.as('minimax_m3_vl_text')),
};
