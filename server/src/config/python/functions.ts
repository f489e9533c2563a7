import { either, type Machine } from './machine';
import { behind } from './partial-functions';
import { childIn, parametersIn, type SyntaxNode } from './syntax-node';
import { codeOf, type Passed, type PyClass, type PyFunction, type PyObject, type PyValue } from './value';

/** Functions of the file that call each other deeper than this are not followed. */
const DEEPEST_CALLS = 12;

/** Where a call stands. */
export function placesOf(machine: Machine, node: SyntaxNode, callee: SyntaxNode) {
  const args = childIn(node, 'arguments');
  return {
    range: machine.rangeOf(node),
    calleeRange: machine.rangeOf(callee),
    argumentsRange: machine.rangeOf(args ?? node),
  };
}

/** Runs a function of the file with what it is given; unknown where it calls itself or the nest is too deep. */
export function callFunction(
  machine: Machine,
  called: PyFunction,
  more: Passed,
  node: SyntaxNode,
  self?: PyValue,
): PyValue {
  if (namesLinearLayers(called)) return { ...machine.scalar('all-linear', node), computed: true };
  const passed = called.bound ? behind(called.bound, more) : more;
  const { running } = machine;
  if (running.includes(called.node) || running.length >= DEEPEST_CALLS || machine.truncated)
    return machine.unknown(node);
  const kept = {
    scope: machine.scope,
    returns: machine.returns,
    loops: machine.loops,
    context: machine.context,
  };
  const bare = passed.positional.length === 0 && passed.named.length === 0;
  const decorated = called.filled !== undefined || called.filledNamed !== undefined;
  const filled =
    bare && decorated
      ? { ...passed, positional: called.filled ?? [], named: called.filledNamed ?? [] }
      : passed;
  const given = self ? { ...passed, positional: [self, ...passed.positional] } : filled;
  const values = boundParameters(machine, called, given, node);
  if (called.home.uri !== undefined) machine.uses(called.home.uri);
  running.push(called.node);
  machine.callers.push(kept.scope);
  machine.scope = { values, outer: called.scope };
  machine.context = called.home;
  machine.returns = [];
  const before = machine.calls.length;
  const body = childIn(called.node, 'body');
  if (called.node.type === 'lambda') machine.returns.push(machine.evaluate(machine, body));
  else machine.execute(machine, body);
  const { returns } = machine;
  running.pop();
  machine.callers.pop();
  machine.scope = kept.scope;
  machine.context = kept.context;
  machine.returns = kept.returns;
  machine.loops = kept.loops;
  if (body) machine.leave(before, called.home.lines.text.slice(body.start, body.end), values, returns);
  return returns.length === 0 ? machine.scalar(null, node) : either(returns, machine.rangeOf(node));
}

function boundParameters(
  machine: Machine,
  called: PyFunction,
  passed: Passed,
  node: SyntaxNode,
): Map<string, PyValue> {
  const values = new Map<string, PyValue>();
  const named = new Map(passed.named.map((argument) => [argument.key, argument.value]));
  let index = 0;
  let onlyNamed = false;
  /** Name of `**rest`, which has what no other parameter takes. */
  let rest: string | undefined;
  const written = ({ start, end }: SyntaxNode) => called.home.lines.text.slice(start, end);
  for (const parameter of parametersIn(called.node)) {
    const byDefault = childIn(parameter, 'value');
    const { type } = parameter;
    if (type === 'list_splat_pattern' || type === 'keyword_separator') onlyNamed = true;
    if (/splat_pattern|separator/.test(type)) {
      const name = parameter.children[0];
      if (name && type === 'dictionary_splat_pattern') rest = written(name);
      else if (name) values.set(written(name), machine.unknown(node));
      continue;
    }
    const place =
      childIn(parameter, 'name') ?? (parameter.type === 'identifier' ? parameter : parameter.children[0]);
    if (!place) continue;
    const name = written(place);
    const ordinal = onlyNamed ? undefined : passed.positional[index++];
    const value = ordinal ?? named.get(name);
    const { scope, context } = machine;
    machine.scope = called.scope;
    machine.context = called.home;
    // What is passed but not known may be any of them.
    const isLeft = value === undefined && !passed.open;
    const fallback = isLeft && byDefault ? machine.evaluate(machine, byDefault) : undefined;
    machine.scope = scope;
    machine.context = context;
    values.set(name, value ?? fallback ?? machine.unknown(node));
  }
  if (rest !== undefined)
    values.set(rest, {
      kind: 'dict',
      entries: passed.named.filter(({ key }) => !values.has(key)),
      range: machine.rangeOf(node),
      ...(passed.open ? { open: true } : {}),
    });
  return values;
}

