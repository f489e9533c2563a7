import type { Range } from '../../text/place';
import { setVariable } from './builtins';
import { changeEntries } from './changed-entries';
import { clickArguments, wrappedConfig } from './command-libraries';
import { noteCutTokens } from './cut-tokens';
import { configOfHydra } from './data-loaders';
import { noteWeightCasts } from './each-weight';
import { part } from './expressions';
import { LIBRARY, submodule } from './imports';
import { noteKeptRows } from './kept-rows';
import { noteKeptSamples } from './kept-samples';
import { arithmetic } from './literals';
import { type BlockEnd, either, lifted, type Machine, truth } from './machine';
import { notePackedRows } from './packed-rows';
import { inEach, inRound, timesOf } from './rounds';
import { setAttribute } from './set-attribute';
import { childIn, type SyntaxNode } from './syntax-node';
import { eachText } from './texts';
import type {
  FieldFactory,
  Namespace,
  Probe,
  PyArgument,
  PyCall,
  PyClass,
  PyDict,
  PyFunction,
  PyObject,
  PyValue,
} from './value';

/** Follows a statement or a block. Names in the machine are bound as it binds them. */
export function execute(machine: Machine, node: SyntaxNode | undefined): BlockEnd {
  if (!node || !machine.step()) return 'next';
  const statement = STATEMENTS[node.type];
  if (statement) return statement(machine, node);
  for (const child of node.children) machine.evaluate(machine, child);
  return 'next';
}

type Statement = (machine: Machine, node: SyntaxNode) => BlockEnd;

const inOrder: Statement = (machine, node) => {
  for (const child of node.children) {
    const end = machine.execute(machine, child);
    if (end !== 'next') return end;
  }
  return 'next';
};
const nothing: Statement = () => 'next';
const stopping: Statement = (machine, node) => {
  for (const child of node.children) machine.evaluate(machine, child);
  return 'stopped';
};

const STATEMENTS: Readonly<Record<string, Statement>> = {
  module: inOrder,
  block: inOrder,
  // What could not be parsed is not guessed at.
  ERROR: nothing,
  expression_statement: (machine, node) => {
    for (const child of node.children)
      if (/^(augmented_)?assignment$/.test(child.type)) machine.execute(machine, child);
      else machine.evaluate(machine, child);
    return leavesFor(machine, node) ? 'stopped' : 'next';
  },
  assignment,
  augmented_assignment: augmented,
  import_statement: imports,
  import_from_statement: importsFrom,
  future_import_statement: nothing,
  if_statement: branches,
  for_statement: loop,
  while_statement: loop,
  try_statement: attempt,
  with_statement: (machine, node) => {
    const items = childIn(node, 'clause')?.children ?? node.children[0]?.children ?? [];
    for (const item of items) enter(machine, item);
    const isGraphless = items.some((item) => GRAPHLESS.test(machine.textOf(item)));
    if (isGraphless) machine.graphless += 1;
    const end = machine.execute(machine, childIn(node, 'body'));
    if (isGraphless) machine.graphless -= 1;
    return end;
  },
  function_definition: defined,
  class_definition: defined,
  decorated_definition: (machine, node) => {
    const definition = childIn(node, 'definition');
    if (!definition) return 'next';
    machine.execute(machine, definition);
    const decorators = node.children
      .filter(({ type }) => type === 'decorator')
      .map((one) => machine.textOf(one));
    const name = childIn(definition, 'name');
    const bound = name && machine.lookup(machine.textOf(name));
    if (bound?.kind === 'function') fillFromDecorator(machine, node, bound);
    if (bound?.kind === 'class' && decorators.some((text) => /\bdataclass\b/.test(text))) {
      const made = { ...bound, isDataclass: true };
      machine.bind(bound.name, made);
      machine.classes.splice(machine.classes.indexOf(bound), 1, made);
    }
    return 'next';
  },
  return_statement: (machine, node) => {
    const [value] = node.children;
    machine.returns.push(value ? machine.evaluate(machine, value) : machine.scalar(null, node));
    return 'ended';
  },
  raise_statement: stopping,
  break_statement: (machine) => {
    machine.left.push(machine.scope.values);
    return 'ended';
  },
  continue_statement: (machine) => {
    machine.left.push(machine.scope.values);
    machine.continued += 1;
    return 'ended';
  },
  delete_statement: (machine, node) => {
    const names = node.children.flatMap((child) =>
      child.type === 'expression_list' ? child.children : [child],
    );
    for (const one of names) if (one.type === 'identifier') machine.delete(machine.textOf(one));
    return 'next';
  },
  global_statement: nothing,
  nonlocal_statement: nothing,
  match_statement: (machine, node) => {
    const subject = childIn(node, 'subject');
    const cases = node.children.flatMap(({ type, children }) => (type === 'block' ? children : []));
    undecided(
      machine,
      cases.map((one) => () => machine.execute(machine, childIn(one, 'consequence'))),
      subject ?? node,
    );
    return 'next';
  },
};

