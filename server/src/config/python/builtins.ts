import { entryOf } from '../lookup';
import { chosenByFunction } from './chosen-parameters';
import { LAUNCHED_WITH } from './command-line';
import { loadedBy } from './data-loaders';
import { hasAttribute } from './has-attribute';
import { either, lifted, type Machine, truth } from './machine';
import { stringOf } from './node-of-value';
import { setNamed } from './object-changes';
import { isPathFunction, pathOf } from './paths';
import { iterated } from './rounds';
import type { SyntaxNode } from './syntax-node';
import { tokenizerLength } from './tokenizer-length';
import type { Passed, Probe, PyArgument, PyDict, PyScalar, PyUnknown, PyValue } from './value';

/** Functions that ask whether the GPU computes in bf16, the last one of Accelerate, which asks PyTorch (`utils/imports.py`). */
const PROBES =
  /(^|\.)(is_bf16_supported|is_bfloat16_supported|is_torch_bf16_gpu_available|is_torch_bf16_available)$|^accelerate\.utils\.(imports\.)?is_bf16_available$/;
/** `torch.cuda.get_device_capability()`: bf16 is there from 8.0 on. */
const CAPABILITY = /(^|\.)get_device_capability$/;

/** What a function of Python, or one whose answer is known, gives; undefined where it is none of these. */
export function callBuiltin(
  machine: Machine,
  name: string,
  passed: Passed,
  node: SyntaxNode,
): PyValue | undefined {
  const { positional, named } = passed;
  if (PROBES.test(name)) return probe(machine, node, [true, false], askedOf(name, passed));
  if (CAPABILITY.test(name)) {
    const [major, minor] = [probe(machine, node, [8, 7], 'bf16'), machine.unknown(node)];
    return { kind: 'list', items: [major, minor], range: machine.rangeOf(node) };
  }
  const loaded =
    loadedBy(machine, name, passed, node) ??
    (isPathFunction(name) ? liftedPath(machine, name, positional, node) : undefined);
  if (loaded) return loaded;
  const chosen =
    chosenByFunction(machine, name, positional, node) ?? iterated(machine, name, positional, node);
  if (chosen) return chosen;
  const [first, second, third] = positional;
  switch (name) {
    case 'torch.cuda.is_available':
    case 'torch.accelerator.is_available':
      return machine.scalar(true, node);
    case 'torch.get_device_module':
      return { kind: 'name', name: OF_GPU, range: machine.rangeOf(node) };
    case 'dict':
      return first && first.kind !== 'dict'
        ? machine.unknown(node)
        : dictOf(machine, first, named, node, passed.open !== undefined);
    case 'list':
    case 'tuple':
      if (!first) return { kind: 'list', items: [], range: machine.rangeOf(node) };
      return first.kind === 'list' ? first : machine.unknown(node);
    case 'int':
    case 'float':
    case 'bool':
    case 'str':
      return first
        ? lifted([first], ([value]) => converted(machine, name, value, node))
        : machine.unknown(node);
    case 'len':
      return lengthOf(machine, first, node);
    case 'min':
    case 'max':
      // Of several GPUs, which are alike.
      if (first?.kind === 'unknown' && first.ofMemory !== undefined && !second) return first;
      return lifted(positional, (values) => extreme(machine, name, values, node));
    case 'os.environ.get':
    case 'os.getenv':
      return fromEnvironment(machine, first, second, node);
    case 'os.environ.setdefault':
      if (first?.kind === 'scalar' && second) setVariable(machine, first, second, node);
      return second ?? machine.unknown(node);
    case 'os.environ.update':
      if (first?.kind === 'dict')
        for (const entry of first.entries)
          setVariable(machine, machine.scalar(entry.key, node), entry.value, node);
      return machine.unknown(node);
    case 'typing.cast':
      return second ?? machine.unknown(node);
    case 'getattr':
      return isOfDevice(first, second, third) ? third : namedAttribute(machine, first, second, node);
    case 'setattr':
      if (first) setNamed(machine, first, second, third ?? machine.unknown(node), node);
      return machine.unknown(node);
    case 'hasattr':
      return answered(machine, hasAttribute(machine.calls, first, second), node);
    case 'open':
      return openedFile(machine, first, node);
    case 'zip':
    case 'print':
    case 'isinstance':
    case 'type':
    case 'super':
      return machine.unknown(node);
    default:
      return COUNTS_GPUS.test(name) ? machine.unknown(node, { countsGpus: true }) : undefined;
  }
}

