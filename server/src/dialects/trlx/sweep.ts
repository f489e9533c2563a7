import { entryOf } from '../../config/lookup';
import type { ConfigNode, ScalarNode } from '../../config/node';
import { numberOf, textOf } from '../../config/scalar';

/** A config whose sweeps stand at the largest value that they try, and those values. */
interface Settled {
  readonly root: ConfigNode;
  readonly chosen: readonly ScalarNode[];
}

/**
 * Hyperparameter sweeps (`{strategy, values}`) as the largest value that they try: memory has to do for all of them. Steps
 * of quantized ranges (`quniform`) are no values, and `randint` leaves its upper end out.
 */
export function settled(root: ConfigNode): Settled {
  const chosen: ScalarNode[] = [];
  const settle = (node: ConfigNode): ConfigNode => {
    if (node.kind !== 'map') return node;
    const largest = largestOf(node);
    if (largest) {
      chosen.push(largest);
      return largest;
    }
    return { ...node, entries: node.entries.map((entry) => ({ ...entry, value: settle(entry.value) })) };
  };
  return { root: settle(root), chosen };
}

function largestOf(node: ConfigNode): ScalarNode | undefined {
  const strategy = textOf(entryOf(node, 'strategy')?.value);
  const values = entryOf(node, 'values')?.value;
  if (strategy === undefined || values?.kind !== 'list') return undefined;
  const ends = /^q/.test(strategy) ? values.items.slice(0, 2) : values.items;
  let best: ScalarNode | undefined;
  let most = Number.NEGATIVE_INFINITY;
  for (const item of ends) {
    const number = numberOf(item);
    if (item.kind !== 'scalar' || number === undefined || number <= most) continue;
    best = item;
    most = number;
  }
  if (!best) return ends.find((item) => item.kind === 'scalar') as ScalarNode | undefined;
  return /randint/.test(strategy) ? { ...best, value: most - 1, text: String(most - 1) } : best;
}