/** `sys.exit()` and `exit()` end what they stand in. */
function leavesFor(machine: Machine, node: SyntaxNode): boolean {
  const [call] = node.children;
  const callee = call?.type === 'call' ? childIn(call, 'function') : undefined;
  return callee !== undefined && /^(sys\.exit|exit|quit|os\._exit)$/.test(machine.textOf(callee));
}

/** Inside of it no graph is kept, which would hold the weights that results are made of. */
const GRAPHLESS = /(?:^|\.)(?:no_grad|inference_mode)\(\s*\)$/;

function assignment(machine: Machine, node: SyntaxNode): BlockEnd {
  const [left, right] = [childIn(node, 'left'), childIn(node, 'right')];
  if (!left || !right) return 'next';
  if (right.type === 'assignment') {
    machine.execute(machine, right);
    const first = childIn(right, 'left');
    assign(machine, left, first ? machine.evaluate(machine, first) : machine.unknown(right));
  } else {
    assign(machine, left, machine.evaluate(machine, right));
    noteCutTokens(machine, left, right);
    noteKeptSamples(machine, left, right);
    noteKeptRows(machine, left, right);
  }
  return 'next';
}

/** Binds what stands on the left of an assignment. */
function assign(machine: Machine, target: SyntaxNode, value: PyValue): void {
  if (target.type === 'identifier') machine.bind(machine.textOf(target), value);
  else if (/^(pattern_list|tuple_pattern|list_pattern|tuple|expression_list)$/.test(target.type)) {
    const starred = target.children.findIndex(({ type }) => type === 'list_splat_pattern');
    target.children.forEach((child, index) => {
      const known = starred < 0 || index < starred;
      assign(machine, child, known ? part(machine, value, index, child) : machine.unknown(child));
    });
  } else if (target.type === 'attribute') assignAttribute(machine, target, value);
  else if (target.type === 'subscript') assignItem(machine, target, value);
  else if (target.type === 'list_splat_pattern' && target.children[0])
    assign(machine, target.children[0], machine.unknown(target));
}

function assignAttribute(machine: Machine, target: SyntaxNode, value: PyValue): void {
  const owner = machine.evaluate(machine, childIn(target, 'object'));
  const name = childIn(target, 'attribute');
  const attribute = name ? machine.textOf(name) : '';
  if (owner.kind === 'dict' && owner.attributes && name)
    setEntry(machine, owner, {
      key: attribute,
      keyRange: machine.rangeOf(name),
      value,
      used: value.range,
      text: machine.shown(target),
    });
  else setAttribute(machine, owner, attribute, value, target);
}

