import type { Machine } from './machine';
import { isNone, stringOf } from './node-of-value';
import { serializedIn } from './serialized-value';
import type { SyntaxNode } from './syntax-node';
import type { Passed, PyArgument, PyCall, PyDict, PyObject, PyValue } from './value';

/** Functions that read YAML, JSON or TOML: of an open file or its text, or of a path. */
const READS =
  /^(?:yaml\.(?:safe_load|full_load|unsafe_load|load)|(?:json|toml|tomllib|tomli|commentjson|json5|hjson)\.loads?)$/;
/** Functions that write them: into an open file, or as text. */
const WRITES =
  /^(?:yaml\.(?:safe_)?dump|(?:json|toml|tomli_w|commentjson|json5|hjson)\.dumps?|(?:omegaconf\.)?OmegaConf\.save)$/;
const OMEGACONF = /^(?:omegaconf\.)?OmegaConf\.(\w+)$/;
/** Classes whose objects have the entries of a dictionary as attributes, by the last part of their names. */
const NAMESPACES =
  /(?:^|\.)(?:SimpleNamespace|Namespace|EasyDict|Box|Munch|munchify|DotMap|DotDict|AttrDict|AttributeDict|ConfigDict|DictConfig)$|^addict\.Dict$/;

/** What a function that reads settings, or wraps them, gives; undefined where it is none. */
export function loadedBy(
  machine: Machine,
  name: string,
  { positional, named, open }: Passed,
  node: SyntaxNode,
): PyValue | undefined {
  if (WRITES.test(name)) return writtenBy(machine, { positional, named }, node);
  const first = positional[0] ?? named.find(({ key }) => /^(?:stream|fp|s|f|file_)$/.test(key))?.value;
  if (READS.test(name)) return contentOf(machine, first, node, false);
  const method = OMEGACONF.exec(name)?.[1];
  if (method === 'load') return contentOf(machine, first, node, true);
  if (method === 'create') return first?.kind === 'dict' ? withAttributes(first) : machine.unknown(node);
  if (method === 'to_container' || method === 'to_object')
    return first?.kind === 'dict' ? first : machine.unknown(node);
  if (method === 'merge') return mergedSettings(machine, positional, node);
  if (/^copy\.(?:deep)?copy$/.test(name) && first?.kind === 'dict') return { ...first };
  if (!NAMESPACES.test(name)) return undefined;
  if (first !== undefined && first.kind !== 'dict') return undefined;
  const entries = new Map([...(first?.entries ?? []), ...named].map((entry) => [entry.key, entry]));
  return withAttributes({
    kind: 'dict',
    entries: [...entries.values()],
    range: machine.rangeOf(node),
    ...(open || first?.open ? { open: true } : {}),
  });
}

/** `json.dump(settings, file)`, `yaml.safe_dump(settings, file)`, `OmegaConf.save(settings, path)`; `json.dumps(settings)` makes a text. */
function writtenBy(machine: Machine, passed: Passed, node: SyntaxNode): PyValue {
  const of = (place: number, keys: RegExp) =>
    passed.positional[place] ?? passed.named.find(({ key }) => keys.test(key))?.value;
  const value = of(0, /^(?:obj|data|config|o)$/);
  const into = of(1, /^(?:fp|stream|f)$/);
  const path = into?.kind === 'unknown' ? into.file : stringOf(into);
  if (path !== undefined) machine.data.write(path, value);
  return machine.unknown(node, value && into === undefined ? { serialized: value } : {});
}

/** The settings in a file that is open, read, or named. */
export function contentOf(
  machine: Machine,
  value: PyValue | undefined,
  node: SyntaxNode,
  fill: boolean,
): PyValue {
  const named = fill ? stringOf(value) : undefined;
  const serialized = serializedIn(value);
  if (serialized) return serialized;
  const path = value?.kind === 'unknown' ? value.file : named;
  const held =
    path === undefined ? undefined : machine.data.load({ path, range: machine.rangeOf(node) }, fill);
  return (
    held ?? machine.unknown(node, value?.kind === 'unknown' && value.given ? { given: value.given } : {})
  );
}

const withAttributes = (value: PyDict): PyDict => ({
  ...value,
  attributes: true,
  entries: value.entries.map((entry) =>
    entry.value.kind === 'dict' ? { ...entry, value: withAttributes(entry.value) } : entry,
  ),
});

/** `OmegaConf.merge(...)`. What the command line gives may say otherwise, as with any parser of arguments: it adds nothing here. */
function mergedSettings(machine: Machine, layers: readonly PyValue[], node: SyntaxNode): PyValue {
  const ofCommand = (value: PyValue) =>
    value.kind === 'object' && /(?:^|\.)from_(?:cli|dotlist)$/.test(machine.calls[value.id]?.callee ?? '');
  const kept = layers.filter((layer) => !ofCommand(layer));
  const [first, ...rest] = kept;
  if (first?.kind !== 'dict') return machine.unknown(node);
  return withAttributes(rest.reduce<PyDict>(overlaid, first));
}

/** One dictionary over another, block by block. */
function overlaid(under: PyDict, over: PyValue): PyDict {
  if (over.kind !== 'dict') return { ...under, open: true };
  const entries = new Map<string, PyArgument>(under.entries.map((entry) => [entry.key, entry]));
  for (const entry of over.entries) {
    const below = entries.get(entry.key)?.value;
    const value =
      below?.kind === 'dict' && entry.value.kind === 'dict' ? overlaid(below, entry.value) : entry.value;
    entries.set(entry.key, { ...entry, value });
  }
  return { ...under, entries: [...entries.values()], ...(over.open ? { open: true } : {}) };
}

/**
 * The config that `@hydra.main(config_path=..., config_name=...)` passes to the function below it; undefined where it is not
 * at hand. https://hydra.cc/docs/tutorials/basic/your_first_app/config_file/
 */
export function configOfHydra(machine: Machine, made: PyObject): PyValue | undefined {
  const call = machine.calls[made.id];
  if (!call || !/^(?:hydra\.)?main$/.test(call.callee)) return undefined;
  const folder = givenTo(call, 'config_path', 0);
  const name = stringOf(givenTo(call, 'config_name', 1));
  const below = !folder || isNone(folder) ? '.' : stringOf(folder);
  if (name === undefined || below === undefined) return undefined;
  const path = `${below}/${/\.ya?ml$/.test(name) ? name : `${name}.yaml`}`;
  return machine.data.load({ path, composed: true, range: call.range }, true);
}

const givenTo = (call: PyCall, key: string, place: number) =>
  call.named.find((argument) => argument.key === key)?.value ?? call.positional[place];
