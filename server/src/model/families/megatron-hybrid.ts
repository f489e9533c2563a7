import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import type { Block } from '../layers/block';
import { megatronMamba } from '../layers/megatron-mamba';
import { residualLayer } from '../layers/residual';
import { layersOfKinds, type Sizes } from './sizes';

/** What Megatron's layers are made of, whichever of their branches each has. */
export interface MegatronParts {
  readonly norm: (name: string) => Block;
  readonly dropout: number;
  readonly attention: (rotates: boolean) => Block;
  readonly dense: Block;
  readonly experts?: Block;
}

/** The branch of a letter and the name of the norm before it (`megatron/core/models/hybrid/hybrid_layer_specs.py`, `hybrid_stack_spec`). */
interface Branch {
  readonly norm: string;
  readonly block: Block | undefined;
}

function branchOf(letter: string, config: ConfigReader, sizes: Sizes, parts: MegatronParts): Branch {
  switch (letter) {
    case 'M':
      return {
        norm: 'norm',
        block: megatronMamba({
          module: 'mixer',
          hidden: sizes.hidden,
          heads: config.size('mamba_num_heads'),
          headDim: config.size('mamba_head_dim'),
          groups: config.size('mamba_num_groups'),
          state: config.size('mamba_state_dim'),
        }),
      };
    case '*':
    case '+':
      return {
        norm: 'input_layernorm',
        block: parts.attention(config.text('learned', 'position_embedding') === 'rope'),
      };
    case '-':
      return { norm: 'pre_mlp_layernorm', block: parts.dense };
    default:
      return { norm: 'pre_mlp_layernorm', block: letter === 'E' ? parts.experts : undefined };
  }
}

/** Layers of one branch each, as the letters of `hybrid_layer_pattern` have them (`hybrid_block.py`, `HybridStack`). */
export function hybridLayers(
  config: ConfigReader,
  sizes: Sizes,
  parts: MegatronParts,
  pattern = config.text('', 'hybrid_layer_pattern'),
): Block[] {
  return layersOfKinds([...pattern], (letter): Block => {
    const { norm, block } = branchOf(letter, config, sizes, parts);
    if (!block) throw new ConfigError(say('layers of kind {0} are not supported', JSON.stringify(letter)));
    const beforeMixer = parts.norm(norm);
    return (t, x) => residualLayer(t, x, { beforeMixer, mixer: block, dropout: parts.dropout });
  });
}

/** The layers that predict one further token, one after the other, without a norm behind them (`multi_token_prediction.py`, `HybridStack`). */
export function hybridPrediction(
  config: ConfigReader,
  sizes: Sizes,
  parts: MegatronParts,
): Block | undefined {
  const layers = hybridLayers(config, sizes, parts, config.text('', 'mtp_hybrid_pattern'));
  if (layers.length === 0) return undefined;
  return (t, x) =>
    layers.reduce(
      (hidden, layer, i) =>
        t.inModule({ name: `mtp_model_layer.layers.${i}`, owned: true }, () => layer(t, hidden)),
      x,
    );
}