/** `config["key"] = value`, also of an environment's variable. */
function assignItem(machine: Machine, target: SyntaxNode, value: PyValue): void {
  const [container, index] = [childIn(target, 'value'), childIn(target, 'subscript')];
  if (!container || !index) return;
  const owner = machine.evaluate(machine, container);
  const key = machine.evaluate(machine, index);
  if (owner.kind === 'name' && owner.name === 'os.environ' && key.kind === 'scalar')
    setVariable(machine, key, value, target);
  if (owner.kind === 'list') machine.change(owner, machine.unknown(target));
  changeEntries(machine, owner);
  if (owner.kind === 'either' && container.type === 'identifier')
    machine.bind(machine.textOf(container), machine.unknown(target));
  if (owner.kind !== 'dict') return;
  if (key.kind !== 'scalar') {
    machine.change(owner, { ...owner, open: true });
    return;
  }
  const entry: PyArgument = {
    key: String(key.value),
    keyRange: machine.rangeOf(index),
    value,
    used: value.range,
    text: machine.shown(target),
  };
  setEntry(machine, owner, entry);
}

function setEntry(machine: Machine, owner: PyDict, entry: PyArgument): void {
  const others = owner.entries.filter((other) => other.key !== entry.key);
  machine.change(owner, { ...owner, entries: [...others, entry] });
}

function augmented(machine: Machine, node: SyntaxNode): BlockEnd {
  const [left, right] = [childIn(node, 'left'), childIn(node, 'right')];
  if (!left || !right) return 'next';
  const [before, by] = [machine.evaluate(machine, left), machine.evaluate(machine, right)];
  const operator = (node.tokens[0] ?? '').replace('=', '');
  // A list grows in place, whoever names it.
  if (operator === '+' && before.kind === 'list' && by.kind === 'list' && machine.loops === 0) {
    const after = { ...before, items: [...before.items, ...by.items] };
    machine.change(before, after);
    assign(machine, left, after);
    return 'next';
  }
  const value = lifted([before, by], ([a, b]) => {
    if (a?.kind !== 'scalar' || b?.kind !== 'scalar') return machine.unknown(node);
    if (typeof a.value === 'string' && typeof b.value === 'string' && operator === '+')
      return machine.scalar(`${a.value}${b.value}`.slice(0, 10_000), node);
    if (typeof a.value !== 'number' || typeof b.value !== 'number') return machine.unknown(node);
    const result = arithmetic(operator, a.value, b.value);
    return result === undefined ? machine.unknown(node) : machine.scalar(result, node);
  });
  assign(machine, left, value);
  return 'next';
}

function imports(machine: Machine, node: SyntaxNode): BlockEnd {
  for (const child of node.children) {
    const aliased = child.type === 'aliased_import';
    const module = aliased ? childIn(child, 'name') : child;
    const alias = aliased ? childIn(child, 'alias') : undefined;
    if (!module) continue;
    const name = machine.textOf(module).replace(/\s/g, '');
    machine.modules.add(name);
    machine.import(name);
    const bound = alias ? machine.textOf(alias) : (name.split('.')[0] ?? name);
    machine.bind(bound, { kind: 'name', name: alias ? name : bound, range: machine.rangeOf(module) });
  }
  return 'next';
}

function importsFrom(machine: Machine, node: SyntaxNode): BlockEnd {
  const from = childIn(node, 'module_name');
  const module = from ? machine.textOf(from).replace(/\s/g, '') : '';
  machine.modules.add(module);
  const space = machine.import(module);
  if (node.children.some(({ type }) => type === 'wildcard_import')) {
    if (space) takeAll(machine, module, space);
    else machine.stars.push(module);
  }
  for (const child of node.children) {
    if (child.field !== 'name') continue;
    const aliased = child.type === 'aliased_import';
    const name = aliased ? childIn(child, 'name') : child;
    const alias = aliased ? childIn(child, 'alias') : undefined;
    if (!name) continue;
    const text = machine.textOf(name);
    const bound = machine.textOf(alias ?? name);
    const value = machine.fromModule(module, text);
    if (value) {
      machine.bind(bound, value);
      continue;
    }
    const inside = submodule(module, text);
    const isModule = machine.import(inside) !== undefined;
    const isValue = !isModule && CONSTANT.test(text) && !LIBRARY.test(module);
    machine.bind(
      bound,
      isValue
        ? machine.unknown(name)
        : { kind: 'name', name: isModule ? inside : `${module}.${text}`, range: machine.rangeOf(name) },
    );
  }
  return 'next';
}

