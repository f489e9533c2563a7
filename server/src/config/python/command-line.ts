import type { Range } from '../../text/place';
import { entryOf } from '../lookup';
import type { ConfigNode, MapNode } from '../node';
import { fireLiteral, type Literal } from './fire-literal';
import { attributesOf } from './functions';
import type { Machine } from './machine';
import { isTrue, stringOf } from './node-of-value';
import { argumentAt, type PyArgument, type PyCall, type PyScalar, type PyValue } from './value';

/** Key of the words of a command that belong to no flag. */
export const COMMAND_WORDS = '*';
/** Key that stands where the packages are there that the script's metadata name. */
export const WITH_METADATA = '# /// script';

export const namedArgument = (call: PyCall, key: string) =>
  call.named.find((argument) => argument.key === key);
/** Names of an argument of `argparse`, as they are written. */
const namesOf = (call: PyCall): string[] => call.positional.flatMap((value) => stringOf(value) ?? []);
/** The name of a flag as commands have it. */
const keyOf = (name: string): string => name.replace(/^-+/, '').replaceAll('-', '_');

/** The name that an argument of `argparse` goes by. */
function destinationOf(call: PyCall): string | undefined {
  const dest = stringOf(namedArgument(call, 'dest')?.value);
  if (dest !== undefined) return dest;
  const names = namesOf(call);
  const first = names.find((name) => name.startsWith('--')) ?? names[0];
  return first === undefined ? undefined : keyOf(first);
}

/**
 * `parser.parse_args()`: what the command gives, else what `add_argument` and `set_defaults` give as defaults; what has none
 * comes with the launch. https://docs.python.org/3/library/argparse.html
 */
export function fillArguments(machine: Machine, parser: number, made: number): void {
  const attributes = attributesOf(machine, made);
  const groups = new Set([parser]);
  const added: PyCall[] = [];
  for (const call of machine.calls) {
    if (call.of === undefined || !groups.has(call.of.id)) continue;
    if (/^add_(argument_group|mutually_exclusive_group)$/.test(call.callee)) groups.add(call.id);
    if (call.callee === 'add_argument') added.push(call);
  }
  for (const call of added) {
    const name = destinationOf(call);
    if (name !== undefined) attributes.set(name, defaultValue(call));
  }
  // What they are set to later counts, wherever the arguments are added.
  for (const call of machine.calls) {
    if (call.callee !== 'set_defaults' || call.of === undefined || !groups.has(call.of.id)) continue;
    for (const { key, value } of call.named) attributes.set(key, value);
    const unknown: PyValue = { kind: 'unknown', range: call.range };
    if (call.open) for (const name of attributes.keys()) attributes.set(name, unknown);
  }
  const { command } = machine;
  if (!command) return;
  const abbreviates = machine.calls[parser]?.named.every(({ key }) => key !== 'allow_abbrev') === true;
  const given = abbreviates ? unabbreviated(command, added) : command;
  for (const [name, value] of commandValues(given, added)) attributes.set(name, value);
}

/** What a function is called with whose flags are these calls, in the manner of `argparse`: what the command gives, else their defaults. */
export function commandFlags({ command }: Machine, added: readonly PyCall[]): readonly PyArgument[] {
  const given = new Map(command ? commandValues(command, added) : []);
  return added.flatMap((call): PyArgument[] => {
    const key = destinationOf(call);
    if (key === undefined) return [];
    const { calleeRange } = call;
    return [
      {
        key,
        keyRange: calleeRange,
        value: given.get(key) ?? defaultValue(call),
        used: calleeRange,
        text: key,
      },
    ];
  });
}

/** A command with whole flags in place of those that it begins to write, where they are the beginning of one alone (`allow_abbrev`). */
function unabbreviated(command: MapNode, added: readonly PyCall[]): MapNode {
  const long = added.map((call) =>
    namesOf(call)
      .filter((name) => name.startsWith('--'))
      .map(keyOf),
  );
  const exact = new Set(added.flatMap((call) => namesOf(call).map(keyOf)));
  const entries = command.entries.map((entry) => {
    const { key } = entry;
    if (key.length < 2 || exact.has(key)) return entry;
    const begun = long.flatMap((names) => names.find((name) => name.startsWith(key)) ?? []);
    const [whole] = begun;
    return whole !== undefined && begun.length === 1 ? { ...entry, key: whole } : entry;
  });
  return { ...command, entries };
}

