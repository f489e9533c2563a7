import { entryOf } from '../config/lookup';
import type { ConfigNode, MapEntry, MapNode } from '../config/node';
import { flagOf, integerOf, isAuto, isBlank, numberOf, textOf, textsOf } from '../config/scalar';
import type { FieldPath, FieldValue } from '../run/fields';
import type { UnmodelledFeature } from '../terms/unmodelled-features';
import type { Range } from '../text/place';
import { say } from '../wording/say';
import type { FileLink, KeySpec } from './dialect';
import type { Draft } from './draft';
import type { KeyTable } from './key-table';
import { defaultOf, inVersion, isNumberForNone, statedBy, wholeOf } from './key-value';

/** A key as it stands in the file, under the first of its spellings that does. */
export interface FoundKey {
  readonly key: string;
  readonly node: ConfigNode;
  /** Where the key itself stands, or the last of a path. */
  readonly keyRange?: Range;
}

/** What a framework takes where the key is absent, and where that is written. */
export interface DefaultValue<V> {
  readonly value: V;
  /** For people: `TRL default`. */
  readonly note: string;
  readonly source?: string;
}

type FieldOf<V> = { [P in FieldPath]: FieldValue<P> extends V ? P : never }[FieldPath];
type Spelling = string | readonly string[];

const NOT_THERE: readonly never[] = [];

/** What the default of a row can be, by its type. */
interface DefaultTypes {
  readonly number: number;
  readonly boolean: boolean;
  readonly string: string;
}

/** The rows that a section reads, and where its defaults stand. */
export interface Rows {
  readonly table: KeyTable;
  /** Path of the section in the table, with a dot at its end; empty at the top. */
  readonly below: string;
  /** The block at the top of the table. */
  readonly top: Section;
  /** Address of the defaults whose rows give none. */
  readonly defaults?: string;
  /** What is reported of them, where it is not `{family} default`. */
  readonly note?: string;
  /** What is known of the run, versions among it. */
  readonly known?: Readonly<Record<string, unknown>>;
}

/**
 * One block of keys of a config, read into statements about the run. A key may have several spellings (old names,
 * dashes): the first one present counts. Blank values and nulls are absent; values that cannot be read state nothing
 * (the key check reports them); `auto` is left to whoever fills it. Of several statements about one field the first
 * counts.
 */
export class Section {
  readonly root: MapNode | undefined;
  protected readonly draft: Draft;
  private readonly prefix: string;
  private readonly rows: Rows | undefined;

  /** `prefix` is the path of the block in the document where the table begins below its top. */
  constructor(root: ConfigNode | null | undefined, draft: Draft, prefix = '', rows?: KeyTable | Rows) {
    this.root = root?.kind === 'map' ? root : undefined;
    this.draft = draft;
    this.prefix = prefix === '' ? '' : `${prefix}.`;
    this.rows = rows && 'table' in rows ? rows : rows && { table: rows, below: '', top: this };
  }

  /** A block inside this one; empty where there is none. */
  section(key: string): Section {
    const rows = this.rows && { ...this.rows, below: `${this.rows.below}${key}.` };
    return new Section(this.find(key)?.node, this.draft, `${this.prefix}${key}`, rows);
  }

  /** The same block, whose defaults stand at an address of the framework's source; `note` states whose they are. */
  withDefaultsOf(address: string, note?: string): Section {
    return this.reading(this.rows && { ...this.rows, defaults: address, note });
  }

  /** The same block, whose defaults are those of the versions that the run uses. */
  withVersions(known: Readonly<Record<string, unknown>>): Section {
    return this.reading(this.rows && { ...this.rows, known });
  }

  /** The same block, read by the rows of another table: arguments that several families take. */
  by(table: KeyTable): Section {
    return this.reading(table);
  }

  /** Path of the block in the document; empty at the top. */
  protected get path(): string {
    return this.prefix.slice(0, -1);
  }

  protected reading(rows?: KeyTable | Rows): Section {
    return new Section(this.root, this.draft, this.path, rows);
  }

  has(spelling: Spelling): boolean {
    return this.find(spelling) !== undefined;
  }

  /** The value of a key under any of its spellings; dots go into blocks. Blank values count as absent. */
  find(spelling: Spelling): FoundKey | undefined {
    for (const key of typeof spelling === 'string' ? [spelling] : spelling) {
      const entry = this.at(key);
      if (entry && !isBlank(entry.value))
        return { key: entry.path ?? `${this.prefix}${key}`, node: entry.value, keyRange: entry.keyRange };
    }
    return undefined;
  }

  private at(key: string): MapEntry | undefined {
    const direct = entryOf(this.root, key);
    if (direct || !key.includes('.')) return direct;
    let node: ConfigNode | undefined = this.root;
    let entry: MapEntry | undefined;
    for (const part of key.split('.')) {
      entry = entryOf(node, part);
      node = entry?.value;
    }
    return entry;
  }

