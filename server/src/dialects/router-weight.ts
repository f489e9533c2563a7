import type { ConfigNode } from '../config/node';
import { numberOf } from '../config/scalar';

/** Whether a weight of the loss that balances experts asks for it: any but zero does. Undefined where none is stated. */
export function isWeighed(node: ConfigNode): boolean | undefined {
  const weight = numberOf(node);
  return weight === undefined ? undefined : weight !== 0;
}

/** Documentation of keys that set the model's own `output_router_logits`. */
export const ROUTER_LOGITS =
  'The model returns the logits of its routers, and its experts are balanced by them.';
