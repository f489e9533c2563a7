import type { ConfigNode, MapNode } from '../../config/node';
import type { Draft } from '../draft';
import type { KeyTable } from '../key-table';
import { type FoundKey, type Rows, Section } from '../section';

/** Where a family writes what Megatron calls so: keys in the order in which they count, dots go into blocks. */
export type Spelling = Readonly<Record<string, readonly string[]>>;

/** Paths as they stand in the file, by the names that arguments are looked up with. */
export type WrittenArgument = ReadonlyMap<string, string>;

/** A section that is asked in Megatron's names and looks where a family writes them. */
export class SpelledSection extends Section {
  private readonly spelling: Spelling;
  private readonly written: WrittenArgument;

  constructor(
    root: ConfigNode | null | undefined,
    draft: Draft,
    spelling: Spelling,
    prefix = '',
    written: WrittenArgument = new Map(),
    rows?: KeyTable | Rows,
  ) {
    super(root, draft, prefix, rows);
    this.spelling = spelling;
    this.written = written;
  }

  override find(name: string | readonly string[]): FoundKey | undefined {
    const names = typeof name === 'string' ? [name] : name;
    const found = super.find(names.flatMap((each) => this.spelling[each] ?? [each]));
    return found && { ...found, key: this.written.get(found.key) ?? found.key };
  }

  protected override reading(rows?: KeyTable | Rows): Section {
    return new SpelledSection(this.root, this.draft, this.spelling, this.path, this.written, rows);
  }
}

/** How the keys of blocks are written, by their names as arguments: `--num-layers` is `num_layers`. */
export function writtenKeys(
  blocks: readonly { readonly path: string; readonly block: MapNode }[],
): WrittenArgument {
  return new Map(
    blocks.flatMap(({ path, block }) =>
      block.entries.map(({ key }) => [argumentName(key), path === '' ? key : `${path}.${key}`] as const),
    ),
  );
}

/** As argparse stores a flag: no leading dashes, underscores within. */
export function argumentName(key: string): string {
  return key.replace(/^--?/, '').replaceAll('-', '_');
}

/** Keys without leading dashes and with underscores, as argparse stores them; of repeated ones the last counts. */
export function argumentNames(root: MapNode): MapNode {
  const entries = new Map<string, MapNode['entries'][number]>();
  for (const entry of root.entries) {
    const key = argumentName(entry.key);
    entries.delete(key);
    entries.set(key, { ...entry, key });
  }
  return { ...root, entries: [...entries.values()] };
}