  flag(spelling: Spelling): boolean | undefined {
    return this.readAs(spelling, flagOf);
  }
  integer(spelling: Spelling): number | undefined {
    return this.readAs(spelling, integerOf);
  }
  number(spelling: Spelling): number | undefined {
    return this.readAs(spelling, numberOf);
  }
  /** The same, or the default that the row of the first spelling has where the file states none. */
  integerOrDefault(spelling: Spelling): number {
    return this.integer(spelling) ?? this.defaultAs('number', spelling);
  }
  numberOrDefault(spelling: Spelling): number {
    return this.number(spelling) ?? this.defaultAs('number', spelling);
  }
  flagOrDefault(spelling: Spelling): boolean {
    return this.flag(spelling) ?? this.defaultAs('boolean', spelling);
  }
  textOrDefault(spelling: Spelling): string {
    return this.text(spelling) ?? this.defaultAs('string', spelling);
  }
  text(spelling: Spelling): string | undefined {
    return textOf(this.find(spelling)?.node);
  }
  texts(spelling: Spelling): string[] | undefined {
    return textsOf(this.find(spelling)?.node);
  }

  /**
   * States what keys say of the fields that their rows set, in this order: a second name or an old spelling counts where the key
   * itself states nothing. Where a key is left out, its default is assumed if the row has it so. True where one of them stated its field.
   */
  take(...keys: readonly string[]): boolean {
    return keys.map((key) => this.takeOne(key)).includes(true);
  }

  /** The same for a key whose default hangs on more than its row knows. */
  takeElse<V>(key: string, byDefault: DefaultValue<V>): boolean {
    return this.takeOne(key, byDefault);
  }

  /** Of several keys the first that stands in the file counts, whatever it holds; where none does, the first with its default. */
  takeFirst(...keys: readonly [string, ...string[]]): boolean {
    return this.takeOne(keys.find((key) => this.has(key)) ?? keys[0]);
  }

  private takeOne(key: string, byDefault?: DefaultValue<unknown>): boolean {
    const row = this.rowOf(key);
    const { sets } = row;
    let present = false;
    for (const { found, spelling } of this.spelled(key, row)) {
      present = true;
      if (isAuto(found.node)) {
        if (spelling.auto || !this.rows?.table.marksAutos) this.draft.auto(found.key, found.node);
        return false;
      }
      const value = statedBy(spelling, found.node);
      if (value === undefined) {
        // What stands there by default states no more than a key that is left out (`max_steps: -1`).
        const byDefault = found.node.kind === 'scalar' && found.node.value === row.default;
        if (!byDefault && !isNumberForNone(row.means, found.node) && !isSwitch(row, found.node))
          this.draft.leaveWord(row.fields ?? [sets], found.node, found.key);
        continue;
      }
      this.state(sets, value as never, found);
      return true;
    }
    if (!present) this.assumeDefault(key, row, byDefault);
    return false;
  }

  private assumeDefault(
    key: string,
    row: KeySpec & { readonly sets: FieldPath },
    byDefault?: DefaultValue<unknown>,
  ) {
    const used = inVersion(row, this.rows?.known ?? {});
    const value = byDefault ? byDefault.value : row.assumes === undefined ? undefined : defaultOf(used.row);
    if (value === undefined) return;
    const own = row.assumes === true ? this.rows?.note : undefined;
    const note = byDefault?.note ?? own ?? defaultNote(this.rows?.table.family ?? '', used.changed);
    const source = byDefault ? byDefault.source : row.assumes === true ? this.rows?.defaults : row.assumes;
    this.assume(row.sets, { value: value as never, note, source }, key);
  }

  /** The row of a key that sets a field; whoever asks for another has the wrong table. */
  private rowOf(key: string): KeySpec & { readonly sets: FieldPath } {
    const row = this.rows?.table.find(`${this.rows.below}${key}`);
    if (row?.sets === undefined) throw new Error(`no row sets a field by ${this.rows?.below ?? ''}${key}`);
    return row as KeySpec & { readonly sets: FieldPath };
  }

  /** The key, its second names and old spellings, as far as they stand in the file. */
  private spelled(key: string, row: KeySpec): readonly { found: FoundKey; spelling: KeySpec }[] {
    const own = this.find(key);
    const others = this.rows?.table.otherSpellings(row) ?? [];
    if (others.length === 0) return own ? [{ found: own, spelling: row }] : NOT_THERE;
    return [
      ...(own ? [{ found: own, spelling: row }] : []),
      ...others.flatMap((spelling) => {
        const found = this.rows?.top.find(spelling.path);
        return found ? [{ found, spelling }] : [];
      }),
    ];
  }