/** What a command gives, by the arguments that take it. */
function commandValues(command: MapNode, added: readonly PyCall[]): [name: string, value: PyValue][] {
  const given = entryOf(command, COMMAND_WORDS)?.value;
  const words = given?.kind === 'list' ? [...given.items] : [];
  return added.flatMap((call): [string, PyValue][] => {
    const name = destinationOf(call);
    if (name === undefined) return [];
    const names = namesOf(call);
    const isFlag = names.some((one) => one.startsWith('-'));
    const many = namedArgument(call, 'nargs') !== undefined;
    if (isFlag && SWITCHES_BOTH_WAYS.test(actionOf(call) ?? '')) {
      const switched = switchedBy(command, names);
      return switched ? [[name, switched]] : [];
    }
    // Words of a command stand for positional arguments in their order.
    const node = isFlag
      ? names.flatMap((one) => entryOf(command, keyOf(one))?.value ?? []).at(-1)
      : many
        ? undefined
        : words.shift();
    return node ? [[name, takenBy(call, node, many)]] : [];
  });
}

/** `argparse.BooleanOptionalAction`: `--flag` and `--no-flag`. */
const SWITCHES_BOTH_WAYS = /(?:^|\.)BooleanOptionalAction$/;

/** An action that is given by its class. */
function actionOf(call: PyCall): string | undefined {
  const action = namedArgument(call, 'action')?.value;
  return action?.kind === 'name' ? action.name : undefined;
}

/** Of `--flag` and `--no-flag` the one that comes last. */
function switchedBy(command: MapNode, names: readonly string[]): PyScalar | undefined {
  const long = names.filter((name) => name.startsWith('--')).map(keyOf);
  const given = command.entries.findLast(({ key }) =>
    long.some((name) => key === name || key === `no_${name}`),
  );
  return given && { kind: 'scalar', value: long.includes(given.key), range: given.value.range };
}

/** A word as the argument takes it: `type=int`, `action="store_true"`, `nargs="+"`. */
function takenBy(call: PyCall, node: ConfigNode, many: boolean): PyValue {
  const { range } = node;
  const unknown: PyValue = { kind: 'unknown', range, given: 'launch' };
  const action = stringOf(namedArgument(call, 'action')?.value);
  if (action === 'store_true' || action === 'store_false')
    return { kind: 'scalar', value: action === 'store_true', range };
  if (node.kind === 'list')
    return many
      ? { kind: 'list', items: node.items.map((item) => takenBy(call, item, false)), range }
      : unknown;
  if (node.kind !== 'scalar' || node.open || node.guessed || (action !== undefined && action !== 'store'))
    return unknown;
  const value = converted(namedArgument(call, 'type')?.value, node.text);
  // What is not among the choices is refused: it stands for one of them, or the command was written for another state of the file.
  const taken: PyValue =
    value === undefined || !mayChoose(call, value) ? unknown : { kind: 'scalar', value, range };
  return many ? { kind: 'list', items: [taken], range } : taken;
}

/** Whether `choices` allows a value, as far as they are known. */
function mayChoose(call: PyCall, value: string | number | boolean): boolean {
  const choices = namedArgument(call, 'choices')?.value;
  if (choices?.kind !== 'list') return true;
  return choices.items.some((choice) => choice.kind !== 'scalar' || choice.value === value);
}

/** Words of `distutils.util.strtobool` (Python 3.11, `distutils/util.py`); it refuses others. */
const STR_TO_BOOL: ReadonlyMap<string, boolean> = new Map([
  ...['y', 'yes', 't', 'true', 'on', '1'].map((word) => [word, true] as const),
  ...['n', 'no', 'f', 'false', 'off', '0'].map((word) => [word, false] as const),
]);

/** Text by its type; undefined where a function of the project's own makes something of it. */
function converted(type: PyValue | undefined, text: string): string | number | boolean | undefined {
  if (!type) return text;
  if (type.kind !== 'name') return undefined;
  // `bool` makes `True` of any word, of `False` too.
  if (type.name === 'bool') return text !== '';
  if (/(?:^|\.)distutils\.util\.strtobool$/.test(type.name)) return STR_TO_BOOL.get(text.toLowerCase());
  if (/^(?:str|(?:pathlib\.)?Path)$/.test(type.name)) return text;
  const number = text.trim() === '' ? Number.NaN : Number(text.replaceAll('_', ''));
  if (type.name === 'float') return Number.isFinite(number) ? number : undefined;
  return type.name === 'int' && Number.isInteger(number) ? number : undefined;
}

