import type { DetailNode } from '../../server/src/memory/detail/node';
import { formatBytes } from '../../server/src/wording/figures';
import { t } from './strings';

/** How many are named in one line. */
const NAMED = 4;

interface Alive {
  readonly name: string;
  readonly bytes: number;
}

/** The largest tensors of a moment: leaves of its memory, under the part of the model that they belong to. */
export function largestAlive(memory: DetailNode, count = NAMED): readonly Alive[] {
  const leaves: Alive[] = [];
  const walk = (node: DetailNode, above: readonly string[]): void => {
    const children = node.children ?? [];
    if (children.length === 0) {
      const name = [...above.slice(-1), node.name].filter((word) => word !== '').join(' › ');
      leaves.push({ name: `${name}${shape(node)}`, bytes: node.value });
    }
    for (const child of children) walk(child, [...above, node.name]);
  };
  for (const part of memory.children ?? []) walk(part, []);
  return leaves.sort((a, b) => b.bytes - a.bytes).slice(0, count);
}

function shape({ tensor }: DetailNode): string {
  return tensor?.shape ? ` [${tensor.shape.join(', ')}]` : '';
}

/** One line about them. */
export function aliveText(memory: DetailNode): string {
  return t(
    'aliveText',
    largestAlive(memory)
      .map(({ name, bytes }) => `${name} ${formatBytes(bytes)}`)
      .join('; '),
  );
}
