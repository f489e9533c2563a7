import { dataAfter, entryAfter } from './changed-entries';
import { fillArguments } from './command-line';
import { ofDictionary, ofList, ofTexts } from './container-methods';
import { contentOf } from './data-loaders';
import { attributesOf, callFunction, instance, methodIn, placesOf } from './functions';
import { followFit, isLightningTrainer, saveHyperparameters } from './lightning-hooks';
import type { Machine } from './machine';
import { stringOf } from './node-of-value';
import { PARSES_DATACLASSES, parsedDataclasses } from './parsed-dataclasses';
import { calledByPartial } from './partial-functions';
import { pathMethod } from './paths';
import { serializedIn } from './serialized-value';
import { childIn, type SyntaxNode } from './syntax-node';
import type { Passed, PyObject, PyScalar, PyUnknown, PyValue } from './value';

/** A method of a value: of text and dictionaries as Python has it, of parsers of arguments, else it is noted. */
export function callMethod(
  machine: Machine,
  owner: PyValue,
  name: string,
  passed: Passed,
  node: SyntaxNode,
): PyValue {
  if (owner.kind === 'dict') return ofDictionary(machine, owner, name, passed, node);
  if (owner.kind === 'list') return ofList(machine, owner, name, passed, node);
  if (owner.kind === 'scalar') return ofText(machine, owner, name, passed, node);
  // `train.remote()`, `train.delay()`: somebody runs the function, with these values.
  if (owner.kind === 'function') return callFunction(machine, owner, passed, node);
  if (owner.kind === 'object') {
    const made = owner.item === undefined ? machine.instances.get(owner.id) : undefined;
    const own = made && methodIn(made, name);
    if (own) return callFunction(machine, own, passed, node, owner);
    const held = made && machine.attributes.get(owner.id)?.get(name);
    if (held?.kind === 'function') return callFunction(machine, held, passed, node);
    if (held?.kind === 'object') return callObject(machine, held, passed, node);
    if (made && name === 'save_hyperparameters' && saveHyperparameters(machine, owner, made, passed))
      return machine.scalar(null, node);
    return ofObject(machine, owner, name, passed, node);
  }
  if (owner.kind === 'unknown') {
    if (owner.text === 'list') return ofTexts(machine, owner, name, passed, node);
    // `data["train"].map(tokenize)`: likewise.
    followGiven(machine, passed, node);
    if (owner.file !== undefined && /^write(?:lines)?$/.test(name)) {
      const [text] = passed.positional;
      // A line's end after the settings changes nothing.
      if (text?.kind !== 'scalar' || String(text.value).trim() !== '')
        machine.data.write(owner.file, serializedIn(text));
    }
    const isText = owner.file !== undefined && /^(?:read|__enter__)$/.test(name);
    return machine.unknown(node, {
      ...(isText ? { file: owner.file } : {}),
      ...(owner.serialized && name === 'encode' ? { serialized: owner.serialized } : {}),
      ...(owner.given ? { given: owner.given } : {}),
      ...(owner.of === undefined ? {} : { of: owner.of }),
      ...rowsOf(owner, name, passed),
      ...entryAfter(machine, owner, name, passed),
      ...dataAfter(owner, name, passed),
    });
  }
  return machine.unknown(node);
}

/** Methods of a tensor that give one of as many samples. */
const SAME_ROWS = /^(?:to|cuda|cpu|long|int|clone|detach|contiguous|requires_grad_)$/;

/** How many samples a tensor has then: `unsqueeze(0)` makes one of what is a sample. */
function rowsOf(
  { rows }: PyUnknown,
  name: string,
  { positional: [first] }: Passed,
): { readonly rows?: number } {
  if (name === 'unsqueeze' && first?.kind === 'scalar' && first.value === 0) return { rows: 1 };
  return rows !== undefined && SAME_ROWS.test(name) ? { rows } : {};
}

