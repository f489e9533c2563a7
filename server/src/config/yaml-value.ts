import type { Range } from '../text/place';
import { Lines } from './lines';
import type { ConfigNode } from './node';
import { readWholeYaml } from './yaml';

/** A word that holds a list or a block (`[1,2]`, `{name: adam}`) as that, all of it where the word stands; others as they are. */
export function readYamlValue(node: ConfigNode): ConfigNode {
  if (node.kind !== 'scalar' || !/^\s*[[{]/.test(node.text)) return node;
  const { root, problems } = readWholeYaml(new Lines(node.text), '');
  return root && problems.length === 0 ? placedAt(root, node.range) : node;
}

function placedAt(node: ConfigNode, range: Range): ConfigNode {
  if (node.kind === 'scalar') return { ...node, range };
  if (node.kind === 'list') return { ...node, range, items: node.items.map((item) => placedAt(item, range)) };
  const entries = node.entries.map(({ key, value }) => ({
    key,
    keyRange: range,
    value: placedAt(value, range),
  }));
  return { ...node, range, entries };
}