/** `from module import *`: what begins with an underscore stays there. */
function takeAll(machine: Machine, module: string, { values }: Namespace): void {
  for (const name of values.keys()) {
    const value = name.startsWith('_') ? undefined : machine.fromModule(module, name);
    if (value) machine.bind(name, value);
  }
}

/** Names that values of a project's own modules have (PEP 8), such as `from config import MODEL_ID` where there is no such file; libraries have classes of such names. */
const CONSTANT = /^[A-Z][A-Z0-9_]*$/;

/**
 * `if`, `elif`, `else`: the branch that is taken where that is known, else all, and what they bind is one of several. A program that stops in
 * the branch that its defaults lead to is started with something else: the others are followed, unless it is known what starts it.
 */
function branches(machine: Machine, node: SyntaxNode): BlockEnd {
  const { end, others } = taken(machine, node);
  if (end !== 'stopped' || machine.tried > 0 || machine.command || others.length === 0) return end;
  const [only, ...more] = others;
  if (only && more.length === 0) return only();
  return undecided(machine, others, childIn(node, 'condition') ?? node);
}

type Way = () => BlockEnd;

/** How the branch that is taken ends, and the ways that would have been taken instead of it. */
function taken(
  machine: Machine,
  node: SyntaxNode,
): { readonly end: BlockEnd; readonly others: readonly Way[] } {
  const condition = childIn(node, 'condition');
  const asked = machine.evaluate(machine, condition);
  const known = truth(asked);
  const yes: Way = () => machine.execute(machine, childIn(node, 'consequence'));
  const [alternative, ...further] = node.children.filter(({ field }) => field === 'alternative');
  const isElse = alternative?.type === 'else_clause';
  const rest = (): SyntaxNode | undefined => {
    if (!alternative || isElse) return undefined;
    const after = further.map((child) => ({ ...child, field: 'alternative' }));
    return { ...alternative, children: [...alternative.children, ...after] };
  };
  const otherwise: Way = () => {
    const chain = rest();
    if (chain) return branches(machine, chain);
    return alternative ? machine.execute(machine, childIn(alternative, 'body')) : 'next';
  };
  if (known === true) return { end: yes(), others: [otherwise] };
  if (known === false) {
    const chain = rest();
    if (!chain) return { end: otherwise(), others: [yes] };
    const inner = taken(machine, chain);
    return { end: inner.end, others: [yes, ...inner.others] };
  }
  const probe = asked.kind === 'either' && asked.probe ? asked : undefined;
  const [holds, fails] = (probe?.options ?? []).map(truth);
  const ways = holds === false ? [otherwise, yes] : [yes, otherwise];
  const about = holds === undefined || fails !== !holds ? undefined : probe?.probe;
  return { end: undecided(machine, ways, condition ?? node, about), others: [] };
}

/** Follows each of several ways, of which one is taken. */
function undecided(
  machine: Machine,
  ways: readonly (() => BlockEnd)[],
  condition: SyntaxNode,
  probe?: Probe,
): BlockEnd {
  const because = machine.rangeOf(condition);
  const before = machine.scope.values;
  const ends: Map<string, PyValue>[] = [];
  const outcomes: BlockEnd[] = [];
  machine.conditions.push(because);
  machine.asked.push(condition);
  const { continued } = machine;
  for (const way of ways) {
    machine.scope.values = new Map(before);
    const outcome = way();
    outcomes.push(outcome);
    if (outcome === 'next') ends.push(machine.scope.values);
  }
  if (machine.continued > continued && ends.length > 0) machine.passed = [...machine.passed, because];
  machine.conditions.pop();
  machine.asked.pop();
  const names = new Set(ends.flatMap((values) => [...values.keys()]));
  machine.scope.values = new Map(before);
  for (const name of names) {
    const options = ends.flatMap((values) => values.get(name) ?? []);
    const all = options.length === ways.length;
    machine.scope.values.set(name, either(options, because, all ? probe : undefined));
  }
  if (ends.length > 0 || ways.length === 0) return 'next';
  return outcomes.every((outcome) => outcome === 'stopped') ? 'stopped' : 'ended';
}

