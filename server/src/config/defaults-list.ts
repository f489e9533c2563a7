import { linesOf } from '../text/lines';
import type { Problem } from '../text/problem';
import { entryOf } from './lookup';
import type { ConfigDocument, ConfigNode, MapNode } from './node';

/**
 * One line of a `defaults:` list of Hydra, or of the configs that name their bases in the same way.
 * https://hydra.cc/docs/advanced/defaults_list/
 */
export interface DefaultsItem {
  /** What stands there is the config itself, between the ones that it starts from. */
  readonly self: boolean;
  /** Folder of the options, without the leading slash; absent where a config is named by its path. */
  readonly group?: string;
  /** Configs taken, by their paths without the group; more than one where a group gives several, none where it is left open. */
  readonly options: readonly DefaultsOption[];
  /** Block that the config is put into, as written behind `@`. */
  readonly package?: string;
  /** Counted from the folder of the config that the run starts from, not from this one's. */
  readonly absolute: boolean;
  /** The config need not exist. */
  readonly optional: boolean;
  /** Notes which option another list's group takes, and takes none by itself. */
  readonly override: boolean;
  /** A path with its extension is one of the file system: it adds no block, whatever its folders are. */
  readonly plain: boolean;
}

/** A config of an item; its name may hold `${...}`. */
export interface DefaultsOption {
  readonly name: string;
  readonly range: Problem['range'];
}

/** A config that another starts from. */
interface BaseConfig {
  /** As written, with its group before it and `.yaml` where Hydra leaves it out. */
  readonly path: string;
  readonly range: Problem['range'];
  /** Nothing is amiss where it is not here. */
  readonly optional?: boolean;
}

/** The items of a config's `defaults:` in their order; none where it has no such list. */
export function defaultsOf({ format, root }: ConfigDocument): DefaultsItem[] {
  const defaults = format === 'yaml' ? entryOf(root, 'defaults')?.value : undefined;
  if (!defaults || defaults.kind === 'map') return [];
  const items = defaults.kind === 'list' ? defaults.items : [defaults];
  return items.flatMap((item) => {
    if (item.kind === 'scalar') return typeof item.value === 'string' ? configItem(item.text, item) : [];
    return item.kind === 'map' ? groupItem(item) : [];
  });
}

function configItem(text: string, { range }: ConfigNode): DefaultsItem[] {
  const { path, ...rest } = words(text);
  if (path === '_self_') return [{ ...rest, self: true, options: [], plain: false }];
  const plain = /\.ya?ml$/.test(path);
  const options = [{ name: path, range }];
  return /^[\w./~${}:-]+$/.test(path) ? [{ ...rest, self: false, options, plain }] : [];
}

/** `group: option`, `group@package: [option, option]`, `optional group: option`, `override group: option`. */
function groupItem({ entries: [entry] }: MapNode): DefaultsItem[] {
  if (!entry) return [];
  const { path: group, ...rest } = words(entry.key);
  // What Hydra itself is set up with states nothing about training.
  if (!/^[\w./-]+$/.test(group) || /^hydra(\/|$)/.test(group)) return [];
  const { value } = entry;
  const nodes = value.kind === 'list' ? value.items : [value];
  const options = nodes.flatMap((node) =>
    node.kind === 'scalar' && node.value !== null && node.text !== '???'
      ? [{ name: node.text, range: node.range }]
      : [],
  );
  return [{ ...rest, self: false, group, options, plain: false }];
}

function words(text: string) {
  const flags = /^(?:(?:optional|override)\s+)*/.exec(text)?.[0] ?? '';
  const [path = '', place] = text.slice(flags.length).trim().split('@');
  return {
    path: path.replace(/^\/(?!.*\.ya?ml$)/, ''),
    package: place,
    absolute: /^\/(?!.*\.ya?ml$)/.test(path),
    optional: flags.includes('optional'),
    override: flags.includes('override'),
  };
}

/** The folder of the options that a key of a defaults list takes one of. */
export function groupOf(key: string): string {
  return words(key).path;
}

/** The file of one option of an item, relative to the folder that the item counts from. */
export function fileOf({ group, plain }: DefaultsItem, name: string): string {
  const path = group === undefined || group === '.' ? name : `${group}/${name}`;
  return plain || /\.ya?ml$/.test(path) ? path : `${path}.yaml`;
}

/**
 * Configs that a `defaults:` list names, the one that counts most first: of several the last. What the user chooses when the
 * run starts (`${...}`, `???`) is not among them.
 */
export function baseConfigs(document: ConfigDocument): BaseConfig[] {
  return defaultsOf(document)
    .filter(({ self, override }) => !self && !override)
    .flatMap((item) =>
      item.options
        .filter(({ name }) => !name.includes('$'))
        .map(({ name, range }) => ({
          path: fileOf(item, name),
          range,
          ...(item.optional ? { optional: true } : {}),
        })),
    )
    .reverse();
}

/**
 * Folders that Hydra looks into beside the config's own: `hydra: {searchpath: [file://conf]}` or `file:conf`, counted from where the run is started.
 * Those of packages (`pkg://verl.conf`) are folders, too, where the package is part of the repository.
 * https://hydra.cc/docs/advanced/search_path/
 */
export function searchPathOf({ format, root }: ConfigDocument): string[] {
  const hydra = format === 'yaml' ? entryOf(root, 'hydra')?.value : undefined;
  const listed = hydra?.kind === 'map' ? entryOf(hydra, 'searchpath')?.value : undefined;
  const nodes = listed?.kind === 'list' ? listed.items : listed ? [listed] : [];
  return nodes.flatMap((node) => {
    const [, scheme, path] =
      (node.kind === 'scalar' && /^(file|pkg):(?:\/\/)?([^$]+?)\/*$/.exec(node.text)) || [];
    if (path === undefined) return [];
    return [scheme === 'pkg' ? path.replaceAll('.', '/') : path];
  });
}

/** The block that a config asks to be put into, in a comment above its first key: `# @package _global_`. */
export function packageHeader(text: string): string | undefined {
  for (const line of linesOf(text, 50)) {
    const found = /^\s*#\s*@package\s+(\S+)/.exec(line)?.[1];
    if (found !== undefined) return found;
    if (!/^\s*(#.*)?$/.test(line)) return undefined;
  }
  return undefined;
}

/** Whether a text may start from another config: certain where it denies it. */
export function mayHaveBase(uri: string, text: string): boolean {
  return /\.ya?ml$/i.test(uri) && /^defaults\s*:/m.test(text);
}
