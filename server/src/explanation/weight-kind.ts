import type { Weight } from '../model/tape';

export const WEIGHT_KINDS = [
  'embedding',
  'attention',
  'MLP',
  'experts',
  'state-space mixer',
  'norms',
  'head',
  'adapters',
  'other',
] as const;
/** Kinds of modules that people tell apart. */
export type WeightKind = (typeof WEIGHT_KINDS)[number];

const NAMES: readonly (readonly [RegExp, WeightKind])[] = [
  [/experts?\b|\brouter\b|mlp\.gate\.|moe/i, 'experts'],
  [/(^|\.|_)(ln|norm|layer_?norm|rmsnorm|layernorm)(_|\d|\.|$)|layernorm|layer_norm|norm\./i, 'norms'],
  [/mamba|linear_attn|conv1d|A_log|dt_proj|x_proj|in_proj_(ba|qkvz)/, 'state-space mixer'],
  [/att(n|ention)|\b[qkv]_proj|\bo_proj|W_?qkv|sinks|query|_lin\b/i, 'attention'],
  [/mlp|feed_?forward|ffn|fc_?\d?|intermediate|DenseReluDense|gate|up_proj|down_proj|w[123]\b|dense/i, 'MLP'],
];

/** Kind of the module that a weight belongs to: by its role, else by the words that reference code names modules with. */
export function weightKind(weight: Weight, stageRole: string): WeightKind {
  if (weight.role === 'adapter') return 'adapters';
  if (weight.role === 'embedding') return 'embedding';
  if (weight.role === 'head') return 'head';
  if (weight.expert || weight.activeShare < 1) return 'experts';
  const norm = NAMES.find(([pattern]) => pattern.test(weight.name))?.[1];
  if (norm === 'norms' && weight.role === 'vector') return 'norms';
  if (stageRole === 'embedding') return norm === 'norms' ? 'norms' : 'embedding';
  if (stageRole === 'head') return norm === 'norms' ? 'norms' : 'head';
  // A final norm is a stage of its own.
  if (stageRole === 'norm' && weight.role === 'vector') return 'norms';
  return norm ?? 'other';
}
