import { flagsBegunBy } from '../begun-flag';
import { COMMAND_WORDS, flagsAsArguments, namedArgument } from './command-line';
import { contentOf } from './data-loaders';
import { attributesOf, fieldOf, instance } from './functions';
import { givenByNobody } from './library-defaults';
import type { Machine } from './machine';
import { stringOf } from './node-of-value';
import type { SyntaxNode } from './syntax-node';
import { argumentAt, type Passed, type PyArgument, type PyClass, type PyObject, type PyValue } from './value';

/** Parsers that make dataclasses of flags: of transformers, of TRL, of the alignment handbook. */
export const PARSES_DATACLASSES = /(^|\.)(HfArgumentParser|TrlParser|H4ArgumentParser)$/;
/** Parsers that take a recipe of YAML beside the flags. */
const TAKES_RECIPE = /(^|\.)(TrlParser|H4ArgumentParser)$/;

/**
 * `HfArgumentParser((A, B)).parse_args_into_dataclasses()`: classes of the file and of a library with what the command or a file gives, each
 * with the fields that are its own (`transformers/hf_argparser.py`). Where nobody knows what that is, classes of the file have their defaults,
 * and those of a library come with the launch. Several are a tuple, with what is left over behind them where that is asked for.
 */
export function parsedDataclasses(
  machine: Machine,
  { parser, method, passed }: { readonly parser: number; readonly method: string; readonly passed: Passed },
  made: PyObject,
  node: SyntaxNode,
): PyValue {
  const call = machine.calls[parser];
  const asked = call?.positional[0] ?? (call && namedArgument(call, 'dataclass_types')?.value);
  const kinds = asked?.kind === 'list' ? asked.items : asked ? [asked] : [];
  const abbreviates = call?.named.every(({ key }) => key !== 'allow_abbrev') === true;
  const names = abbreviates ? namesOf(machine, kinds) : undefined;
  const given = givenTo(machine, call?.callee ?? '', { method, names }, passed, node);
  const items = kinds.map((kind) => {
    const others = kinds.filter((other) => other !== kind);
    const own = given?.filter(
      ({ key }) => !others.some((other) => isField(other, key)) || isField(kind, key),
    );
    return filled(machine, kind, own, made, node);
  });
  const [only] = items;
  if (!only) return made;
  // The handbook's own parser gives one by itself.
  if (items.length === 1 && method === 'parse') return only;
  const left = passed.named.some(({ key }) => /^return_remaining/.test(key)) ? [machine.unknown(node)] : [];
  return { kind: 'list', items: [...items, ...left], range: made.range };
}

/** All flags that a parser of these classes takes; undefined where one of them is not known whole. */
function namesOf({ argumentsOf }: Machine, kinds: readonly PyValue[]): Set<string> | undefined {
  const names = new Set(['config']);
  const isWhole = (kind: PyValue, depth = 0): boolean => {
    if (kind.kind === 'name') {
      const known = kind.name === 'object' ? [] : argumentsOf?.(kind.name.split('.').at(-1) ?? '');
      for (const name of known ?? []) names.add(name);
      return known !== undefined;
    }
    if (kind.kind !== 'class' || depth > 8) return false;
    for (const name of kind.fields.keys()) names.add(name);
    return kind.bases.every((base) => isWhole(base, depth + 1));
  };
  return kinds.every((kind) => isWhole(kind)) ? names : undefined;
}

/** Flags by their whole names, where they begin one. What begins several stops the program: none of them is known. */
const wholeFlags = (
  flags: readonly PyArgument[],
  names: ReadonlySet<string> | undefined,
): readonly PyArgument[] =>
  names === undefined
    ? flags
    : flags.flatMap((flag) => {
        const begun = flagsBegunBy(flag.key, names, true);
        if (begun.length === 0) return flag;
        const value: PyValue = { kind: 'unknown', range: flag.value.range, given: 'launch' };
        const open = begun.length > 1 ? { value } : {};
        return begun.filter((key) => names.has(key)).map((key) => ({ ...flag, key, ...open }));
      });