/** `for` and `while`: the body is followed once, with names that it changes from round to round unknown. */
function loop(machine: Machine, node: SyntaxNode): BlockEnd {
  const over = childIn(node, 'right');
  const values = over && machine.evaluate(machine, over);
  const condition = childIn(node, 'condition');
  if (condition && truth(machine.evaluate(machine, condition)) === false) return 'next';
  if (values?.kind === 'list' && values.items.length === 0) return 'next';
  const body = childIn(node, 'body');
  const once = values?.kind === 'list' && values.items.length === 1;
  const before = new Map(machine.scope.values);
  if (!once)
    for (const name of carried(machine, body))
      if (before.has(name) && !isModel(machine, before.get(name))) machine.bind(name, machine.unknown(node));
  const target = childIn(node, 'left');
  const of = values?.kind === 'unknown' ? values.of : values?.kind === 'object' ? values.id : undefined;
  const unknown =
    target && machine.unknown(target, { ...(of === undefined ? {} : { of }), ...eachText(values) });
  if (target && unknown)
    assign(
      machine,
      target,
      values?.kind === 'list' && over
        ? inEach(values.items, target, unknown, machine.rangeOf(over))
        : unknown,
    );
  const { passed, continued, left } = machine;
  machine.left = [];
  const times =
    values?.kind === 'list' && over ? machine.scalar(values.items.length, over) : timesOf(machine, values);
  const range = machine.rangeOf(over ?? condition ?? node);
  const name = target?.type === 'identifier' ? machine.textOf(target) : undefined;
  const bound = name === undefined ? undefined : machine.lookup(name);
  const each =
    values?.kind === 'list' && name !== undefined && bound ? { items: values.items, name, bound } : undefined;
  const round = () => {
    machine.execute(machine, body);
    notePackedRows(machine, node);
  };
  if (once) round();
  else inRound(machine, { range, ...(times ? { times } : {}), ...(each ? { each } : {}) }, round);
  noteWeightCasts(machine, values, target, body);
  takeLeft(machine, range);
  machine.left = left;
  machine.passed = passed;
  machine.continued = continued;
  return 'next';
}

/** A model that is loaded, or that PEFT put adapters on: what a loop makes of it is, in its first round, made of that. */
function isModel(machine: Machine, value: PyValue | undefined): boolean {
  const made = value?.kind === 'object' && value.item === undefined ? machine.calls[value.id] : undefined;
  return (
    made !== undefined &&
    /\bAuto(?:Peft)?Model\w*\.from_pretrained$|For[A-Z]\w*\.from_pretrained$|(?:^|\.)get_peft_model$/.test(
      made.callee,
    )
  );
}

/** What is bound where a loop is left early holds after it, too. */
function takeLeft(machine: Machine, because: Range): void {
  const { values } = machine.scope;
  for (const early of machine.left)
    for (const [name, value] of early) {
      const now = values.get(name);
      if (value !== now) values.set(name, now ? either([now, value], because) : value);
    }
}

/** Names that a block binds to something made of themselves. */
function carried(machine: Machine, node: SyntaxNode | undefined): string[] {
  if (!node) return [];
  if (node.type === 'augmented_assignment' || node.type === 'assignment') {
    const [left, right] = [childIn(node, 'left'), childIn(node, 'right')];
    const name = left?.type === 'identifier' ? machine.textOf(left) : undefined;
    const itself =
      node.type === 'augmented_assignment' || (right !== undefined && uses(machine, right, name));
    return name !== undefined && itself ? [name] : [];
  }
  return node.children.flatMap((child) => carried(machine, child));
}