/** Functions of the file, and objects that are called like one, that somebody else is given may be run by it, with what nobody knows: they are followed once. */
export function followGiven(machine: Machine, { positional, named }: Passed, node: SyntaxNode): void {
  for (const value of [...positional, ...named.map((argument) => argument.value)]) {
    if (value.kind === 'function') callFunction(machine, value, { positional: [], named: [] }, node);
    if (value.kind === 'object') followObject(machine, value, { positional: [], named: [] }, node);
  }
}

/** Notes the call of an object, such as a tokenizer, and follows it where its class is one of the file. */
export function callObject(machine: Machine, of: PyObject, passed: Passed, node: SyntaxNode): PyValue {
  const callee = childIn(node, 'function') ?? node;
  const partly = calledByPartial(machine, of, passed);
  if (partly?.called.kind === 'object') return callObject(machine, partly.called, partly.passed, node);
  if (partly?.called.kind === 'class') return instance(machine, partly.called, partly.passed, node);
  if (partly?.called.kind === 'name') {
    const { called, passed: given } = partly;
    const made = machine.record({ ...given, callee: called.name, ...placesOf(machine, node, callee) });
    followGiven(machine, given, node);
    return made;
  }
  const answer = machine.record({ ...passed, callee: '()', of, ...placesOf(machine, node, callee) });
  followObject(machine, of, passed, node);
  return answer;
}

/** An object of a class of the file that is called like a function, such as a collator: its `__call__` is followed. */
function followObject(machine: Machine, object: PyObject, passed: Passed, node: SyntaxNode): void {
  const made = object.item === undefined ? machine.instances.get(object.id) : undefined;
  const own = made && methodIn(made, '__call__');
  if (own) callFunction(machine, own, passed, node, object);
}

function ofText(
  machine: Machine,
  { value }: PyScalar,
  name: string,
  { positional, named }: Passed,
  node: SyntaxNode,
): PyValue {
  if (typeof value !== 'string') return machine.unknown(node);
  const path = pathMethod(machine, value, name, positional, node);
  if (path) return path;
  const [first, second, ...more] = positional.map(stringOf);
  const only = positional.length + named.length;
  if (name === 'split' && first && only === 1) {
    const items = value.split(first).map((part) => machine.scalar(part, node));
    return { kind: 'list', items, range: machine.rangeOf(node) };
  }
  if (name === 'replace' && first && second !== undefined && more.length === 0)
    return machine.scalar(value.replaceAll(first, second).slice(0, 10_000), node);
  if ((name === 'startswith' || name === 'endswith') && first !== undefined && only === 1)
    return machine.scalar(name === 'startswith' ? value.startsWith(first) : value.endsWith(first), node);
  if (only > 0) return machine.unknown(node);
  if (name === 'lower') return machine.scalar(value.toLowerCase(), node);
  if (name === 'upper') return machine.scalar(value.toUpperCase(), node);
  return name === 'strip' ? machine.scalar(value.trim(), node) : machine.unknown(node);
}

function ofObject(
  machine: Machine,
  owner: PyObject,
  name: string,
  passed: Passed,
  node: SyntaxNode,
): PyValue {
  const maker = machine.calls[owner.id]?.callee ?? '';
  if (/(^|\.)YAML$/.test(maker) && name === 'load')
    return contentOf(machine, passed.positional[0], node, false);
  const callee = childIn(node, 'function') ?? node;
  const fits = name === 'fit' && isLightningTrainer(machine.calls[owner.id]);
  const made = machine.record({
    ...(fits ? followFit(machine, passed, node) : passed),
    callee: name,
    of: owner,
    ...placesOf(machine, node, callee),
  }) as PyObject;
  // `dataset.map(tokenize)`: the function is run, with what nobody knows.
  followGiven(machine, passed, node);
  if (/(^|\.)ArgumentParser$/.test(maker) && /^parse(_known)?_args$/.test(name)) {
    fillArguments(machine, owner.id, made.id);
    if (name === 'parse_known_args') attributesOf(machine, made.id).set('[0]', made);
  } else if (PARSES_DATACLASSES.test(maker))
    return parsedDataclasses(machine, { parser: owner.id, method: name, passed }, made, node);
  return made;
}
