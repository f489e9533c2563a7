import { inFile } from '../../config/deep-merge';
import { entryOf } from '../../config/lookup';
import type { ConfigDocument, ConfigNode, MapEntry, MapNode } from '../../config/node';
import { textOf } from '../../config/scalar';
import { readYamlValue } from '../../config/yaml-value';
import { onDemand } from '../../memo/on-demand';
import type { Problem } from '../../text/problem';
import type { Dialect, ReadContext, Reading } from '../dialect';
import type { Draft } from '../draft';
import type { Launch } from './launch';
import { nestedArguments } from './nested-arguments';
import type { Program } from './program';

/** Flags of Hydra itself, and those by which trainers take their config. */
const CONFIG_FLAGS = new Set([
  'config_name',
  'cn',
  'config_path',
  'cp',
  'config_dir',
  'cd',
  'config',
  'config_file',
  'c',
]);
const CONFIG = /\.ya?ml$/i;

export interface NamedConfig {
  readonly path: string;
  /** Where it is named. */
  readonly node: ConfigNode;
  readonly key: string;
  /** It may lie in the framework, out of reach. */
  readonly optional?: boolean;
  /** `path` is a script, whose `@hydra.main` names the config. */
  readonly byMain?: boolean;
}

/**
 * Trainers that take a config, and values over it (`trainer.num_nodes=4`, `--model.name x`). Both are read as one: the launch
 * names its config with the values that replace those in it, and states what the values say alone, for want of the config.
 */
export function overridingProgram(
  family: Dialect,
  match: (launch: Launch) => number,
  config: (launch: Launch) => NamedConfig | undefined,
  countsGpus?: (launch: Launch) => boolean,
  /** The family with what a launch decides of its defaults, where its config is not here. */
  familyOf: (launch: Launch) => Dialect = () => family,
  /** Its rules are about what is stated alone: they hold where the config is not here, too. */
  checksAlone = false,
): Program {
  return {
    ...(countsGpus ? { countsGpus } : {}),
    name: family.name,
    keys: family.keys,
    words: family.words,
    config: family,
    match,
    read(launch, draft, context) {
      const values = valuesOf(launch.arguments);
      const tree = nestedArguments(values);
      const choices = { ...values, entries: values.entries.filter(({ key }) => !key.includes('.')) };
      const alone = familyOf(launch).read(documentOf(tree, draft.uri), context);
      const facts = factsAlone(alone, launch);
      draft.facts.push(...facts);
      // Words that are open are left with the launch.
      draft.unread.push(...(alone.unread ?? []).filter(({ kind }) => kind === 'value'));
      const refused = onDemand(() => (checksAlone ? refusedAlone(tree, family, draft, context) : []));
      draft.rules(() => draft.problems.push(...refused()));
      const named = config(launch);
      if (!named) return;
      const { path, node, key, optional, byMain } = named;
      const link = {
        path,
        range: node.range,
        key: `${launch.path}.arguments.${key}`,
        role: 'include' as const,
      };
      const kind = { ...(optional ? { optional } : {}), ...(byMain ? { byMain } : {}) };
      draft.links.push({ ...link, ...kind, overrides: { tree, choices, facts, refused } });
    },
  };
}

/** Flags that replace values; lists and blocks in one word are read as YAML, as OmegaConf reads them. */
function valuesOf(flags: MapNode): MapNode {
  const entries = flags.entries
    .filter(({ key }) => !CONFIG_FLAGS.has(key))
    .map((entry): MapEntry => ({ ...entry, value: readYamlValue(entry.value) }));
  return { ...flags, entries };
}

/** The values of a launch as a config of their own. */
const documentOf = (root: MapNode, uri: string): ConfigDocument => ({
  uri,
  format: 'yaml',
  root,
  problems: [],
  directives: [],
  relaxedJson: false,
});

/** What the framework stops on of the values by themselves, at their places in the launch. */
function refusedAlone(tree: MapNode, family: Dialect, { uri }: Draft, context: ReadContext): Problem[] {
  const { refusedElsewhere = [] } = family.read(documentOf(inFile(tree, uri), uri), context);
  return refusedElsewhere.map((problem) => {
    const { start, end } = problem.range;
    return { ...problem, range: { start, end } };
  });
}

/** What the values say without their config. */
function factsAlone({ facts }: Reading, launch: Launch) {
  return facts.map((stated) => {
    const { key } = stated.origin;
    return key === undefined || stated.origin.kind === 'default'
      ? stated
      : { ...stated, origin: { ...stated.origin, key: `${launch.path}.arguments.${key}` } };
  });
}

export const has = ({ arguments: flags }: Launch, key: string) => entryOf(flags, key) !== undefined;
export const hasBelow = ({ arguments: flags }: Launch, block: string) =>
  flags.entries.some(({ key }) => key.startsWith(`${block}.`));

function flagOf({ arguments: flags }: Launch, keys: readonly string[]) {
  for (const key of keys) {
    const value = entryOf(flags, key)?.value;
    const text = textOf(value);
    if (value && text !== undefined && text !== '') return { key, node: value, text };
  }
  return undefined;
}

/** The config that `--config x.yaml` names, or the first word that is one. */
export function configFile(launch: Launch): NamedConfig | undefined {
  const flag = flagOf(launch, ['config', 'c']);
  if (flag) return { path: flag.text, node: flag.node, key: flag.key };
  const words = [...launch.programNodes.slice(1), ...launch.words];
  const node = words.find((word) => CONFIG.test(textOf(word) ?? ''));
  const path = textOf(node);
  return node && path !== undefined ? { path, node, key: 'config' } : undefined;
}

/** The folder of a script, and of a module (`python -m verl.trainer.main_ppo`) that of its package. */
const folderOf = (script: string) => {
  const path = script.includes('/') || script.endsWith('.py') ? script : script.replaceAll('.', '/');
  return path.slice(0, path.lastIndexOf('/') + 1);
};

/**
 * The config that Hydra composes: `--config-path` counts from the folder of the script; without it the configs lie in `conf`, as NeMo's do,
 * or in what the family calls it. Which one a script takes when none is named stands in its code.
 * hydra-core 1.3 `_internal/utils.py`, `compute_search_path_dir`
 */
export function hydraConfig(launch: Launch, usual = 'conf'): NamedConfig | undefined {
  const named = flagOf(launch, ['config_name', 'cn']);
  const path = flagOf(launch, ['config_path', 'cp']);
  const folder = flagOf(launch, ['config_dir', 'cd']);
  if (!named) return undefined;
  const file = CONFIG.test(named.text) ? named.text : `${named.text}.yaml`;
  const beside = folderOf(launch.script ?? '');
  const inFolder = path
    ? /^[/$~]/.test(path.text)
      ? path.text
      : `${beside}${path.text.replace(/^\.\//, '')}`
    : `${beside}${usual}`;
  // Where the launch is started is no folder of its own: paths are looked for there.
  const start = /^\$(?:\(pwd\)|\{?PWD\}?)\//;
  const whole = `${(folder?.text ?? inFolder).replace(/(?<!\/)\/+$/, '')}/${file}`;
  return {
    path: whole.replace(start, ''),
    node: named.node,
    key: named.key,
    optional: (path === undefined && folder === undefined) || !launch.script?.endsWith('.py'),
  };
}
