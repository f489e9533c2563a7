import { entryOf } from './lookup';
import type { ConfigDocument, Problem, ScalarNode } from './node';

/** A config that another starts from. */
export interface BaseConfig {
  /** As written, with `.yaml` where Hydra leaves it out. */
  readonly path: string;
  readonly range: Problem['range'];
}

/**
 * Configs that a `defaults:` list of Hydra and OmegaConf names, the one that counts most first: of several the last. Groups
 * (`- optimizer: adamw`) lie in blocks of their own and packages (`@`) elsewhere; they are left to their families, as is what the
 * user chooses when the run starts (`${...}`).
 * https://hydra.cc/docs/advanced/defaults_list/
 */
export function baseConfigs({ format, root }: ConfigDocument): BaseConfig[] {
  const defaults = format === 'yaml' ? entryOf(root, 'defaults')?.value : undefined;
  if (!defaults || defaults.kind === 'map') return [];
  const items = defaults.kind === 'list' ? defaults.items : [defaults];
  return items
    .filter((item): item is ScalarNode => item.kind === 'scalar')
    .filter(({ value }) => typeof value === 'string' && /^[\w./~-]+$/.test(value) && value !== '_self_')
    .map(({ text, range }) => ({ path: /\.ya?ml$/.test(text) ? text : `${text}.yaml`, range }))
    .reverse();
}

/** Whether a text may start from another config: certain where it says no. */
export function mayHaveBase(uri: string, text: string): boolean {
  return /\.ya?ml$/i.test(uri) && /^defaults\s*:/m.test(text);
}
