import type { DetailNode } from '../../server/src/shared/protocol';
import { formatBytes } from '../../server/src/shared/words';
import { t } from './strings';

/** How many are named; a click or Enter opens them all. */
const NAMED = 5;

interface Alive {
  readonly name: string;
  readonly bytes: number;
}

/** Tensors of a moment, the largest first: leaves of its memory, each under its component and its part of the model. */
function aliveTensors(memory: DetailNode): Alive[] {
  const leaves: Alive[] = [];
  const walk = (node: DetailNode, above: readonly string[]): void => {
    const children = node.children ?? [];
    if (children.length === 0 && node.value > 0) {
      const path = [...above.slice(0, 1), ...above.slice(1).slice(-1), node.name];
      const name = path.filter((word) => word !== '').join(' › ');
      leaves.push({ name: `${name}${shape(node)}`, bytes: node.value });
    }
    for (const child of children) walk(child, [...above, node.name]);
  };
  for (const part of memory.children ?? []) walk(part, []);
  return leaves.sort((a, b) => b.bytes - a.bytes);
}

function shape({ tensor }: DetailNode): string {
  return tensor?.shape ? ` [${tensor.shape.join(', ')}]` : '';
}

/** The largest by name, one line each, and what the others make together; and the same in one sentence, to be spoken. */
export function aliveTexts(memory: DetailNode): { lines: readonly string[]; spoken: string } {
  const alive = aliveTensors(memory);
  const named = alive.slice(0, NAMED).map(({ name, bytes }) => `${name} ${formatBytes(bytes)}`);
  const others = alive.slice(NAMED);
  const rest = others.reduce((sum, { bytes }) => sum + bytes, 0);
  const all = rest > 0 ? [...named, t('othersAlive', others.length, formatBytes(rest))] : named;
  return {
    lines: [t('aliveText', '').trim(), ...all.map((line) => `• ${line}`)],
    spoken: t('aliveText', all.join('; ')),
  };
}
