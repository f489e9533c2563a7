import type { ConfigNode, MapNode } from '../../config/node';
import type { Draft } from '../draft';
import { type Found, Section } from '../section';

/** Where a family writes what Megatron calls so: keys in the order in which they count, dots go into blocks. */
export type Spelling = Readonly<Record<string, readonly string[]>>;

/** A section that is asked in Megatron's names and looks where a family writes them. */
export class SpelledSection extends Section {
  private readonly spelling: Spelling;

  constructor(root: ConfigNode | null | undefined, draft: Draft, spelling: Spelling, prefix = '') {
    super(root, draft, prefix);
    this.spelling = spelling;
  }

  override find(name: string | readonly string[]): Found | undefined {
    const names = typeof name === 'string' ? [name] : name;
    return super.find(names.flatMap((each) => this.spelling[each] ?? [each]));
  }
}

/** Keys without leading dashes and with underscores, as argparse stores them; of repeated ones the last counts. */
export function argumentNames(root: MapNode): MapNode {
  const entries = new Map<string, MapNode['entries'][number]>();
  for (const entry of root.entries) {
    const key = entry.key.replace(/^--?/, '').replaceAll('-', '_');
    entries.delete(key);
    entries.set(key, { ...entry, key });
  }
  return { ...root, entries: [...entries.values()] };
}