function filled(
  machine: Machine,
  kind: PyValue,
  given: readonly PyArgument[] | undefined,
  made: PyObject,
  node: SyntaxNode,
): PyValue {
  if (kind.kind === 'class') {
    const isLibrary = kind.bases.some(({ kind: base }) => base === 'name');
    if (isLibrary && !given) return machine.unknown(node, { given: 'launch' });
    const flags = (given ?? []).map((flag) => asDeclared(kind, flag));
    // A library's class gets the fields that are declared anew as arguments; one of the file has its fields.
    const declared = isLibrary
      ? [...kind.fields].filter(([key]) => !flags.some((flag) => flag.key === key))
      : [];
    const named = [...declared.map(([key, value]) => argumentAt(key, value)), ...flags];
    return instance(machine, kind, { positional: [], named, parsed: true }, node);
  }
  if (kind.kind !== 'name' || !given) return machine.unknown(node, { given: 'launch' });
  const { range } = made;
  const places = { range, calleeRange: range, argumentsRange: range };
  const object = machine.record({ callee: kind.name, positional: [], named: given, ...places, parsed: true });
  if (object.kind !== 'object') return object;
  const attributes = attributesOf(machine, object.id);
  for (const [key, value] of givenByNobody(kind.name)) attributes.set(key, machine.scalar(value, node));
  for (const { key, value } of given) attributes.set(key, value);
  return object;
}

/** What the parser takes the fields from; undefined where that is not known. */
function givenTo(
  machine: Machine,
  parser: string,
  { method, names }: { readonly method: string; readonly names: ReadonlySet<string> | undefined },
  { positional, named }: Passed,
  node: SyntaxNode,
): readonly PyArgument[] | undefined {
  const first = positional[0] ?? named[0]?.value;
  if (method === 'parse_dict') return entriesOf(first);
  if (/^parse_(?:json|yaml)_file$/.test(method)) return entriesOf(fileOf(machine, first, node));
  if (!machine.command) return undefined;
  // `args=[...]` stands in for what the command gives.
  if (method === 'parse_args_into_dataclasses' && named.some(({ key }) => key === 'args')) return undefined;
  const flags = wholeFlags(flagsAsArguments(machine), names);
  if (!TAKES_RECIPE.test(parser)) return flags;
  const recipe = flags.find(({ key }) => key === 'config')?.value ?? firstWord(machine);
  if (!recipe) return flags;
  const below = entriesOf(fileOf(machine, recipe, node));
  return below && [...below.filter(({ key }) => !flags.some((flag) => flag.key === key)), ...flags];
}

/** The settings in a file that is named. */
function fileOf(machine: Machine, path: PyValue | undefined, node: SyntaxNode): PyValue | undefined {
  const text = stringOf(path);
  return text === undefined
    ? undefined
    : contentOf(machine, { ...machine.unknown(node), file: text }, node, false);
}

function firstWord({ command }: Machine): PyValue | undefined {
  const words = command?.entries.find(({ key }) => key === COMMAND_WORDS)?.value;
  const [word] = words?.kind === 'list' ? words.items : [];
  return word?.kind === 'scalar' ? { kind: 'scalar', value: word.text, range: word.range } : undefined;
}

const entriesOf = (value: PyValue | undefined): readonly PyArgument[] | undefined =>
  value?.kind === 'dict' && !value.open ? value.entries : undefined;

const isField = (kind: PyValue, key: string): boolean =>
  kind.kind === 'class' && fieldOf(kind, key) !== undefined;

/** A switch takes words, as `string_to_bool` of transformers does. */
function asDeclared(kind: PyClass, flag: PyArgument): PyArgument {
  const declared = fieldOf(kind, flag.key);
  const { value } = flag;
  const isSwitch = declared?.kind === 'scalar' && typeof declared.value === 'boolean';
  if (!isSwitch || value.kind !== 'scalar' || typeof value.value === 'boolean') return flag;
  const word = String(value.value).toLowerCase();
  const on = /^(?:yes|true|t|y|1)$/.test(word);
  return on || /^(?:no|false|f|n|0)$/.test(word) ? { ...flag, value: { ...value, value: on } } : flag;
}
