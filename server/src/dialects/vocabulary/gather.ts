import { entryOf } from '../../config/lookup';
import type { ConfigDocument, ConfigNode, MapNode } from '../../config/node';
import { textOf } from '../../config/scalar';
import { remembered } from '../../memo/remembered';
import type { Position, Range } from '../../text/place';
import type { Value } from './expression';
import { readText, readValue } from './read-vocabulary';
import type { Vocabulary, VocabularyKey } from './vocabulary';

/** A flag as a file states it. */
export interface Stated {
  readonly key: VocabularyKey;
  /** As written, with the path that leads to it. */
  readonly path: string;
  readonly keyRange: Range;
  readonly range: Range;
  readonly text: string;
  /** Undefined where the text is not what the flag takes. */
  readonly value?: Value;
}

export interface GatheredFlags {
  /** By name; of several the last one counts, as in every flag parser. */
  readonly stated: ReadonlyMap<string, Stated>;
  readonly unknown: readonly { readonly name: string; readonly keyRange: Range }[];
  /** Files that `include` names, whose flags hold unless this file states otherwise. */
  readonly includes: readonly { readonly path: string; readonly range: Range; readonly key: string }[];
}

/** Dashes and underscores are the same within names, and dashes before them mean nothing. */
export function plainName(name: string): string {
  return name.replace(/^-+/, '').replaceAll('-', '_');
}

/** Names of a few long files. */
const MOST_ASKED = 8192;

/** Names of a vocabulary, aliases among them, in their plain spelling. */
export class Names {
  private readonly byName = new Map<string, VocabularyKey>();
  /** Names as they were asked for: after an edit a file asks for the same ones again. */
  private readonly asked = remembered<VocabularyKey | undefined>(MOST_ASKED);

  constructor(vocabulary: Vocabulary) {
    for (const key of vocabulary.keys)
      for (const alias of key.aliases) this.byName.set(plainName(alias), key);
    for (const key of vocabulary.keys) this.byName.set(plainName(key.name), key);
  }

  find(name: string): VocabularyKey | undefined {
    return this.asked.of(name, () => this.byName.get(plainName(name)));
  }

  all(): string[] {
    return [...this.byName.keys()];
  }
}

/** A mapping of flags, and the path to it. */
interface Block {
  readonly map: MapNode;
  readonly path: string;
}

/** Where flags stand: at the top of a file; in a script, behind each program that it starts. */
export function blocksOf(root: ConfigNode | null): Block[] {
  if (root?.kind !== 'map') return [];
  const commands = entryOf(root, 'commands')?.value;
  if (commands?.kind !== 'list' || !entryOf(root, 'sbatch')) return [{ map: root, path: '' }];
  return commands.items.flatMap((command, index): Block[] => {
    const map = entryOf(command, 'arguments')?.value;
    return map?.kind === 'map' ? [{ map, path: `commands.[${index}].arguments.` }] : [];
  });
}

/** How many of the vocabulary's markers a mapping has, nested ones among them. */
export function countMarkers(map: MapNode, names: Names, markers: ReadonlySet<string>): number {
  const found = new Set<string>();
  const visit = (node: MapNode, depth: number) => {
    for (const { key, value } of node.entries) {
      const known = names.find(key);
      // In a vocabulary file the same names stand before mappings.
      const isFlag = value.kind !== 'map' || known?.type === 'object';
      if (known && isFlag && markers.has(known.name)) found.add(known.name);
      if (value.kind === 'map' && depth < 1) visit(value, depth + 1);
    }
  };
  visit(map, 0);
  return found.size;
}

function shifted(start: Position, characters: number): Position {
  return { line: start.line, character: start.character + characters };
}

/** A list or an empty block in the place of a flag's value, which it cannot have, as it is reported. */
function nothingAt(node: ConfigNode, type: VocabularyKey['type']): string | undefined {
  if (node.kind === 'list') return '[]';
  const isEmpty = node.kind === 'map' && node.entries.length === 0;
  return isEmpty && type !== 'object' && type !== 'flag' ? '{}' : undefined;
}

/** The flags of a document under the vocabulary's names. */
export function gather(document: ConfigDocument, vocabulary: Vocabulary, names: Names): GatheredFlags {
  const markers = new Set(vocabulary.markers);
  const blocks = blocksOf(document.root);
  const best = blocks
    .map((block) => ({ block, count: countMarkers(block.map, names, markers) }))
    .sort((a, b) => b.count - a.count)[0];
  const stated = new Map<string, Stated>();
  const unknown: { name: string; keyRange: Range }[] = [];
  const includes: { path: string; range: Range; key: string }[] = [];

  const put = (name: string, range: Range, keyRange: Range, path: string, text: string): boolean => {
    const key = names.find(name);
    if (!key) return false;
    stated.set(key.name, { key, path, keyRange, range, text, value: readText(key.type, key.values, text) });
    return true;
  };
  /** `l=48,h=3072` under any key, or as a line of its own, whose first part is read as a key. */
  const short = (name: string, node: ConfigNode, keyRange: Range, path: string): boolean => {
    if (node.kind !== 'scalar') return false;
    const whole = `${name}=${node.text}`;
    const skipped = whole.length - node.text.length;
    for (const shorthand of vocabulary.shorthands) {
      for (const [text, before] of [
        [node.text, 0],
        [whole, skipped],
      ] as const) {
        const match = text.includes('=') || text.includes(',') ? shorthand.match(text) : undefined;
        if (!match) continue;
        const quote = node.quoted ? 1 : 0;
        for (const [group, captured] of match) {
          // What stands before the value's own text is the key.
          const from = captured.offset - before;
          const start = shifted(node.range.start, Math.max(0, from) + quote);
          const range = { start, end: shifted(start, captured.text.length) };
          put(group, range, keyRange, path, captured.text);
        }
        return true;
      }
    }
    return false;
  };
  const visit = (map: MapNode, path: string) => {
    for (const { key: written, keyRange, value } of map.entries) {
      const here = `${path}${written}`;
      const key = names.find(written);
      const place = { path: here, keyRange };
      if (written === 'include' && !key) {
        const items = value.kind === 'list' ? value.items : [value];
        for (const item of items) {
          const file = textOf(item);
          if (file !== undefined) includes.push({ path: file, range: item.range, key: here });
        }
        continue;
      }
      const nothing = key && nothingAt(value, key.type);
      if (key && nothing !== undefined)
        stated.set(key.name, { ...place, key, range: value.range, text: nothing });
      if (value.kind === 'map') {
        if (!key) unknown.push({ name: written, keyRange });
        // A block that is switched on by being there.
        else if (key.type === 'flag')
          stated.set(key.name, { ...place, key, range: keyRange, text: 'true', value: true });
        visit(value, `${here}.`);
        continue;
      }
      const shortForm = (key === undefined || key.type === 'text') && short(written, value, keyRange, here);
      if (key && value.kind === 'scalar') {
        if (value.value === null && key.type !== 'flag') continue;
        const read = readValue(key.type, key.values, value);
        if (read !== undefined || !short(written, value, keyRange, here))
          stated.set(key.name, { ...place, key, range: value.range, text: value.text, value: read });
      } else if (!key && !shortForm) unknown.push({ name: written, keyRange });
    }
  };
  if (best) visit(best.block.map, best.block.path);
  return { stated, unknown, includes };
}