const answered = (machine: Machine, answer: boolean | undefined, node: SyntaxNode): PyValue =>
  answer === undefined ? machine.unknown(node) : machine.scalar(answer, node);

/** The content of a file that a path names, which is not known here. */
function openedFile(machine: Machine, path: PyValue | undefined, node: SyntaxNode): PyValue {
  const file = stringOf(path);
  const given = path?.kind === 'unknown' ? path.given : undefined;
  return machine.unknown(node, { ...(file ? { file } : {}), ...(given ? { given } : {}) });
}

/** The number of items of a list, or of tokens that a tokenizer has. */
function lengthOf(machine: Machine, of: PyValue | undefined, node: SyntaxNode): PyValue {
  if (of?.kind === 'list') return machine.scalar(of.items.length, node);
  const tokens = of?.kind === 'object' ? tokenizerLength(machine, of) : undefined;
  return tokens === undefined ? machine.unknown(node, counted(of)) : machine.scalar(tokens, node);
}

/** Whose tokens are counted where their number is not known: those of a tokenizer, alone or in a processor. */
function counted(of: PyValue | undefined): Pick<PyUnknown, 'countOf'> {
  if (of?.kind === 'object' && of.item === undefined) return { countOf: of.id };
  const isHeld = of?.kind === 'unknown' && of.path === 'tokenizer' && of.of !== undefined;
  return isHeld ? { countOf: of.of } : {};
}

const COUNTS_GPUS = /^torch\.(?:cuda|accelerator)\.device_count$/;

/** PyTorch's module of the device that trains, which is a GPU. */
const OF_GPU = 'torch.cuda';

/** `getattr(torch, device.type, torch.cuda)`: whatever the device is called, on a GPU it is that module. */
const isOfDevice = (
  owner: PyValue | undefined,
  name: PyValue | undefined,
  otherwise: PyValue | undefined,
): otherwise is PyValue =>
  owner?.kind === 'name' &&
  owner.name === 'torch' &&
  name?.kind !== 'scalar' &&
  otherwise?.kind === 'name' &&
  otherwise.name === OF_GPU;

/** `getattr(torch, "bfloat16")`, and of a module of the workspace what it binds. */
function namedAttribute(
  machine: Machine,
  owner: PyValue | undefined,
  name: PyValue | undefined,
  node: SyntaxNode,
): PyValue {
  if (owner?.kind !== 'name' || name?.kind !== 'scalar') return machine.unknown(node);
  const attribute = String(name.value);
  if (machine.namespaces.has(owner.name))
    return machine.fromModule(owner.name, attribute) ?? machine.unknown(node);
  return { kind: 'name', name: `${owner.name}.${attribute}`, range: machine.rangeOf(node) };
}

/** A value that hangs on whether the GPU computes in bf16. */
function probe(
  machine: Machine,
  node: SyntaxNode,
  [yes, no]: readonly [yes: PyScalar['value'], no: PyScalar['value']],
  asked: Probe,
): PyValue {
  machine.asks = true;
  return either([machine.scalar(yes, node), machine.scalar(no, node)], machine.rangeOf(node), asked);
}