function defaultValue(call: PyCall): PyValue {
  const byDefault = namedArgument(call, 'default');
  if (byDefault) return byDefault.value;
  const action = namedArgument(call, 'action')?.value;
  const word = action?.kind === 'scalar' ? action.value : undefined;
  if (word === 'store_true' || word === 'store_false')
    return { kind: 'scalar', value: word === 'store_false', range: call.range, computed: true };
  const required = namedArgument(call, 'required')?.value;
  const positional = call.positional[0];
  const named = positional?.kind === 'scalar' && String(positional.value).startsWith('-');
  if (named && !isTrue(required)) return { kind: 'scalar', value: null, range: call.range, computed: true };
  return { kind: 'unknown', range: call.range, given: 'launch' };
}

/** Key of what the launcher of a command sets in the environment of each process. */
export const LAUNCHED_WITH = '**';

/** `sys.argv` of a script that a command starts: its own name, flags with what they are given, and words. */
export function argumentVector({ command, file }: Machine, range: Range): PyValue | undefined {
  if (!command) return undefined;
  const items = command.entries.flatMap(({ key, value }): PyValue[] => {
    if (key === LAUNCHED_WITH || key === WITH_METADATA) return [];
    const words = value.kind === 'list' ? value.items.map(plainValue) : [plainValue(value)];
    if (key === COMMAND_WORDS) return words;
    const isSwitch = value.kind === 'scalar' && value.value === true;
    return [{ kind: 'scalar', value: `--${key}`, range }, ...(isSwitch ? [] : words)];
  });
  return { kind: 'list', items: [{ kind: 'scalar', value: file ?? '', range }, ...items], range };
}

/** Words of a command that belong to no flag. */
export function commandWords(command: MapNode): readonly PyValue[] {
  const given = entryOf(command, COMMAND_WORDS)?.value;
  return given?.kind === 'list' ? given.items.map(plainValue) : [];
}

/** Flags of the command as arguments of a function. `byFire`: what they are given is a literal of Python wherever it is one. */
export function flagsAsArguments({ command }: Machine, byFire = false): PyArgument[] {
  return (command?.entries ?? []).flatMap(({ key, keyRange, value: node }): PyArgument[] => {
    if (key === COMMAND_WORDS || key === LAUNCHED_WITH || key === WITH_METADATA) return [];
    const value = byFire ? valueByFire(node) : wordValue(node);
    return [{ key, keyRange, value, used: node.range, text: key }];
  });
}

/** Words that YAML takes for switches are texts on a command line: a switch of a dataclass makes them one (`string_to_bool`). */
function wordValue(node: ConfigNode): PyValue {
  if (node.kind === 'scalar' && typeof node.value === 'boolean' && /^(?:yes|no|on|off|y|n)$/i.test(node.text))
    return { kind: 'scalar', value: node.text, range: node.range };
  return plainValue(node);
}

function valueByFire(node: ConfigNode): PyValue {
  const plain = wordValue(node);
  const isText = plain.kind === 'scalar' && typeof plain.value === 'string';
  return isText ? literalValue(fireLiteral(String(plain.value)), plain.range) : plain;
}

/** A literal, all of whose parts lie in one place. */
function literalValue(literal: Literal, range: Range): PyValue {
  if (Array.isArray(literal))
    return { kind: 'list', items: literal.map((item) => literalValue(item, range)), range };
  if (literal === null || typeof literal !== 'object')
    return { kind: 'scalar', value: literal as PyScalar['value'], range };
  const entries = Object.entries(literal).map(([key, value]) => argumentAt(key, literalValue(value, range)));
  return { kind: 'dict', entries, range };
}

/** A word, or several of them behind one flag. */
function plainValue(node: ConfigNode): PyValue {
  const { range } = node;
  if (node.kind === 'list') return { kind: 'list', items: node.items.map(plainValue), range };
  const known = node.kind === 'scalar' && !node.open && !node.guessed;
  return known
    ? { kind: 'scalar', value: literal(node.value), range }
    : { kind: 'unknown', range, given: 'launch' };
}

/** Numbers and `True` are what they are in Python, anything else is text. */
function literal(value: string | number | boolean | null): string | number | boolean | null {
  if (typeof value !== 'string') return value;
  if (/^(?:True|False)$/.test(value)) return value === 'True';
  const number = value.trim() === '' ? Number.NaN : Number(value);
  return Number.isFinite(number) ? number : value;
}
