import type { ConfigNode } from '../../config/node';
import { integerOf, textOf } from '../../config/scalar';
import type { FieldValue } from '../../run/fields';

type Strategy = FieldValue<'fsdp.strategy'>;
const STRATEGIES: readonly (readonly [name: string, value: Strategy])[] = [
  ['FULL_SHARD', 'full'],
  ['SHARD_GRAD_OP', 'grad-op'],
  ['NO_SHARD', 'none'],
  ['HYBRID_SHARD', 'hybrid'],
  ['HYBRID_SHARD_ZERO2', 'hybrid-grad-op'],
];

/** Strategy by name in any case, or by the number 1 to 5 that torch gives it. */
export function strategyOf(node: ConfigNode): Strategy | undefined {
  const text = textOf(node)?.toUpperCase();
  const byName = STRATEGIES.find(([name]) => name === text)?.[1];
  return byName ?? STRATEGIES[(integerOf(node) ?? 0) - 1]?.[1];
}