/** What a function asks: PyTorch's counts emulation by default (`is_bf16_supported(including_emulation=True)`), Unsloth's never does. */
function askedOf(name: string, { positional, named }: Passed): Probe {
  if (/^unsloth\b|is_bfloat16_supported$/.test(name)) return 'bf16';
  if (/is_torch_bf16\w*$/.test(name)) return { emulatedBy: 'transformers' };
  const emulated = named.find(({ key }) => key === 'including_emulation')?.value ?? positional[0];
  return emulated && truth(emulated) === false ? 'bf16' : { emulatedBy: 'torch' };
}

function dictOf(
  machine: Machine,
  before: PyDict | undefined,
  named: readonly PyArgument[],
  node: SyntaxNode,
  open: boolean,
): PyValue {
  const entries = new Map([...(before?.entries ?? []), ...named].map((entry) => [entry.key, entry]));
  const more = open || before?.open ? { open: true as const } : {};
  return { kind: 'dict', entries: [...entries.values()], range: machine.rangeOf(node), ...more };
}

function converted(machine: Machine, name: string, value: PyValue | undefined, node: SyntaxNode): PyValue {
  if (!value) return machine.unknown(node);
  if (name === 'bool') {
    const known = truth(value);
    return known === undefined ? machine.unknown(node) : machine.scalar(known, node);
  }
  if (value.kind !== 'scalar' || value.value === null) return machine.unknown(node);
  if (name === 'str') return machine.scalar(String(value.value), node);
  const number =
    typeof value.value === 'string' && value.value.trim() === '' ? Number.NaN : Number(value.value);
  if (!Number.isFinite(number)) return machine.unknown(node);
  return machine.scalar(name === 'int' ? Math.trunc(number) : number, node);
}

function extreme(machine: Machine, name: string, values: readonly PyValue[], node: SyntaxNode): PyValue {
  const numbers = values.map((value) =>
    value.kind === 'scalar' && typeof value.value === 'number' ? value.value : undefined,
  );
  const known = numbers.filter((number) => number !== undefined);
  if (numbers.length < 2 || known.length < numbers.length) {
    const least = values.find((value) => value.kind === 'scalar' && value.value === Math.min(...known));
    return machine.unknown(node, name === 'min' && least?.kind === 'scalar' ? { most: least } : {});
  }
  return machine.scalar(name === 'min' ? Math.min(...known) : Math.max(...known), node);
}

/** A path of what is known; of one of several each. Undefined where nothing of it is. */
function liftedPath(
  machine: Machine,
  name: string,
  given: readonly PyValue[],
  node: SyntaxNode,
): PyValue | undefined {
  const known = lifted(given, (values) => pathOf(machine, name, values, node) ?? machine.unknown(node));
  return known.kind === 'unknown' ? undefined : known;
}

/** A variable that the text sets itself, else one that somebody sets before, or nobody. */
function fromEnvironment(
  machine: Machine,
  name: PyValue | undefined,
  byDefault: PyValue | undefined,
  node: SyntaxNode,
): PyValue {
  const key = name?.kind === 'scalar' ? String(name.value) : undefined;
  const set = machine.environment.find((entry) => entry.key === key);
  if (set) return set.value;
  const launched = machine.command && entryOf(machine.command, LAUNCHED_WITH)?.value;
  const given = launched?.kind === 'map' && key !== undefined ? entryOf(launched, key)?.value : undefined;
  if (given?.kind === 'scalar') return machine.scalar(given.text, node);
  return byDefault
    ? either([byDefault, machine.unknown(node)], machine.rangeOf(node))
    : machine.unknown(node, { given: 'launch' });
}

/** `os.environ["NAME"] = value` and its like. A branch that may not be taken leaves it open. */
export function setVariable(machine: Machine, name: PyScalar, value: PyValue, node: SyntaxNode): void {
  machine.environment.push({
    key: String(name.value),
    keyRange: name.range,
    value: machine.conditions.length > 0 ? machine.unknown(node) : value,
    used: machine.rangeOf(node),
    text: machine.shown(node),
  });
}
