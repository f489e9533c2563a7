import type { FoundKey, Section } from '../section';
import type { GptShape } from './gpt-shape';

const PATTERN = ['hybrid_layer_pattern', 'hybrid_override_pattern'];

/** `Symbols` of `megatron/core/models/hybrid/hybrid_layer_allocation.py`: Mamba, attention, latent attention, MLP, experts. */
const LETTERS = /^[M*+E-]+$/;

type Hybrid = NonNullable<GptShape['hybrid']> & { readonly furtherTokens?: number };

/** Letters of the layers that predict one further token, the same for each: behind a slash each, or in a flag of their own once. */
function predictionOf(
  args: Section,
): { readonly pattern: string; readonly depths: number } | 'unequal' | undefined {
  const [, first, ...others] = (args.text(PATTERN) ?? '').split('/');
  if (first !== undefined && first !== '')
    return others.every((other) => other === first)
      ? { pattern: first, depths: 1 + others.length }
      : 'unequal';
  const pattern = args.text('mtp_hybrid_override_pattern');
  const depths = args.integer('mtp_num_layers') ?? 0;
  return pattern !== undefined && depths > 0 ? { pattern, depths } : undefined;
}

/** The letters of the decoder's layers, without the bounds of stages; undefined where the flags are those of no hybrid. */
function patternOf(args: Section): string | undefined {
  const stated = args.text(PATTERN);
  if (stated !== undefined) return (stated.split('/')[0] ?? '').replaceAll('|', '');
  const layers = args.integer('num_layers');
  const ratios = args.has(['hybrid_attention_ratio', 'hybrid_mlp_ratio']);
  if (layers === undefined || (!ratios && args.flag('is_hybrid_model') !== true)) return undefined;
  return patternFromRatios(
    layers,
    args.numberOrDefault('hybrid_attention_ratio'),
    args.numberOrDefault('hybrid_mlp_ratio'),
  );
}

/** Python's `round`: halves go to the even number. */
function roundedHalf(value: number): number {
  const below = Math.floor(value);
  if (value - below === 1 / 2) return below + (below % 2);
  return Math.round(value);
}

/** `pattern_from_ratios`: attention evenly between sections of Mamba, then MLPs evenly in the place of some of them. */
export function patternFromRatios(layers: number, attention: number, mlp: number): string {
  const letters = new Array<string>(layers).fill('M');
  const attentions = roundedHalf(layers * attention);
  const section = (layers - attentions) / (attentions + 1);
  let x = section;
  for (let i = 0; i < layers; i++) {
    if (x < 1 / 2) {
      letters[i] = '*';
      x += section;
    } else x -= 1;
  }
  const mlps = roundedHalf(layers * mlp);
  if (mlps === 0) return letters.join('');
  const ratio = (layers - attentions - mlps) / mlps;
  x = ratio;
  for (let i = 0; i < layers; i++) {
    if (letters[i] !== 'M') continue;
    if (x < 1 / 2) {
      letters[i] = '-';
      x += ratio;
    } else x -= 1;
  }
  return letters.join('');
}

/**
 * A hybrid of layers of one branch each (`HybridModel`, `MambaModel` before), with the defaults of `megatron/training/arguments.py`
 * and of `MambaMixer`; `unknown` where it has layers of a kind that is not built.
 */
export function hybridOf(args: Section, hidden: number | undefined): Hybrid | 'unknown' | undefined {
  const pattern = patternOf(args);
  if (pattern === undefined) return undefined;
  if (hidden === undefined || !LETTERS.test(pattern)) return 'unknown';
  if (pattern.includes('E') && args.integer('num_experts') === undefined) return 'unknown';
  // Attention is of one kind (`_validate_pattern`), that of the flag.
  const latent = args.flag('multi_latent_attention') === true;
  if (pattern.includes(latent ? '*' : '+')) return 'unknown';
  const headDim = args.integerOrDefault('mamba_head_dim');
  const prediction = predictionOf(args);
  if (prediction === 'unequal') return 'unknown';
  const letters = prediction?.pattern ?? '';
  if (letters !== '' && (!LETTERS.test(letters) || letters.includes(latent ? '*' : '+'))) return 'unknown';
  if (letters.includes('E') && args.integer('num_experts') === undefined) return 'unknown';
  return {
    pattern,
    // `expand`, which no argument sets, is 2.
    heads: args.integer('mamba_num_heads') ?? Math.floor((2 * hidden) / headDim),
    headDim,
    groups: args.integerOrDefault('mamba_num_groups'),
    state: args.integerOrDefault('mamba_state_dim'),
    ...(prediction ? { predicting: prediction.pattern, furtherTokens: prediction.depths } : {}),
  };
}

/** Layers of each stage, or of each of its chunks, where the pattern bounds them with `|` (`select_pipeline_segment`). */
export function stagesOfPattern(
  args: Section,
): { readonly layers: readonly string[]; readonly found: FoundKey } | undefined {
  const found = args.find(PATTERN);
  const segments = args.text(PATTERN)?.split('/')[0]?.split('|');
  if (!found || !segments || segments.length < 2) return undefined;
  return { layers: segments.map((segment) => String(segment.length)), found };
}
