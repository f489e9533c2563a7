import { askedBy } from './asked-by';
import type { AskedValue, ManifestJob } from './job-manifest';
import type { Lines } from './lines';
import { entryOf, mapAt } from './lookup';
import type { ConfigNode, MapEntry, MapNode, ScalarNode } from './node';
import { replacedIn } from './replaced-pieces';
import { integerOf, textOf } from './scalar';
import { exported, mark } from './script-variables';
import type { PlacedText } from './shell/placed-text';
import { yamlScalarPieces } from './yaml-scalar-pieces';

type Given = Partial<Record<'gpus' | 'card' | 'instance' | 'machines' | 'image', AskedValue>>;

/** The addresses of the machines, counted: as many as `SKYPILOT_NUM_NODES` is (https://docs.skypilot.co/en/latest/running-jobs/environment-variables.html). */
const COUNTED_MACHINES = /\$\(\s*echo\s+"\$\{?SKYPILOT_NODE_IPS\}?"\s*\|\s*wc\s+-l\s*\)/g;

/**
 * A task of SkyPilot: `setup` and `run` on machines with `resources` (https://docs.skypilot.co/en/latest/reference/yaml-spec.html). It sets
 * how many machines and GPUs there are (https://docs.skypilot.co/en/latest/running-jobs/environment-variables.html).
 */
export function skyPilotTask(root: MapNode, lines: Lines): ManifestJob | undefined {
  const run = scriptOf(root, 'run');
  const resources = mapAt(root, ['resources']);
  if (!run || (!resources && !scriptOf(root, 'setup'))) return undefined;
  const asked: Given = { ...acceleratorsOf(entryOf(resources, 'accelerators')) };
  const instance = entryOf(resources, 'instance_type');
  if (instance) asked.instance = askedBy(instance);
  const image = entryOf(resources, 'image_id');
  const container = image && /^docker:(.+)$/.exec(textOf(image.value) ?? '')?.[1];
  if (image && container) asked.image = { ...askedBy(image), text: container };
  const machines = entryOf(root, 'num_nodes');
  if (machines) asked.machines = askedBy(machines);
  const setup = scriptOf(root, 'setup');
  const variables = [
    ...(mapAt(root, ['envs']) ?? mapAt(root, ['env']) ?? { entries: [] }).entries.flatMap(({ key, value }) =>
      value.kind === 'scalar' ? exported(key, value, lines) : [],
    ),
    ...counted('SKYPILOT_NUM_NODES', asked.machines ?? { ...plainAt(root), text: '1' }, lines),
    ...(asked.gpus ? counted('SKYPILOT_NUM_GPUS_PER_NODE', asked.gpus, lines) : []),
  ];
  const pieces = [setup, run].flatMap((each) =>
    each ? [...yamlScalarPieces(each, lines), newline(each, lines)] : [],
  );
  const script = replacedIn(pieces, COUNTED_MACHINES, () => `\${SKYPILOT_NUM_NODES}`);
  return { script: [...variables, ...script], asked: { system: 'SkyPilot', ...asked } };
}

/**
 * A task of dstack: `commands` on `nodes` machines with `resources` (https://dstack.ai/docs/reference/dstack.yml/task/), whose variables
 * are in https://dstack.ai/docs/concepts/tasks/.
 */