function uses(machine: Machine, node: SyntaxNode, name: string | undefined): boolean {
  if (node.type === 'identifier' && machine.textOf(node) === name) return true;
  return node.children.some((child) => uses(machine, child, name));
}

/** What is tried is taken to go well; what handles a failure may be run. */
function attempt(machine: Machine, node: SyntaxNode): BlockEnd {
  const handlers = node.children.filter(({ type }) => /^except/.test(type));
  if (handlers.length > 0) machine.tried += 1;
  const outcome = machine.execute(machine, childIn(node, 'body'));
  if (handlers.length > 0) machine.tried -= 1;
  const blockOf = (one: SyntaxNode) => one.children.find(({ type }) => type === 'block');
  for (const handler of handlers)
    undecided(
      machine,
      [() => 'next' as const, () => machine.execute(machine, blockOf(handler))],
      handler.children[0] ?? handler,
    );
  for (const clause of node.children)
    if (/^(else|finally)_clause$/.test(clause.type))
      machine.execute(machine, childIn(clause, 'body') ?? blockOf(clause));
  // What is raised there is handled.
  return outcome === 'stopped' && handlers.length > 0 ? 'next' : outcome;
}

/** `with value as name`: of what a context gives only a file is known. */
function enter(machine: Machine, item: SyntaxNode): void {
  const value = childIn(item, 'value') ?? item;
  const alias = value.type === 'as_pattern' ? childIn(value, 'alias')?.children[0] : undefined;
  if (!alias) {
    machine.evaluate(machine, value);
    return;
  }
  const given = machine.evaluate(machine, value.children[0]);
  const file = given.kind === 'unknown' ? given.file : undefined;
  assign(machine, alias, file === undefined ? machine.unknown(alias) : given);
}

/** Decorators that pass something to the function below them: a config that Hydra or draccus makes, flags that click takes. */
const FILLING = /(?:^|\.)(?:main|wrap|option|argument)$/;

/** `@hydra.main(...)`, `@draccus.wrap()` and `@click.option(...)` pass to the function what it is called without. */
function fillFromDecorator(machine: Machine, node: SyntaxNode, bound: PyFunction): void {
  const calls: PyCall[] = [];
  for (const decorator of node.children) {
    const [call] = decorator.type === 'decorator' ? decorator.children : [];
    const callee = call?.type === 'call' ? childIn(call, 'function') : undefined;
    if (!callee || !FILLING.test(machine.textOf(callee))) continue;
    const made = machine.evaluate(machine, call);
    const recorded = made.kind === 'object' ? machine.calls[made.id] : undefined;
    if (!recorded) continue;
    calls.push(recorded);
    const config = configOfHydra(machine, made as PyObject) ?? wrappedConfig(machine, recorded, bound, node);
    if (config) machine.bind(bound.name, { ...bound, filled: [config] });
  }
  const flags = clickArguments(machine, calls);
  if (flags.length > 0) machine.bind(bound.name, { ...bound, filledNamed: flags });
}

function defined(machine: Machine, node: SyntaxNode): BlockEnd {
  const place = childIn(node, 'name');
  if (!place) return 'next';
  const name = machine.textOf(place);
  const range = machine.rangeOf(place);
  if (node.type === 'function_definition') {
    machine.bind(name, { kind: 'function', node, name, scope: machine.scope, home: machine.context, range });
    return 'next';
  }
  const bases = (childIn(node, 'superclasses')?.children ?? [])
    .filter(({ type }) => type !== 'keyword_argument')
    .map((base) => machine.evaluate(machine, base));
  const factories = new Map<string, FieldFactory>();
  const made = {
    kind: 'class',
    name,
    bases,
    fields: fieldsIn(machine, node, factories),
    factories,
    isDataclass: false,
    methods: methodsIn(machine, node),
    range,
  } as const;
  machine.classes.push(made);
  machine.bind(name, made);
  return 'next';
}

