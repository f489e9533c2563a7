import { nodeAt } from '../../config/lookup';
import type { ConfigNode } from '../../config/node';
import { textOf } from '../../config/scalar';

/** The last part of what stands as `type`: a class or function by its name, or its name as text; undefined of what no library has. */
export const typeOf = (node: ConfigNode | undefined): string | undefined =>
  textOf(nodeAt(node, ['type']))
    ?.split('.')
    .at(-1) || undefined;
