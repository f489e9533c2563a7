import { commandFlags, flagsAsArguments } from './command-line';
import { attributesOf, instance } from './functions';
import type { Machine } from './machine';
import { isTrue } from './node-of-value';
import { childIn, type SyntaxNode } from './syntax-node';
import type { Passed, PyArgument, PyCall, PyClass, PyFunction, PyObject, PyValue } from './value';

/** What calls a function with the flags of the command: `fire.Fire(train)`, `tyro.cli(train)`, `typer.run(train)`. */
export const STARTS = /^(?:(?:fire\.)?Fire|tyro\.cli|typer\.run)$/;
/** What makes a dataclass of the flags of the command. */
const PARSES = /^(?:tyro\.cli|(?:draccus|pyrallis|simple_parsing)\.parse)$/;
/** What passes such a dataclass to the function below it, by the type of its first parameter. */
const WRAPS = /^(?:draccus|pyrallis)\.wrap$/;

/** `tyro.cli(Config)`, `draccus.parse(Config)`: the dataclass with what the command gives; undefined where it is none of the file. */
export function parsedClass(
  machine: Machine,
  name: string,
  { positional, named }: Passed,
  node: SyntaxNode,
): PyValue | undefined {
  if (!PARSES.test(name)) return undefined;
  const given = positional[0] ?? named.find(({ key }) => key === 'config_class')?.value;
  return given?.kind === 'class' ? filledClass(machine, given, node) : undefined;
}

/**
 * An instance with the flags of the command as its fields. A flag of a nested one (`--model.rank 8`) sets the field of the object that is
 * there; what is none of the file is then not known.
 */
function filledClass(machine: Machine, made: PyClass, node: SyntaxNode): PyValue {
  const flags = flagsAsArguments(machine);
  const isNested = ({ key }: PyArgument) => key.includes('.');
  const object = instance(
    machine,
    made,
    { positional: [], named: flags.filter((flag) => !isNested(flag)).map((flag) => switched(flag)) },
    node,
  );
  if (object.kind === 'object') for (const flag of flags.filter(isNested)) setNested(machine, object, flag);
  return object;
}

/** `--no-use-lora` of tyro. */
function switched(flag: PyArgument): PyArgument {
  const off = /^no_(\w+)$/.exec(flag.key)?.[1];
  const isSwitch = off !== undefined && isTrue(flag.value);
  return isSwitch ? { ...flag, key: off, value: { ...flag.value, value: false } as PyValue } : flag;
}

function setNested(machine: Machine, object: PyObject, flag: PyArgument): void {
  const [first = '', ...rest] = flag.key.split('.');
  const attributes = attributesOf(machine, object.id);
  const inner = attributes.get(first);
  if (rest.length === 0) attributes.set(first, switched({ ...flag, key: first }).value);
  else if (inner?.kind === 'object') setNested(machine, inner, { ...flag, key: rest.join('.') });
  else attributes.set(first, { kind: 'unknown', range: flag.value.range, given: 'launch' });
}

/** `@draccus.wrap()`: what the function below it is called with. */
export function wrappedConfig(
  machine: Machine,
  decorator: PyCall,
  bound: PyFunction,
  node: SyntaxNode,
): PyValue | undefined {
  if (!WRAPS.test(decorator.callee)) return undefined;
  const parameter = childIn(bound.node, 'parameters')?.children[0];
  const type = parameter && childIn(parameter, 'type');
  const given = type && machine.evaluate(machine, type.children[0] ?? type);
  return given?.kind === 'class' ? filledClass(machine, given, node) : undefined;
}

/**
 * `@click.option("--batch", default=8)`: what the function below is called with, as `argparse` would take it. A flag without a default is
 * `None`. https://click.palletsprojects.com/en/stable/options/
 */
export function clickArguments(machine: Machine, decorators: readonly PyCall[]): readonly PyArgument[] {
  const options = decorators.filter(({ callee }) => /^click\.(?:option|argument)$/.test(callee));
  return commandFlags(machine, options.map(asArgparse));
}

/** The same in the words of `argparse`: `is_flag=True` is an action, and a name without dashes the destination. */
function asArgparse(call: PyCall): PyCall {
  const isOn = (key: string) => call.named.some((argument) => argument.key === key && isTrue(argument.value));
  const words = call.positional.filter((value) => value.kind === 'scalar');
  const isArgument = call.callee.endsWith('argument');
  const plain = words.find(({ value }) => typeof value === 'string' && !value.startsWith('-'));
  const more = (key: string, value: PyValue): PyArgument => ({
    key,
    keyRange: call.calleeRange,
    value,
    used: call.calleeRange,
    text: key,
  });
  const text = (value: string): PyValue => ({ kind: 'scalar', value, range: call.calleeRange });
  return {
    ...call,
    positional: isArgument ? call.positional : words.filter((word) => word !== plain),
    named: [
      ...call.named.filter(({ key }) => key !== 'multiple'),
      ...(isOn('is_flag') ? [more('action', text('store_true'))] : []),
      ...(isOn('multiple') ? [more('nargs', text('*'))] : []),
      ...(plain && !isArgument ? [more('dest', plain)] : []),
    ],
  };
}
