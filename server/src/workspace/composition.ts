import { inFile, merged, placed } from '../config/deep-merge';
import {
  type DefaultsItem,
  type DefaultsOption,
  defaultsOf,
  fileOf,
  groupOf,
  packageHeader,
  searchPathOf,
} from '../config/defaults-list';
import { interpolated } from '../config/interpolation';
import { mapAt } from '../config/lookup';
import type { ConfigDocument, MapNode } from '../config/node';
import type { Dialect } from '../dialects/dialect';
import { detectDialect } from '../dialects/registry';
import { canonicalUri } from '../text/uri';
import type { ConfigPart } from './config-reading';
import type { Files } from './files';
import { locate } from './links';

/** Configs that one run starts from at most, and how deep they name each other. */
const MOST_PARTS = 64;
const DEEPEST = 12;

/** A config together with those that it starts from, as Hydra composes them. */
export interface Composition {
  /** The config at hand as it stands. */
  readonly own: ConfigDocument;
  /** The same with the merged tree; places of other files carry their address. */
  readonly document: ConfigDocument;
  /** The other files, in the order in which they are merged. */
  readonly parts: readonly ConfigPart[];
  /** Files that were read for it and gave nothing: with other texts they might. */
  readonly looked?: readonly ConfigDocument[];
  /** What of other files it was made with, beside their documents. */
  readonly imported?: string;
}

/** What composing needs from the workspace. */
export interface ComposedFiles extends Files {
  readText(uri: string): Promise<string | undefined>;
  /** A file parsed, of whatever family; undefined where there is none. */
  parsed(uri: string): Promise<{ readonly text: string; readonly document: ConfigDocument } | undefined>;
}

/** A part while its block is still a dotted path. */
interface Layer extends Omit<ConfigPart, 'package'> {
  readonly package: string;
}

/** A config whose list is gone through, and where that is. */
interface Place extends Layer {
  /** Config whose folder groups are counted from. */
  readonly root: string;
  /** Group of the config, counted from there. */
  readonly folder: string;
  readonly trail: readonly string[];
}

/**
 * Merges a config with what its `defaults:` names, in Hydra's order: each item over the ones before it, the config itself at
 * `_self_`, else last. Undefined where it starts from nothing that is here. Files that are missing are left out; circles end.
 * `choices` are options that the launch takes in the place of those that the lists name.
 * https://hydra.cc/docs/advanced/defaults_list/, hydra-core 1.3 `_internal/defaults_list.py`
 */
export async function compose(
  document: ConfigDocument,
  files: ComposedFiles,
  choices?: MapNode,
): Promise<Composition | undefined> {
  const own = canonicalUri(document.uri);
  const layers = await new Composer(files, searchPathOf(document), choices).layers({
    uri: own,
    text: '',
    document,
    root: own,
    folder: '',
    package: '',
    trail: [own],
  });
  const others = layers.filter((layer) => layer.document !== document);
  if (others.length === 0) return undefined;
  const trees = layers.flatMap((layer) => treeOf(layer, layer.document === document) ?? []);
  const root = trees.reduce((under, over) => {
    const joined = merged(under, over);
    return joined.kind === 'map' ? joined : under;
  });
  const parts = others.map((layer) => ({ ...layer, package: keysOf(layer.package) }));
  return { own: document, document: { ...document, root }, parts };
}

const keysOf = (dotted: string) => dotted.split('.').filter((key) => key !== '');

function treeOf({ uri, document: { root }, package: block }: Layer, own: boolean): MapNode | undefined {
  if (root?.kind !== 'map') return undefined;
  if (own) return root;
  const entries = root.entries.filter(({ key }) => key !== 'defaults');
  return placed(inFile({ ...root, entries }, uri), keysOf(block));
}

class Composer {
  private readonly files: ComposedFiles;
  /** Options that lists take for groups of others, by group and package: the outermost counts. */
  private readonly overrides = new Map<string, readonly DefaultsOption[]>();
  /** Options taken, for names that are put together from them. */
  private readonly choices = new Map<string, string>();
  private read = 0;
  /** Folders of `hydra.searchpath`. */
  private readonly searched: readonly string[];

  constructor(files: ComposedFiles, searched: readonly string[], choices?: MapNode) {
    this.files = files;
    this.searched = searched;
    for (const { key, value } of choices?.entries ?? []) {
      const nodes = value.kind === 'list' ? value.items : [value];
      const options = nodes.flatMap((node) =>
        node.kind === 'scalar' ? { name: node.text, range: node.range } : [],
      );
      if (options.length === nodes.length) this.overrides.set(groupOf(key), options);
    }
  }

