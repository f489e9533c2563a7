import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import { type Block, rms } from '../layers/block';
import { fusedGatedMlp } from '../layers/fused-mlp';
import { type Mamba2Spec, mamba2 } from '../layers/mamba';
import type { Stage } from '../model';
import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';
import { headStage, take, tokenEmbeddingStage } from './decoder-model';
import type { Architecture, ModelFamily } from './family';
import { llamaAttention } from './llama-parts';
import { figuresOf, readSizes, type Sizes } from './sizes';
import { mustFit } from './vision-tower';

/** Two linear layers through a narrow width, which each use of a shared module has of its own. */
function adapter(name: string, rank: number, out: number): Block {
  return (t, x) =>
    t.inModule(undefined, () => {
      const low = t.linear(x, { name: `${name}.0`, out: rank });
      return t.linear(low, { name: `${name}.1`, out });
    });
}

/** Attention over the hidden states beside the embedded tokens, and an MLP: one module for all layers of its number. */
function sharedTransformer(config: ConfigReader, sizes: Sizes): (t: Tracer, x: Tensor) => Tensor {
  const wide = 2 * sizes.hidden;
  mustFit(config, 'attention_hidden_size', wide);
  const rank = config.sizeOr(128, 'adapter_rank');
  const headDim = config.sizeOr(Math.floor((2 * sizes.hidden) / sizes.heads), 'attention_head_dim');
  const adapters = {
    q: adapter('self_attn.linear_q_adapter_list', rank, wide),
    k: adapter('self_attn.linear_k_adapter_list', rank, wide),
    v: adapter('self_attn.linear_v_adapter_list', rank, wide),
  };
  const adapted = config.flag(false, 'use_shared_attention_adapter');
  const attention = llamaAttention(
    { ...sizes, headDim },
    {
      rotary: config.flag(false, 'use_mem_rope') ? 1 : 0,
      ...(adapted ? { added: (t: Tracer, x: Tensor, which: 'q' | 'k' | 'v') => adapters[which](t, x) } : {}),
    },
  );
  const mlp = fusedGatedMlp({
    name: 'feed_forward',
    inner: sizes.inner,
    activation: sizes.activation,
    gateUp: 'gate_up_proj',
    down: 'down_proj',
    bias: config.flag(false, 'add_bias_linear'),
    added: adapter('feed_forward.gate_up_proj_adapter_list', rank, 2 * sizes.inner),
  });
  return (t, x) => {
    const attended = attention(t, rms('input_layernorm')(t, x));
    return mlp(t, rms('pre_ff_layernorm')(t, attended));
  };
}

const KINDS: Readonly<Record<string, 'mamba' | 'hybrid'>> = {
  mamba: 'mamba',
  linear_attention: 'mamba',
  m: 'mamba',
  hybrid: 'hybrid',
  g: 'hybrid',
};

function kindsOf(config: ConfigReader): ('mamba' | 'hybrid')[] {
  const kinds = config.list('layers_block_type', 'layer_types');
  if (!kinds) throw new ConfigError(say('the config has no "layers_block_type"'));
  return kinds.map((item) => {
    const kind = typeof item === 'string' ? KINDS[item] : undefined;
    if (!kind)
      throw new ConfigError(say('layers of kind {0} are not supported in Zamba2', JSON.stringify(item)));
    return kind;
  });
}

function mixerOf(config: ConfigReader, hidden: number, module: string): Mamba2Spec {
  return {
    module,
    hidden,
    inner: hidden * config.sizeOr(2, 'mamba_expand'),
    heads: config.size('n_mamba_heads'),
    groups: config.sizeOr(1, 'mamba_ngroups'),
    state: config.size('mamba_d_state'),
    kernel: config.size('mamba_d_conv'),
    // `configuration_zamba2.py`.
    chunk: config.sizeOr(256, 'chunk_size'),
    // Whatever `use_conv_bias` states (`modeling_zamba2.py`, `Zamba2MambaMixer`).
    convBias: true,
    bias: config.flag(false, 'add_bias_linear'),
  };
}

/**
 * Zamba2 (`modeling_zamba2.py`): Mamba 2 layers, before some of which one of a few shared transformers reads the hidden states beside
 * the embedded tokens. Layers take turns in calling them.
 */
function zamba2(config: ConfigReader): Architecture {
  const kinds = kindsOf(config);
  const sizes = readSizes(config, kinds.length);
  // Untied, each layer would have a transformer of its own, with the adapters of all layers that called it.
  if (!sizes.tied)
    throw new ConfigError(say('a Zamba2 whose embedding is not tied to its head is not supported'));
  const blocks = config.sizeOr(1, 'num_mem_blocks');
  const transformer = sharedTransformer(config, sizes);
  const plain = mamba2(mixerOf(config, sizes.hidden, 'mamba'));
  const behind = mamba2(mixerOf(config, sizes.hidden, 'mamba_decoder.mamba'));
  const mixed = (t: Tracer, x: Tensor, input: Tensor, module: string, mixer: Block) =>
    t.add(x, mixer(t, rms(`${module}input_layernorm`)(t, input)), 'residual');
  const mambaTrace: Stage['trace'] = (t, flow) => {
    const hidden = t.enter(take(flow, 'hidden'), 'hidden');
    flow.set(
      'hidden',
      t.scope(() => mixed(t, t.hold(hidden), hidden, '', plain)),
    );
  };
  const hybridTrace =
    (turn: number): Stage['trace'] =>
    (t, flow) => {
      const hidden = t.enter(take(flow, 'hidden'), 'hidden');
      const original = t.enter(take(flow, 'original'), 'original');
      const module = { name: `shared_transformer.${turn % blocks}`, owned: turn < blocks };
      const width = (hidden.shape.at(-1) ?? 0) + (original.shape.at(-1) ?? 0);
      const made = t.scope(() => {
        t.hold(hidden);
        const joined = t.concat([hidden, original], [...hidden.shape.slice(0, -1), width]);
        const shared = t.inModule(module, () => t.scope(() => transformer(t, joined)));
        const transformed = t.linear(shared, { name: 'linear', out: sizes.hidden });
        const sum = t.add(hidden, transformed, 'transformer_hidden_states');
        return mixed(t, hidden, sum, 'mamba_decoder.', behind);
      });
      flow.set('hidden', made);
    };
  let turn = 0;
  const embedding = {
    name: 'embed_tokens',
    rows: sizes.vocabulary,
    columns: sizes.hidden,
    headTied: true,
  };
  const first = tokenEmbeddingStage(embedding);
  return {
    figures: figuresOf(sizes),
    stages: [
      {
        ...first,
        trace: (t, flow) => {
          first.trace(t, flow);
          const hidden = take(flow, 'hidden');
          flow.set('original', t.copy(hidden, hidden.shape, 'original_hidden_states'));
        },
      },
      ...kinds.map(
        (kind): Stage => ({
          name: 'layers',
          role: 'layer',
          count: 1,
          trace: kind === 'mamba' ? mambaTrace : hybridTrace(turn++),
        }),
      ),
      headStage({
        finalNorm: rms('final_layernorm'),
        head: {
          name: 'lm_head',
          vocabulary: sizes.vocabulary,
          tiedTo: 'embed_tokens.weight',
        },
      }),
    ],
  };
}

export const zamba: ModelFamily = { modelTypes: ['zamba2'], build: zamba2 };