/** Methods of a class; what a decorator makes of one is not known. */
function methodsIn(machine: Machine, node: SyntaxNode): Map<string, PyFunction> {
  const methods = new Map<string, PyFunction>();
  for (const child of childIn(node, 'body')?.children ?? []) {
    const place = child.type === 'function_definition' ? childIn(child, 'name') : undefined;
    if (!place) continue;
    const name = machine.textOf(place);
    methods.set(name, {
      kind: 'function',
      node: child,
      name,
      scope: machine.scope,
      home: machine.context,
      range: machine.rangeOf(place),
    });
  }
  return methods;
}

/** Objects in objects in objects, and of one: what is made of more than these is not followed. */
const DEEPEST_NEST = 2;
const MOST_MADE = 32;

const nesting = ({ factories }: PyClass): number =>
  Math.max(0, ...[...(factories ?? [])].map(([, { made }]) => 1 + nesting(made)));

/** `x: int = 3` and `x: int = field(default=3)` of a class. Its body sees its own names first. */
function fieldsIn(
  machine: Machine,
  node: SyntaxNode,
  factories: Map<string, FieldFactory>,
): Map<string, PyValue> {
  const fields = new Map<string, PyValue>();
  const { scope } = machine;
  machine.scope = { values: fields, outer: scope };
  for (const statement of childIn(node, 'body')?.children ?? []) {
    const [inner] = statement.children;
    if (statement.type !== 'expression_statement' || inner?.type !== 'assignment') {
      // Whatever a condition, a loop or an operation makes of a name is not followed here.
      if (!/^(?:function|class|decorated)_definition$/.test(statement.type))
        for (const place of boundIn(statement)) fields.set(machine.textOf(place), machine.unknown(place));
      continue;
    }
    const [left, right] = [childIn(inner, 'left'), childIn(inner, 'right')];
    if (left?.type !== 'identifier') continue;
    const callee = right?.type === 'call' ? childIn(right, 'function') : undefined;
    const isField = callee !== undefined && /(^|\.)field$/.test(machine.textOf(callee));
    const made = isField ? fieldDefault(machine, right, 'default_factory') : undefined;
    // `field(default_factory=lambda: [...])`: what the function returns.
    const returned =
      made?.type === 'lambda' && !childIn(made, 'parameters') ? childIn(made, 'body') : undefined;
    const byDefault = isField ? (fieldDefault(machine, right) ?? returned) : right;
    const factory = byDefault ? undefined : made;
    const maker = factory && machine.evaluate(machine, factory);
    if (factory && maker?.kind === 'class' && nesting(maker) < DEEPEST_NEST && factories.size < MOST_MADE)
      factories.set(machine.textOf(left), { made: maker, node: factory });
    const value = byDefault
      ? machine.evaluate(machine, byDefault)
      : ({ kind: 'unknown', range: machine.rangeOf(left), given: 'launch' } as const);
    fields.set(machine.textOf(left), value);
  }
  machine.scope = scope;
  return fields;
}

/** Names that assignments below a node bind. */
function boundIn(node: SyntaxNode): SyntaxNode[] {
  const left = /^(?:augmented_)?assignment$/.test(node.type) ? childIn(node, 'left') : undefined;
  return [...(left?.type === 'identifier' ? [left] : []), ...node.children.flatMap(boundIn)];
}

function fieldDefault(
  machine: Machine,
  call: SyntaxNode | undefined,
  key = 'default',
): SyntaxNode | undefined {
  const args = call && childIn(call, 'arguments');
  const found = args?.children.find((child) => {
    const name = childIn(child, 'name');
    return child.type === 'keyword_argument' && name !== undefined && machine.textOf(name) === key;
  });
  return found && childIn(found, 'value');
}