/** What gives a list of the names that it has collected, and nothing else. */
const GIVES_NAMES = /\breturn (?:list|sorted)\(\w+\)\s*$/;

/**
 * Whether a function collects the last parts of the names of all linear layers but the head, as the one of QLoRA's script does that is copied
 * most: PEFT's `all-linear`. https://github.com/artidoro/qlora/blob/7f4e95a6/qlora.py#L248
 */
function namesLinearLayers(called: PyFunction): boolean {
  const code = codeOf(called);
  return (
    code.includes('.named_modules()') &&
    GIVES_NAMES.test(code) &&
    /isinstance\(\s*module\s*,/.test(code) &&
    /Linear/.test(code) &&
    /\.split\(\s*['"]\.['"]\s*\)/.test(code) &&
    /lm_head/.test(code) &&
    /\bset\(\)/.test(code)
  );
}

/** An object of a class of the file: of what it inherits from, or of a dataclass with its fields. */
export function instance(machine: Machine, made: PyClass, passed: Passed, node: SyntaxNode): PyValue {
  const base = made.bases.find((one) => one.kind === 'name' || one.kind === 'class');
  const library = libraryBase(made);
  if (made.range.uri !== undefined) machine.uses(made.range.uri);
  const callee = childIn(node, 'function') ?? node;
  const object = machine.record({
    ...passed,
    callee: library ?? (base ? made.name : `.${made.name}`),
    ...placesOf(machine, node, callee),
    subclass: made.name,
  }) as PyObject;
  setFields(machine, made, object.id);
  passed.named.forEach(({ key, value }) => {
    attributesOf(machine, object.id).set(key, value);
  });
  machine.instances.set(object.id, made);
  const initial = methodIn(made, '__init__');
  if (initial) callFunction(machine, initial, passed, node, object);
  // A loader takes samples of it, one after the other.
  if (/^torch\.utils\.data\.(?:\w+\.)*(?:Iterable)?Dataset$/.test(library ?? ''))
    for (const name of ['__getitem__', '__iter__']) {
      const own = methodIn(made, name);
      const index = name === '__getitem__' ? [machine.unknown(node)] : [];
      if (own) callFunction(machine, own, { positional: index, named: [] }, node, object);
    }
  // Lightning calls these itself, before the first step (`trainer/trainer.py`, `_run`).
  if (/(^|\.)LightningModule$/.test(library ?? ''))
    for (const name of ['configure_model', 'configure_optimizers']) {
      const own = methodIn(made, name);
      if (own) callFunction(machine, own, { positional: [], named: [] }, node, object);
    }
  return object;
}

/** A method of a class of the file, or of one that it inherits from. */
export function methodIn(made: PyClass, name: string, depth = 0): PyFunction | undefined {
  const own = made.methods.get(name);
  if (own || depth > 8) return own;
  for (const base of made.bases) {
    const found = base.kind === 'class' ? methodIn(base, name, depth + 1) : undefined;
    if (found) return found;
  }
  return undefined;
}

/** A field of a class, or of the nearest that it inherits from; undefined where another class may have it first. */
export function fieldOf(made: PyClass, name: string, depth = 0): PyValue | undefined {
  const own = made.fields.get(name);
  if (own || depth > 8) return own;
  for (const base of made.bases) {
    if (base.kind === 'name' && base.name === 'object') continue;
    if (base.kind !== 'class') return undefined;
    const found = fieldOf(base, name, depth + 1);
    if (found) return found;
  }
  return undefined;
}

/** Nothing of what a class holds is known from here on. */
export function forgetFields({ fields }: PyClass): void {
  for (const [name, { range }] of fields) fields.set(name, { kind: 'unknown', range });
}

const NOTHING: Passed = { positional: [], named: [] };

/** Fields of a class of the file, those that it inherits first. */
function setFields(machine: Machine, made: PyClass, id: number): void {
  for (const base of made.bases) if (base.kind === 'class') setFields(machine, base, id);
  for (const [name, value] of made.fields) attributesOf(machine, id).set(name, value);
  for (const [name, { made: inner, node }] of made.factories ?? []) {
    attributesOf(machine, id).set(name, instance(machine, inner, NOTHING, node));
  }
}

/** The class of a library that a class of the file inherits from, however far away. */
function libraryBase(made: PyClass, depth = 0): string | undefined {
  for (const base of made.bases) {
    if (base.kind === 'name') return base.name;
    const further = base.kind === 'class' && depth < 8 ? libraryBase(base, depth + 1) : undefined;
    if (further) return further;
  }
  return undefined;
}

export function attributesOf(machine: Machine, id: number): Map<string, PyValue> {
  const known = machine.attributes.get(id) ?? new Map<string, PyValue>();
  machine.attributes.set(id, known);
  return known;
}
