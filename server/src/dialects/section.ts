import { entryOf } from '../config/lookup';
import type { ConfigNode, MapNode } from '../config/node';
import { flagOf, integerOf, isAuto, isBlank, numberOf, textOf, textsOf } from '../config/scalar';
import type { FieldPath, FieldValue } from '../run/fields';
import type { FileLink } from './dialect';
import type { Draft } from './draft';

/** A key as it stands in the file, under the first of its spellings that does. */
export interface Found {
  readonly key: string;
  readonly node: ConfigNode;
}

/** What a framework takes where the file is silent, and where that is written. */
export interface Silence<V> {
  readonly value: V;
  /** For people: `TRL default`. */
  readonly note: string;
  readonly source?: string;
}

type FieldOf<V> = { [P in FieldPath]: FieldValue<P> extends V ? P : never }[FieldPath];
type Spelling = string | readonly string[];

/**
 * One block of keys of a config, read into statements about the run. A key may have several spellings (old names,
 * dashes): the first one present counts. Blank values and nulls are absent; values that cannot be read state nothing
 * (the key check reports them); `auto` is left to whoever fills it. Of several statements about one field the first
 * counts.
 */
export class Section {
  readonly root: MapNode | undefined;
  private readonly draft: Draft;
  private readonly prefix: string;

  constructor(root: ConfigNode | null | undefined, draft: Draft, prefix = '') {
    this.root = root?.kind === 'map' ? root : undefined;
    this.draft = draft;
    this.prefix = prefix === '' ? '' : `${prefix}.`;
  }

  /** A block inside this one; empty where there is none. */
  section(key: string): Section {
    return new Section(this.find(key)?.node, this.draft, `${this.prefix}${key}`);
  }

  has(spelling: Spelling): boolean {
    return this.find(spelling) !== undefined;
  }

  /** The value of a key under any of its spellings; dots go into blocks. Blank values count as absent. */
  find(spelling: Spelling): Found | undefined {
    for (const key of typeof spelling === 'string' ? [spelling] : spelling) {
      const node = this.at(key);
      if (node && !isBlank(node)) return { key: `${this.prefix}${key}`, node };
    }
    return undefined;
  }

  private at(key: string): ConfigNode | undefined {
    const direct = entryOf(this.root, key)?.value;
    if (direct || !key.includes('.')) return direct;
    let node: ConfigNode | undefined = this.root;
    for (const part of key.split('.')) node = entryOf(node, part)?.value;
    return node;
  }

  flag(spelling: Spelling): boolean | undefined {
    return flagOf(this.find(spelling)?.node);
  }
  integer(spelling: Spelling): number | undefined {
    return integerOf(this.find(spelling)?.node);
  }
  number(spelling: Spelling): number | undefined {
    return numberOf(this.find(spelling)?.node);
  }
  text(spelling: Spelling): string | undefined {
    return textOf(this.find(spelling)?.node);
  }
  texts(spelling: Spelling): string[] | undefined {
    return textsOf(this.find(spelling)?.node);
  }

  /** States a field from a key, in the file's own value. True where it did. */
  stateInteger(field: FieldOf<number>, spelling: Spelling, silence?: Silence<number>): boolean {
    return this.put(field, spelling, wholeOf, silence);
  }
  stateNumber(field: FieldOf<number>, spelling: Spelling, silence?: Silence<number>): boolean {
    return this.put(field, spelling, numberOf, silence);
  }
  stateFlag(field: FieldOf<boolean>, spelling: Spelling, silence?: Silence<boolean>): boolean {
    return this.put(field, spelling, flagOf, silence);
  }
  stateText(field: FieldOf<string>, spelling: Spelling, silence?: Silence<string>): boolean {
    return this.put(field, spelling, textOf, silence as Silence<never>);
  }
  stateTexts(
    field: 'lora.targets' | 'lora.modulesToSave',
    spelling: Spelling,
    silence?: Silence<readonly string[]>,
  ): boolean {
    return this.put(field, spelling, textsOf, silence);
  }

  /** States a field with what a key's value means; a meaning of undefined states nothing. */
  stateMeaning<P extends FieldPath>(
    field: P,
    spelling: Spelling,
    meaning: (found: Found) => FieldValue<P> | undefined,
    silence?: Silence<FieldValue<P>>,
    note?: string,
  ): boolean {
    return this.put(field, spelling, (node, key) => meaning({ key, node }), silence, note);
  }

  /** States a field because of a key, whatever its value. */
  state<P extends FieldPath>(field: P, value: FieldValue<P>, because: Found, note?: string): void {
    if (this.draft.knows(field)) return;
    this.draft.state(field, value, because.node, because.key, note);
  }

  assume<P extends FieldPath>(field: P, silence: Silence<FieldValue<P>>, key?: string): void {
    if (this.draft.knows(field)) return;
    const full = key === undefined ? undefined : `${this.prefix}${key}`;
    this.draft.assume(field, silence.value, silence.note, silence.source, full);
  }

  /** A file that a key names; nothing where it names none. */
  link(spelling: Spelling, role: FileLink['role'], path = (text: string) => text): boolean {
    const found = this.find(spelling);
    const text = textOf(found?.node);
    // A switch without a value names no file.
    const bare = found?.node.kind === 'scalar' && typeof found.node.value === 'boolean';
    if (!found || bare || text === undefined || text === '') return false;
    this.draft.links.push({ path: path(text), range: found.node.range, key: found.key, role });
    return true;
  }

  /** A file that a word names. */
  linkNode(path: string, node: ConfigNode, role: FileLink['role']): void {
    this.draft.links.push({ path, range: node.range, key: this.prefix.replace(/\.$/, ''), role });
  }

  private put<P extends FieldPath>(
    field: P,
    spelling: Spelling,
    read: (node: ConfigNode, key: string) => unknown,
    silence?: Silence<FieldValue<P>>,
    note?: string,
  ): boolean {
    const found = this.find(spelling);
    if (found && isAuto(found.node)) {
      this.draft.auto(found.key, found.node);
      return false;
    }
    const value = found && read(found.node, found.key);
    if (found && value !== undefined) {
      this.state(field, value as FieldValue<P>, found, note);
      return true;
    }
    if (!found && silence) this.assume(field, silence, typeof spelling === 'string' ? spelling : spelling[0]);
    return false;
  }
}

/** A whole number, also one that is too large to be exact: it is stated, though it cannot be meant. */
function wholeOf(node: ConfigNode): number | undefined {
  const value = numberOf(node);
  return value !== undefined && Number.isInteger(value) ? value : undefined;
}