export function dstackTask(root: MapNode, lines: Lines): ManifestJob | undefined {
  const commands = entryOf(root, 'commands')?.value;
  if (textOf(entryOf(root, 'type')?.value) !== 'task' || commands?.kind !== 'list') return undefined;
  const asked: Given = { ...dstackGpu(entryOf(mapAt(root, ['resources']), 'gpu')) };
  const image = entryOf(root, 'image');
  if (image) asked.image = askedBy(image);
  const machines = entryOf(root, 'nodes');
  if (machines) asked.machines = askedBy(machines);
  const env = entryOf(root, 'env')?.value;
  const variables = [
    ...(env?.kind === 'map' ? env.entries : []).flatMap(({ key, value }) =>
      value.kind === 'scalar' ? exported(key, value, lines) : [],
    ),
    ...(env?.kind === 'list' ? env.items : []).flatMap((item) => {
      const [, name, value = ''] = /^([A-Za-z_]\w*)=(.*)$/s.exec(textOf(item) ?? '') ?? [];
      if (name === undefined || item.kind !== 'scalar') return [];
      return exported(name, { ...item, text: value, value }, lines);
    }),
    ...counted('DSTACK_NODES_NUM', asked.machines ?? { ...plainAt(root), text: '1' }, lines),
    ...(asked.gpus ? counted('DSTACK_GPUS_PER_NODE', asked.gpus, lines) : []),
  ];
  const pieces = commands.items.flatMap((item) =>
    item.kind === 'scalar' ? [...yamlScalarPieces(item, lines), newline(item, lines)] : [],
  );
  return { script: [...variables, ...pieces], asked: { system: 'dstack', ...asked } };
}

/** `H100:8`, `{H100: 8}`; of several that would do those facts that all share. */
function acceleratorsOf(entry: MapEntry | undefined): Given {
  if (!entry) return {};
  const { key, value } = entry;
  const ways: { readonly name: string; readonly count: string; readonly node: ConfigNode }[] =
    value.kind === 'map'
      ? value.entries.map((each) => ({
          name: each.key,
          count: String(integerOf(each.value) ?? 1),
          node: each.value,
        }))
      : (value.kind === 'list' ? value.items : [value]).flatMap((node) => {
          const [, name, count = '1'] = /^([A-Za-z][\w.-]*)(?::(\d+))?$/.exec(textOf(node) ?? '') ?? [];
          return name === undefined ? [] : [{ name, count, node }];
        });
  const [first] = ways;
  if (!first) return {};
  const at = { key, range: first.node.range };
  return {
    ...(ways.every(({ count }) => count === first.count) ? { gpus: { ...at, text: first.count } } : {}),
    ...(ways.every(({ name }) => name === first.name) ? { card: { ...at, text: first.name } } : {}),
  };
}

/** `H100:8`, `A100:80GB:8`, `24GB:2`, `{name: H100, count: 8}`; a range and a choice state nothing. */
function dstackGpu(entry: MapEntry | undefined): Given {
  if (!entry) return {};
  const { key, value } = entry;
  const parts =
    value.kind === 'map'
      ? ['name', 'memory', 'count'].flatMap((name) => textOf(entryOf(value, name)?.value) ?? [])
      : (textOf(value) ?? '').split(':');
  const count = parts.find((part) => /^\d*(?:\.\.\d*)?$/.test(part) && part !== '') ?? '1';
  const memory = parts.find((part) => /^\d+GB$/i.test(part));
  const name = parts.find(
    (part) => /^[A-Za-z][\w-]*$/.test(part) && !/^(?:nvidia|amd|intel|tenstorrent)$/i.test(part),
  );
  const at = { key, range: value.range };
  return {
    ...(/^[1-9]\d*$/.test(count) ? { gpus: { ...at, text: count } } : {}),
    ...(name === undefined
      ? {}
      : { card: { ...at, text: memory === undefined ? name : `${name}-${memory}` } }),
  };
}

function scriptOf(root: MapNode, key: string): ScalarNode | undefined {
  const value = entryOf(root, key)?.value;
  return value?.kind === 'scalar' && typeof value.value === 'string' && /\s/.test(value.text)
    ? value
    : undefined;
}

const plainAt = ({ range }: MapNode) => ({ key: '', range: { start: range.start, end: range.start } });

const newline = ({ range }: ScalarNode, lines: Lines) => mark('\n', lines.offset(range.end));

function counted(name: string, { text, range }: AskedValue, lines: Lines): PlacedText {
  return exported(name, { kind: 'scalar', range, value: text, text, quoted: false }, lines);
}
