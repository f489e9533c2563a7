import type { ConfigNode, MapEntry, MapNode } from '../../config/node';

interface Block {
  readonly keyRange: MapEntry['keyRange'];
  readonly inner: Map<string, Block | MapEntry>;
}

/** Flags with dots in their names (`--train.micro_batch_size 4`, `tokenizer.max_seq_len=2048`) as the blocks that they mean. */
export function nestedArguments(flags: MapNode): MapNode {
  const root = new Map<string, Block | MapEntry>();
  for (const entry of flags.entries) {
    const parts = entry.key.split('.');
    const last = parts.pop() ?? entry.key;
    let level = root;
    for (const part of parts) {
      const known = level.get(part);
      const block: Block = known && 'inner' in known ? known : { keyRange: entry.keyRange, inner: new Map() };
      level.set(part, block);
      level = block.inner;
    }
    const before = level.get(last);
    if (!before || !('inner' in before)) level.set(last, { ...entry, key: last });
  }
  return built(root, flags.range);
}

function built(level: ReadonlyMap<string, Block | MapEntry>, range: ConfigNode['range']): MapNode {
  const entries = [...level].map(
    ([key, value]): MapEntry =>
      'inner' in value ? { key, keyRange: value.keyRange, value: built(value.inner, value.keyRange) } : value,
  );
  return { kind: 'map', range, entries };
}
