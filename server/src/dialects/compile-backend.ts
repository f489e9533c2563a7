import type { ConfigNode } from '../config/node';
import { textOf } from '../config/scalar';

/**
 * Whether a backend of `torch.compile` fuses operations, as Inductor does: `no` is none, and `eager` runs the captured operations one by one
 * (`torch/_dynamo/backends/debugging.py`). What others keep of a step (`aot_eager` has its backward pass planned, and fuses nothing) is not
 * known.
 */
export function fusesBy(node: ConfigNode): boolean | undefined {
  const backend = textOf(node)?.toLowerCase();
  if (backend === 'inductor') return true;
  return backend !== undefined && /^(?:no|false|eager)$/.test(backend) ? false : undefined;
}