  /** States a field from a key, in the file's own value. True where it did. */
  stateInteger(field: FieldOf<number>, spelling: Spelling, byDefault?: DefaultValue<number>): boolean {
    return this.put(field, spelling, wholeOf, byDefault);
  }
  stateNumber(field: FieldOf<number>, spelling: Spelling, byDefault?: DefaultValue<number>): boolean {
    return this.put(field, spelling, numberOf, byDefault);
  }
  stateFlag(field: FieldOf<boolean>, spelling: Spelling, byDefault?: DefaultValue<boolean>): boolean {
    return this.put(field, spelling, flagOf, byDefault);
  }
  stateText(field: FieldOf<string>, spelling: Spelling, byDefault?: DefaultValue<string>): boolean {
    return this.put(field, spelling, textOf, byDefault as DefaultValue<never>);
  }
  stateTexts(
    field: 'lora.targets' | 'lora.modulesToSave',
    spelling: Spelling,
    byDefault?: DefaultValue<readonly string[]>,
  ): boolean {
    return this.put(field, spelling, textsOf, byDefault);
  }

  /** States a field with what a key's value means; a meaning of undefined states nothing. */
  stateMeaning<P extends FieldPath>(
    field: P,
    spelling: Spelling,
    meaning: (found: FoundKey) => FieldValue<P> | undefined,
    byDefault?: DefaultValue<FieldValue<P>>,
    note?: string,
  ): boolean {
    return this.put(field, spelling, (node, key) => meaning({ key, node }), byDefault, note);
  }

  /** States a field because of a key, whatever its value. */
  state<P extends FieldPath>(field: P, value: FieldValue<P>, because: FoundKey, note?: string): void {
    if (this.draft.knows(field)) return;
    this.draft.state(field, value, because.node, because.key, note);
  }

  /** A feature of the run that is not modelled is there because of a key. */
  bring(feature: UnmodelledFeature, because: FoundKey): void {
    this.draft.bring(feature, because.node, because.key);
  }

  /** What a key's word means is not known; `fields` are those that it decides. */
  leave({ key, node }: FoundKey, fields: readonly FieldPath[]): void {
    this.draft.leaveWord(fields, node, key);
  }

  assume<P extends FieldPath>(field: P, byDefault: DefaultValue<FieldValue<P>>, key?: string): void {
    if (this.draft.knows(field)) return;
    const full = key === undefined ? undefined : `${this.prefix}${key}`;
    this.draft.assume(field, byDefault.value, byDefault.note, byDefault.source, full);
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
    this.draft.links.push({ path, range: node.range, key: this.path, role });
  }

  /** A value of a type; a word that is none is left. */
  private readAs<V>(spelling: Spelling, read: (node: ConfigNode) => V | undefined): V | undefined {
    const found = this.find(spelling);
    if (!found) return undefined;
    const value = read(found.node);
    if (value === undefined) this.draft.leaveWord(this.fieldsOf(found, spelling), found.node, found.key);
    return value;
  }

  /** The default of the row of the first spelling, as the versions in use have it. */
  private defaultAs<T extends keyof DefaultTypes>(type: T, spelling: Spelling): DefaultTypes[T] {
    const key = typeof spelling === 'string' ? spelling : spelling[0];
    const row = this.rows?.table.find(`${this.rows.below}${key}`);
    const value = row && inVersion(row, this.rows?.known ?? {}).row.default;
    if (typeof value !== type) throw new Error(`no row has a ${type} as the default of ${key}`);
    return value as DefaultTypes[T];
  }

  /** Fields that the value of a key decides, as far as its row has them. */
  private fieldsOf(found: FoundKey, spelling: Spelling): readonly FieldPath[] | undefined {
    return this.rowAt(found, spelling)?.fields;
  }

  /** The row of a key that stands in the file. */
  private rowAt({ key }: FoundKey, spelling: Spelling): KeySpec | undefined {
    const elsewhere = this.root?.entries.find(({ path }) => path === key)?.key;
    const own = elsewhere ?? (key.startsWith(this.prefix) ? key.slice(this.prefix.length) : key);
    // A family that writes the keys of another otherwise asks by their own names.
    const names = [own, ...(typeof spelling === 'string' ? [spelling] : spelling)];
    const rows = names.map((name) => this.rows?.table.find(`${this.rows.below}${name}`));
    return rows.find((row) => row !== undefined);
  }

  private put<P extends FieldPath>(
    field: P,
    spelling: Spelling,
    read: (node: ConfigNode, key: string) => unknown,
    byDefault?: DefaultValue<FieldValue<P>>,
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
    const row = found && this.rowAt(found, spelling);
    if (found && !(row && isSwitch(row, found.node))) this.draft.leaveWord([field], found.node, found.key);
    if (!found && byDefault)
      this.assume(field, byDefault, typeof spelling === 'string' ? spelling : spelling[0]);
    return false;
  }
}

/** A switch whose position states nothing of the run: it is no word that is not known. */
const isSwitch = ({ type }: Pick<KeySpec, 'type'>, node: ConfigNode): boolean =>
  type === 'boolean' && node.kind === 'scalar' && typeof node.value === 'boolean';

/** Whose default it is, and since or until which release. */
function defaultNote(family: string, changed: ReturnType<typeof inVersion>['changed']): string {
  if (!changed) return say('{0} default', family);
  const { since, newer } = changed;
  return newer ? say('{0} default since {1}', family, since) : say('{0} default before {1}', family, since);
}