  async layers(place: Place): Promise<Layer[]> {
    const { uri, text, document } = place;
    const self: Layer = { uri, text, document, package: place.package };
    const items = defaultsOf(place.document);
    const taking = items.filter((item) => !item.override);
    for (const item of items) {
      const key = overrideKey(item, place);
      if (item.override && !this.overrides.has(key)) this.overrides.set(key, item.options);
    }
    const found = new Map<DefaultsItem, Layer[]>();
    const named = (item: DefaultsItem) => this.overrides.get(overrideKey(item, place)) ?? item.options;
    // Hydra goes through the list from its end; names made of other choices come when those are known.
    const waits = (item: DefaultsItem) => named(item).some(({ name }) => name.includes('${'));
    for (const item of [...taking].reverse().sort((a, b) => Number(waits(a)) - Number(waits(b)))) {
      if (item.self) continue;
      const layers: Layer[] = [];
      for (const option of named(item)) layers.push(...(await this.option(item, option, place)));
      found.set(item, layers);
    }
    const ordered = taking.flatMap((item) => (item.self ? [self] : (found.get(item) ?? [])));
    return taking.some((item) => item.self) ? ordered : [...ordered, self];
  }

  private async option(item: DefaultsItem, { name, range }: DefaultsOption, place: Place): Promise<Layer[]> {
    const filled = name.replace(/\$\{([\w./]+)\}/g, (whole, key: string) => this.choices.get(key) ?? whole);
    if (filled.includes('$') || place.trail.length > DEEPEST || this.read >= MOST_PARTS) return [];
    const group = groupPath(item, place);
    if (item.group !== undefined) this.choices.set(group, filled);
    const path = fileOf(item, filled);
    const from = item.plain ? place.uri : place.root;
    const written = item.plain || item.absolute ? path : joined('/', place.folder, path);
    const link = { path: written, range, key: 'defaults', role: 'include' as const };
    const near = await locate(link, from, this.files);
    // The search path is that of the config that the run starts from.
    const uri =
      near ?? (await locate({ ...link, searched: this.searched }, place.trail[0] ?? from, this.files));
    const root = near === undefined && uri !== undefined ? rootOf(uri, written) : place.root;
    if (uri === undefined || place.trail.includes(uri)) return [];
    this.read++;
    const next = await this.files.parsed(uri);
    if (!next) return [];
    const folder = item.group === undefined ? joined('/', group, folderOf(filled)) : group;
    return this.layers({
      uri,
      ...next,
      ...(item.plain ? { root: uri, folder: '' } : { root, folder }),
      package: packageOf(item, filled, packageHeader(next.text), place.package),
      trail: [...place.trail, uri],
    });
  }
}

const joined = (by: string, ...parts: readonly string[]) => parts.filter((part) => part !== '').join(by);

/** A config in the folder that a file was found from by its path: groups are counted from there. */
const rootOf = (uri: string, path: string) =>
  uri.endsWith(`/${path}`) ? `${uri.slice(0, -path.length)}config.yaml` : uri;

const folderOf = (path: string) => (path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '');

function groupPath({ group, absolute }: DefaultsItem, { folder }: Place): string {
  const own = group === undefined || group === '.' ? '' : group;
  return absolute ? own : joined('/', folder, own);
}

/** Under what name a group's choice is overridden: its path, and its package where that is another. */
function overrideKey(item: DefaultsItem, place: Place): string {
  const path = groupPath(item, place);
  return item.package === undefined ? path : `${path}@${packageOf(item, '', undefined, place.package)}`;
}

/**
 * The block of a part: what the list states, else what the part's header asks for, else its group; below the block of the list,
 * unless it is global. hydra-core 1.3 `core/default_element.py`, `_get_final_package`
 */
function packageOf(item: DefaultsItem, name: string, header: string | undefined, parent: string): string {
  const dotted = (path: string) => path.replaceAll('/', '.');
  const group = dotted(
    item.group === undefined ? (item.plain ? '' : folderOf(name)) : item.group === '.' ? '' : item.group,
  );
  const asked = header === undefined || header === '_group_' ? undefined : `_global_.${header}`;
  const own = item.package === '_here_' ? '' : (item.package ?? asked ?? group);
  const whole = joined('.', parent, own.replaceAll('_group_', group).replaceAll('_name_', name));
  const global = whole.lastIndexOf('_global_');
  return global < 0 ? whole : whole.slice(global + '_global_.'.length);
}

/** The family of a composed config, and the block that holds its keys where it is not the top. */
interface ComposedFamily {
  readonly dialect: Dialect;
  readonly document: ConfigDocument;
  readonly block: readonly string[];
}

/**
 * The family of the whole; else that of a part, which shows it by itself. What a part in a block of its own is written for is
 * then read there: NeMo's launcher keeps the config of a training in `training`.
 */
export function familyOf(
  { document, parts }: Composition,
  more: readonly Dialect[],
): ComposedFamily | undefined {
  const whole = detectDialect(document, more);
  if (whole) return { dialect: whole, document, block: [] };
  const known = parts.flatMap((part) => {
    const dialect = detectDialect(part.document, more);
    return dialect ? [{ dialect, block: part.package }] : [];
  });
  const base = known.findLast(({ block }) => block.length === 0);
  if (base) return { ...base, document };
  const [first] = known;
  const root = first && mapAt(interpolated(document.root), first.block);
  return first && root && { ...first, document: { ...document, root } };
}
