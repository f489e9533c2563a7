import { evaluateCall } from './calls';
import { hasOtherEntries, partOfData } from './changed-entries';
import { chosenByComprehension } from './chosen-parameters';
import { argumentVector } from './command-line';
import { fieldOf, methodIn } from './functions';
import { joinedTokens } from './joined-tokens';
import { arithmetic, compared, numberFrom, unescaped } from './literals';
import { loadedDtype } from './loaded-dtype';
import { either, lifted, type Machine, same, truth } from './machine';
import { isNone } from './node-of-value';
import { dividedPath, pathAttribute } from './paths';
import { samplingRate } from './sampling-rate';
import { childIn, type SyntaxNode } from './syntax-node';
import { isText } from './texts';
import { unwrapped } from './unwrapped-models';
import type { PyArgument, PyDict, PyFunction, PyList, PyObject, PyScalar, PyUnknown, PyValue } from './value';

/** What an expression is known to be. Calls in it are noted in the machine, in the order of their execution. */
export function evaluate(machine: Machine, node: SyntaxNode | undefined): PyValue {
  if (!node) return { kind: 'unknown', range: machine.lines.range(0, 0) };
  if (!machine.step()) return machine.unknown(node);
  if (node.type === 'generator_expression')
    return chosenByComprehension(machine, node) ?? ofEachGpu(machine, node);
  const evaluated = KINDS[node.type];
  if (evaluated) return evaluated(machine, node);
  for (const child of node.children) if (!SCOPED.has(node.type)) machine.evaluate(machine, child);
  return machine.unknown(node);
}

/** Expressions whose names are their own: nothing in them is evaluated. */
const SCOPED: ReadonlySet<string> = new Set([
  'list_comprehension',
  'dictionary_comprehension',
  'set_comprehension',
  'generator_expression',
  'ERROR',
]);

type Kind = (machine: Machine, node: SyntaxNode) => PyValue;

const inner: Kind = (machine, node) => machine.evaluate(machine, node.children[0]);
const sequence: Kind = (machine, node): PyList | PyValue => {
  if (node.children.some(({ type }) => type === 'list_splat')) {
    for (const child of node.children) machine.evaluate(machine, child.children[0] ?? child);
    return machine.unknown(node);
  }
  const items = node.children.map((child) => machine.evaluate(machine, child));
  return { kind: 'list', items, range: machine.rangeOf(node) };
};
const constant =
  (value: PyScalar['value']): Kind =>
  (machine, node) =>
    machine.scalar(value, node, false);
const numeric: Kind = (machine, node) => {
  const value = numberFrom(machine.textOf(node));
  return value === undefined ? machine.unknown(node) : machine.scalar(value, node, false);
};

const KINDS: Readonly<Record<string, Kind>> = {
  integer: numeric,
  float: numeric,
  true: constant(true),
  false: constant(false),
  none: constant(null),
  identifier,
  attribute,
  string,
  concatenated_string: concatenated,
  parenthesized_expression: inner,
  expression_list: sequence,
  list: sequence,
  tuple: sequence,
  set: sequence,
  dictionary,
  list_comprehension: (machine, node) => comprehension(machine, node),
  set_comprehension: (machine, node) => comprehension(machine, node),
  dictionary_comprehension: (machine, node) => comprehension(machine, node),
  call: evaluateCall,
  subscript,
  binary_operator: binary,
  boolean_operator: boolean,
  comparison_operator: comparison,
  not_operator: (machine, node) =>
    lifted([machine.evaluate(machine, childIn(node, 'argument'))], ([value]) => {
      const known = value && truth(value);
      return known === undefined ? machine.unknown(node) : machine.scalar(!known, node);
    }),
  unary_operator: (machine, node) =>
    lifted([machine.evaluate(machine, childIn(node, 'argument'))], ([value]) => {
      const sign = node.tokens[0];
      if (value?.kind !== 'scalar' || typeof value.value !== 'number' || (sign !== '-' && sign !== '+'))
        return machine.unknown(node);
      return machine.scalar(sign === '-' ? -value.value : value.value, node, value.computed === true);
    }),
  conditional_expression: conditional,
  named_expression: (machine, node) => {
    const value = machine.evaluate(machine, childIn(node, 'value'));
    const name = childIn(node, 'name');
    if (name) machine.bind(machine.textOf(name), value);
    return value;
  },
  await: inner,
  lambda: (machine, node) => ({
    kind: 'function',
    node,
    name: 'lambda',
    scope: machine.scope,
    home: machine.context,
    range: machine.rangeOf(node),
  }),
};

function identifier(machine: Machine, node: SyntaxNode): PyValue {
  const name = machine.textOf(node);
  const bound = machine.lookup(name);
  if (bound) return bound;
  if (name === '__file__' && machine.file !== undefined) return machine.scalar(machine.file, node);
  if (name === '__name__')
    return machine.isImported ? machine.scalar('', node) : machine.scalar('__main__', node);
  // A name that nothing binds is taken for what it states where everything of a module is imported, or in a part of a program.
  return { kind: 'name', name, range: machine.rangeOf(node) };
}

function attribute(machine: Machine, node: SyntaxNode): PyValue {
  const owner = machine.evaluate(machine, childIn(node, 'object'));
  const field = childIn(node, 'attribute');
  return lifted([owner], ([of]) => attributeOf(machine, of, field ? machine.textOf(field) : '', node));
}

/** A method of an object of a class of the file, as it is handed to others: `rows.map(self.tokenize)`. */
function methodOf({ instances }: Machine, owner: PyObject, name: string): PyFunction | undefined {
  const made = owner.item === undefined ? instances.get(owner.id) : undefined;
  const own = made && methodIn(made, name);
  return own && { ...own, bound: { positional: [owner], named: [] } };
}

function attributeOf(machine: Machine, owner: PyValue | undefined, name: string, node: SyntaxNode): PyValue {
  const imported = owner?.kind === 'name' ? machine.fromModule(owner.name, name) : undefined;
  if (imported) return imported;
  if (owner?.kind === 'name') {
    const range = machine.rangeOf(node);
    const vector = owner.name === 'sys' && name === 'argv' ? argumentVector(machine, range) : undefined;
    return vector ?? { kind: 'name', name: `${owner.name}.${name}`, range };
  }
  if (owner?.kind === 'class') return fieldOf(owner, name) ?? machine.unknown(node);
  if (owner?.kind === 'dict' && owner.attributes) {
    const held = owner.open ? undefined : owner.entries.find(({ key }) => key === name)?.value;
    return held ?? machine.unknown(node);
  }
  if (owner?.kind === 'scalar' && typeof owner.value === 'string')
    return pathAttribute(machine, owner.value, name, node) ?? machine.unknown(node);
  if (owner?.kind === 'object') {
    const set = owner.item === undefined ? machine.attributes.get(owner.id)?.get(name) : undefined;
    const call = machine.calls[owner.id];
    const method = set ? undefined : methodOf(machine, owner, name);
    if (method) return method;
    if (name === 'total_memory' && /(^|\.)get_device_properties$/.test(call?.callee ?? ''))
      return machine.unknown(node, { ofMemory: 1 });
    const rate = name === 'sampling_rate' && owner.item === undefined ? samplingRate(call) : undefined;
    if (rate !== undefined && !set) return machine.scalar(rate, node);
    const dtype = name === 'dtype' && owner.item === undefined ? loadedDtype(machine, call, node) : undefined;
    if (dtype && !set) return dtype;
    const passed = owner.item === undefined && /^[A-Z]/.test(call?.callee.split('.').at(-1) ?? '');
    const argument = passed ? call?.named.find(({ key }) => key === name)?.value : undefined;
    return (
      set ??
      argument ??
      unwrapped(machine.calls, owner, name) ??
      machine.unknown(node, { of: owner.id, path: name })
    );
  }
  if (owner?.kind === 'unknown')
    return machine.unknown(node, {
      ...(owner.given ? { given: owner.given } : {}),
      ...(owner.of === undefined ? {} : { of: owner.of }),
      ...(owner.path === undefined ? {} : { path: `${owner.path}.${name}` }),
    });
  return machine.unknown(node);
}

function string(machine: Machine, node: SyntaxNode): PyValue {
  const start = node.children.find(({ type }) => type === 'string_start');
  const prefix = start ? machine.textOf(start).toLowerCase() : '';
  if (prefix.startsWith('b') || prefix.startsWith('t')) return machine.unknown(node);
  const raw = /r/.test(prefix.replace(/['"].*/, ''));
  const parts: PyValue[] = node.children.flatMap((child): PyValue[] => {
    if (child.type === 'string_content') {
      const text = machine.textOf(child);
      return [
        machine.scalar(
          unescaped(/f/.test(prefix) ? text.replace(/\{\{|\}\}/g, (two) => two[0] ?? '') : text, raw),
          child,
        ),
      ];
    }
    if (child.type !== 'interpolation') return [];
    const plain = child.children.every(({ field }) => field === 'expression');
    return [plain ? machine.evaluate(machine, childIn(child, 'expression')) : machine.unknown(child)];
  });
  const computed = node.children.some(({ type }) => type === 'interpolation');
  return joined(machine, parts, node, computed);
}

function joined(machine: Machine, parts: readonly PyValue[], node: SyntaxNode, computed: boolean): PyValue {
  return lifted(parts, (values) => {
    const texts = values.map((value) => (value.kind === 'scalar' ? spoken(value.value) : undefined));
    return texts.every((text) => text !== undefined)
      ? machine.scalar(texts.join(''), node, computed)
      : machine.unknown(node, { text: 'one' });
  });
}

/** As `str` writes a plain value. */
function spoken(value: PyScalar['value']): string {
  if (value === null) return 'None';
  return typeof value === 'boolean' ? (value ? 'True' : 'False') : String(value);
}

function concatenated(machine: Machine, node: SyntaxNode): PyValue {
  const parts = node.children.map((child) => machine.evaluate(machine, child));
  return joined(machine, parts, node, true);
}

function dictionary(machine: Machine, node: SyntaxNode): PyDict {
  const entries = new Map<string, PyArgument>();
  let open = false;
  for (const child of node.children) {
    if (child.type === 'dictionary_splat') {
      const more = machine.evaluate(machine, child.children[0]);
      if (more.kind === 'dict') for (const entry of more.entries) entries.set(entry.key, entry);
      if (more.kind !== 'dict' || more.open) open = true;
      continue;
    }
    const [name, expression] = [childIn(child, 'key'), childIn(child, 'value')];
    const key = machine.evaluate(machine, name);
    const value = machine.evaluate(machine, expression);
    if (!name || !expression) open = true;
    else if (key.kind === 'scalar') {
      const text = spoken(key.value);
      entries.set(text, {
        key: text,
        keyRange: machine.rangeOf(name),
        value,
        used: machine.rangeOf(expression),
        text: machine.shown(expression),
      });
    } else open = true;
  }
  return {
    kind: 'dict',
    entries: [...entries.values()],
    range: machine.rangeOf(node),
    ...(open ? { open: true } : {}),
  };
}

function subscript(machine: Machine, node: SyntaxNode): PyValue {
  const [owner, index] = node.children.map((child) => machine.evaluate(machine, child));
  if (!owner || !index) return machine.unknown(node);
  const last = node.children.at(-1);
  if (last?.type === 'slice')
    return lifted([owner], ([of]) => sliced(machine, of, last) ?? itemOf(machine, of, index, node));
  return lifted([owner, index], ([of, at]) => itemOf(machine, of, at, node));
}

/** `items[:4]`, `name[1:-1]`: of a list or a text that is known, by whole numbers that are; undefined where it is not. */
function sliced(machine: Machine, owner: PyValue | undefined, slice: SyntaxNode): PyValue | undefined {
  const parts = machine.textOf(slice).split(':');
  const given = slice.children.filter(({ type }) => type !== 'comment');
  if (parts.length !== 2 || given.length !== parts.filter((text) => text.trim() !== '').length)
    return undefined;
  const bounds = given.map((child) => machine.evaluate(machine, child));
  const numbers = bounds.flatMap((value) =>
    value.kind === 'scalar' && typeof value.value === 'number' && Number.isInteger(value.value)
      ? [value.value]
      : [],
  );
  if (numbers.length !== bounds.length) return undefined;
  const from = parts[0]?.trim() === '' ? 0 : numbers.shift();
  const to = numbers.shift();
  if (owner?.kind === 'list') return { ...owner, items: owner.items.slice(from, to) };
  if (owner?.kind !== 'scalar' || typeof owner.value !== 'string') return undefined;
  return { ...machine.scalar(owner.value.slice(from, to), slice), computed: true };
}

function itemOf(
  machine: Machine,
  owner: PyValue | undefined,
  index: PyValue | undefined,
  node: SyntaxNode,
): PyValue {
  const key = index?.kind === 'scalar' ? index.value : undefined;
  if (owner?.kind === 'dict') {
    const found = owner.entries.find((entry) => entry.key === String(key))?.value;
    return (owner.open ? undefined : found) ?? machine.unknown(node);
  }
  if (owner?.kind === 'list' && typeof key === 'number') return owner.items.at(key) ?? machine.unknown(node);
  if (owner?.kind === 'object' && typeof key === 'number') return part(machine, owner, key, node);
  // A part of an answer by its name, as by its attribute: `outputs["loss"]`.
  if (owner?.kind === 'object' && typeof key === 'string' && machine.calls[owner.id]?.callee === '()')
    return machine.unknown(node, { of: owner.id });
  if (owner?.kind === 'object' && typeof key === 'string' && !hasOtherEntries(machine, owner.id))
    return machine.unknown(node, { entryOf: owner.id, ...partOfData(machine, owner, key) });
  if (owner?.kind !== 'unknown') return machine.unknown(node);
  return machine.unknown(node, {
    ...(owner.given ? { given: owner.given } : {}),
    ...(typeof key === 'string' ? partOfData(machine, owner, key) : {}),
  });
}

/** An item of what a call made: `model, tokenizer = load()`. */
export function part(machine: Machine, owner: PyValue, index: number, node: SyntaxNode): PyValue {
  if (owner.kind === 'list') return owner.items[index] ?? machine.unknown(node);
  if (owner.kind === 'object' && owner.item === undefined) {
    const kept = machine.attributes.get(owner.id)?.get(`[${index}]`);
    return kept ?? { ...owner, item: index };
  }
  if (owner.kind === 'either')
    return either(
      owner.options.map((option) => part(machine, option, index, node)),
      owner.because,
      owner.probe,
    );
  if (owner.kind !== 'unknown') return machine.unknown(node);
  const { given, of } = owner;
  return machine.unknown(node, given ? { given } : of === undefined ? {} : { of });
}

/** `step % every` where a name has the value 1: whole numbers are counted so, and one written as `1` may ask for a fraction. */
function isNamedOne(node: SyntaxNode, divisor: PyValue | undefined): boolean {
  return (
    divisor?.kind === 'scalar' &&
    divisor.value === 1 &&
    !/^(?:integer|float)$/.test(childIn(node, 'right')?.type ?? '')
  );
}

/** What is left of a count that nobody knows is called so among the calls of a program, with what it is divided by, by its name there. */
export const REMAINDER = 'n % k';

function recordRemainder(machine: Machine, node: SyntaxNode, divisor: PyValue | undefined): void {
  const right = childIn(node, 'right');
  if (!right || divisor?.kind !== 'scalar' || typeof divisor.value !== 'number') return;
  const [range, used, text] = [machine.rangeOf(node), machine.rangeOf(right), machine.shown(right)];
  const named = [{ key: text, keyRange: used, value: divisor, used, text }];
  machine.record({
    positional: [],
    named,
    callee: REMAINDER,
    range,
    calleeRange: used,
    argumentsRange: range,
  });
}

function binary(machine: Machine, node: SyntaxNode): PyValue {
  const [left, right] = [childIn(node, 'left'), childIn(node, 'right')].map((side) =>
    machine.evaluate(machine, side),
  );
  const operator = node.tokens[0] ?? '';
  if (!left || !right) return machine.unknown(node);
  return lifted([left, right], ([a, b]) => {
    if (a?.kind === 'list' && b?.kind === 'list' && operator === '+')
      return { kind: 'list', items: [...a.items, ...b.items].slice(0, 1000), range: machine.rangeOf(node) };
    if (a?.kind === 'list' && operator === '*') return repeated(machine, a, b, node);
    if (a && b && operator === '/') {
      const path = dividedPath(machine, a, b, node);
      if (path) return path;
    }
    if (a?.kind !== 'scalar' || b?.kind !== 'scalar') {
      if (operator === '%' && a?.kind === 'unknown') recordRemainder(machine, node, b);
      if (operator === '%' && a?.kind === 'unknown' && isNamedOne(node, b)) return machine.scalar(0, node);
      // A part of an object that is scaled is one still: `outputs.loss / steps`.
      const part = /^[*/]$/.test(operator) && a?.kind === 'unknown' ? a.of : undefined;
      const memory = scaledMemory(a, operator, b);
      if (memory !== undefined) return machine.unknown(node, { ofMemory: memory });
      if (operator === '-' && a?.kind === 'scalar' && b?.kind === 'unknown')
        return machine.unknown(node, { left: { of: a, without: b.range } });
      const joined = operator === '+' && a && b ? joinedTokens(machine, a, b, node) : undefined;
      if (joined) return joined;
      // A text is added to a text alone.
      if (operator === '+' && (isText(a) || isText(b))) return machine.unknown(node, { text: 'one' });
      return machine.unknown(node, part === undefined ? {} : { of: part });
    }
    const [x, y] = [a.value, b.value];
    if (typeof x === 'string' && typeof y === 'string' && operator === '+')
      return x.length + y.length > 10_000 ? machine.unknown(node) : machine.scalar(x + y, node);
    if (typeof x === 'string' || typeof y === 'string' || x === null || y === null)
      return machine.unknown(node);
    const value = arithmetic(operator, Number(x), Number(y));
    return value === undefined ? machine.unknown(node) : machine.scalar(value, node);
  });
}

/**
 * Samples that are cut out of one long text, `[t[i : i + size] for i in range(0, total, size)]`, of each column of a batch or of what
 * is named after tokens: noted as a call of `CHUNKS` with their size. Of other comprehensions those are evaluated that choose parameters, or items
 * of a known list.
 */
function comprehension(machine: Machine, node: SyntaxNode, inEach = false): PyValue {
  const chosen = chosenByComprehension(machine, node);
  if (chosen) return chosen;
  const [body, clause] = node.children;
  if (node.type === 'dictionary_comprehension') {
    const value = body && childIn(body, 'value');
    if (value?.type === 'list_comprehension') comprehension(machine, value, true);
    else if (value && clause) recordRepeated(machine, value, clause);
    return machine.unknown(node);
  }
  const size = body && clause ? chunkSize(machine, body, clause, inEach) : undefined;
  if (size) {
    const range = machine.rangeOf(node);
    const places = { range, calleeRange: machine.rangeOf(size), argumentsRange: range };
    machine.record({ positional: [machine.evaluate(machine, size)], named: [], callee: CHUNKS, ...places });
  }
  if (node.type !== 'list_comprehension') return machine.unknown(node);
  return chosenItems(machine, node) ?? machine.unknown(node, ofEachSample(machine, node));
}

/** `[tokenize(row) for row in tqdm(data["test"])]`: as many samples as there are in a part of data. */
function ofEachSample(
  machine: Machine,
  { children: [, clause, ...others] }: SyntaxNode,
): Pick<PyUnknown, 'data'> {
  const over = clause && childIn(clause, 'right');
  if (
    !over ||
    others.length > 0 ||
    !/^(?:tqdm(?:\.\w+)*\(\s*)?\w+\[\s*["']\w+["']\s*\]/.test(machine.textOf(over))
  )
    return {};
  const samples = machine.evaluate(machine, over);
  if (samples.kind === 'object') return { data: { of: samples.id, steps: [] } };
  return samples.kind === 'unknown' && samples.data ? { data: samples.data } : {};
}

/** Items of a known list, `[name for name in NAMES if name in there]`: all of them, or where conditions choose, some or none. */
function chosenItems(machine: Machine, node: SyntaxNode): PyValue | undefined {
  const [body, clause, ...conditions] = node.children;
  const target = clause && childIn(clause, 'left');
  const over = clause && childIn(clause, 'right');
  if (body?.type !== 'identifier' || target?.type !== 'identifier' || !over) return undefined;
  if (machine.textOf(body) !== machine.textOf(target)) return undefined;
  if (conditions.some(({ type }) => type !== 'if_clause')) return undefined;
  const all = machine.evaluate(machine, over);
  if (all.kind !== 'list') return undefined;
  const [asked] = conditions;
  return asked ? either([all, { ...all, items: [] }], machine.rangeOf(asked)) : { ...all };
}

/** A batch of one sample many times is made so: `{k: v.repeat(8, 1) for k, v in sample.items()}`. What is repeated, and how often. */
export const REPEATED = '{v.repeat(n, 1)}';

/** Notes what a dictionary repeats along its rows, whatever is called on that then. */
function recordRepeated(machine: Machine, value: SyntaxNode, clause: SyntaxNode): void {
  const [, target] = childIn(clause, 'left')?.children ?? [];
  const over = childIn(clause, 'right');
  const items = over?.type === 'call' ? childIn(over, 'function') : undefined;
  const from = items && machine.textOf(items).endsWith('.items') ? childIn(items, 'object') : undefined;
  const call = from && target && repeatOf(machine, value, machine.textOf(target));
  const args = call && childIn(call, 'arguments');
  const [times, ...others] = args?.children ?? [];
  if (!from || !call || !args || !times || others.some((one) => machine.textOf(one) !== '1')) return;
  const range = machine.rangeOf(call);
  const places = { range, calleeRange: range, argumentsRange: machine.rangeOf(args) };
  const positional = [machine.evaluate(machine, from), machine.evaluate(machine, times)];
  machine.record({ positional, named: [], callee: REPEATED, ...places });
}

/** `v.repeat(...)` in a chain of methods of `v`: `v.repeat(8, 1).to(device)`. */
function repeatOf(machine: Machine, node: SyntaxNode, name: string): SyntaxNode | undefined {
  const method = node.type === 'call' ? childIn(node, 'function') : undefined;
  const owner = method?.type === 'attribute' ? childIn(method, 'object') : undefined;
  const called = method && childIn(method, 'attribute');
  if (!owner || !called) return undefined;
  if (machine.textOf(called) === 'repeat' && machine.textOf(owner) === name) return node;
  return repeatOf(machine, owner, name);
}

/** What cuts a text into samples of one length is called so among the calls of a program. */
export const CHUNKS = '[i:i+n]';

/** The expression of the length of such samples. */
function chunkSize(
  machine: Machine,
  body: SyntaxNode,
  clause: SyntaxNode,
  inEach: boolean,
): SyntaxNode | undefined {
  const [of] = body.children;
  if (!inEach && !(of && /token|input_ids/i.test(machine.textOf(of)))) return undefined;
  const sliced = body.type === 'subscript' ? body.children.at(-1) : undefined;
  const [name, steps] = [childIn(clause, 'left'), childIn(clause, 'right')];
  const called = steps && childIn(steps, 'function');
  const step = steps && childIn(steps, 'arguments')?.children[2];
  if (sliced?.type !== 'slice' || !name || !called || !step || machine.textOf(called) !== 'range')
    return undefined;
  const written = (one: SyntaxNode) => machine.textOf(one).replace(/\s/g, '');
  const [from, to] = sliced.children;
  if (!from || !to) return undefined;
  return written(from) === written(name) && written(to) === `${written(name)}+${written(step)}`
    ? step
    : undefined;
}

/** `total_memory of properties(i) for i in range(n)` of GPUs that are alike; nothing is evaluated of other generators. */
function ofEachGpu(machine: Machine, node: SyntaxNode): PyValue {
  const [body] = node.children;
  if (!body || !/\btotal_memory\b/.test(machine.textOf(body))) return machine.unknown(node);
  const { ofMemory } = { ofMemory: undefined, ...machine.evaluate(machine, body) };
  return machine.unknown(node, ofMemory === undefined ? {} : { ofMemory });
}

/** `total_memory / 1024 ** 3`: what the GPU's memory is multiplied with then. */
function scaledMemory(a: PyValue | undefined, operator: string, b: PyValue | undefined): number | undefined {
  if (a?.kind !== 'unknown' || a.ofMemory === undefined || b?.kind !== 'scalar') return undefined;
  const by = Number(b.value);
  if (typeof b.value !== 'number' || by <= 0) return undefined;
  return operator === '/' ? a.ofMemory / by : operator === '*' ? a.ofMemory * by : undefined;
}

/** `memory >= 40`: whether it holds is the GPU's to say. */
function askedMemory(
  machine: Machine,
  operator: string,
  a: PyValue,
  b: PyValue,
  node: SyntaxNode,
): PyValue | undefined {
  if (a.kind !== 'unknown' || a.ofMemory === undefined || b.kind !== 'scalar' || typeof b.value !== 'number')
    return undefined;
  if (!/^[<>]=?$/.test(operator)) return undefined;
  const more = operator.startsWith('>');
  const options = [machine.scalar(more, node), machine.scalar(!more, node)];
  machine.asks = true;
  return either(options, machine.rangeOf(node), { bytes: b.value / a.ofMemory });
}

/** Items that a repeated list may have to be followed. */
const MOST_REPEATED = 1000;

/** `[row] * 1000`. */
function repeated(
  machine: Machine,
  { items }: PyList,
  times: PyValue | undefined,
  node: SyntaxNode,
): PyValue {
  const count =
    times?.kind === 'scalar' && typeof times.value === 'number' ? Math.max(0, times.value) : undefined;
  if (count === undefined || !Number.isInteger(count) || Math.max(1, items.length) * count > MOST_REPEATED)
    return machine.unknown(node);
  return {
    kind: 'list',
    items: Array.from({ length: count }, () => items).flat(),
    range: machine.rangeOf(node),
  };
}

function boolean(machine: Machine, node: SyntaxNode): PyValue {
  const left = machine.evaluate(machine, childIn(node, 'left'));
  const right = machine.evaluate(machine, childIn(node, 'right'));
  const and = node.tokens[0] === 'and';
  return lifted([left, right], ([a, b]) => {
    const [x, y] = [a && truth(a), b && truth(b)];
    if (!a || !b) return machine.unknown(node);
    if (x !== undefined) return x === and ? b : a;
    // `unknown and False` is false; of `unknown or [...]` it is known that it counts as true, and not what it is.
    const isSwitch = b.kind === 'scalar' && typeof b.value === 'boolean';
    if (y !== undefined && y !== and && isSwitch) return machine.scalar(y, node);
    return machine.unknown(node);
  });
}

function comparison(machine: Machine, node: SyntaxNode): PyValue {
  const sides = node.children.map((child) => machine.evaluate(machine, child));
  const operator = node.tokens.join(' ');
  if (sides.length !== 2) return machine.unknown(node);
  return lifted(sides, ([a, b]) => {
    if (!a || !b) return machine.unknown(node);
    if (a.kind === 'scalar' && b.kind === 'list' && /^(not )?in$/.test(operator)) {
      if (!b.items.every(({ kind }) => kind === 'scalar')) return machine.unknown(node);
      return machine.scalar(b.items.some((item) => same(item, a)) === (operator === 'in'), node);
    }
    const thing = (value: PyValue) =>
      /^(list|dict|name|function|class)$/.test(value.kind) || isConstructed(machine, value);
    if ((isNone(a) && thing(b)) || (isNone(b) && thing(a))) {
      const equal = operator === '==' || operator === 'is';
      const unequal = /^(!=|is not)$/.test(operator);
      return equal || unequal ? machine.scalar(unequal, node) : machine.unknown(node);
    }
    const types = a.kind === 'name' && b.kind === 'name' ? [dtypeOf(a.name), dtypeOf(b.name)] : [];
    if (types[0] && types[1] && /^(==|!=|is|is not)$/.test(operator))
      return machine.scalar((types[0] === types[1]) === /^(==|is)$/.test(operator), node);
    const asked = askedMemory(machine, operator, a, b, node);
    if (asked) return asked;
    const known =
      a.kind === 'scalar' && b.kind === 'scalar'
        ? compared(operator, a.value, b.value)
        : (askedGpus(operator, a, b) ?? askedGpus(REVERSED[operator] ?? operator, b, a));
    return known === undefined ? machine.unknown(node) : machine.scalar(known, node);
  });
}

const REVERSED: Readonly<Record<string, string>> = { '<': '>', '>': '<', '<=': '>=', '>=': '<=' };

/** `torch.cuda.device_count() == 0`: what holds of any number of GPUs but none. */
function askedGpus(operator: string, count: PyValue, other: PyValue): boolean | undefined {
  const bound = other.kind === 'scalar' ? other.value : undefined;
  if (count.kind !== 'unknown' || !count.countsGpus || typeof bound !== 'number') return undefined;
  if (bound < 1)
    return /^(?:!=|>|>=)$/.test(operator) ? true : /^(?:==|<|<=)$/.test(operator) ? false : undefined;
  return bound === 1 && /^(?:>=|<)$/.test(operator) ? operator === '>=' : undefined;
}

/** Whether a value is what a class of a library made, such as `Accelerator()`: that is never None. */
function isConstructed(machine: Machine, value: PyValue): boolean {
  const call = value.kind === 'object' && value.item === undefined ? machine.calls[value.id] : undefined;
  return (
    call !== undefined && call.of === undefined && /(^|\.)[A-Z]\w*(\.from_pretrained)?$/.test(call.callee)
  );
}

/** A type of PyTorch by its first name. */
function dtypeOf(name: string): string | undefined {
  const found = /^torch\.(bfloat16|float16|half|float32|float|float64|double)$/.exec(name)?.[1];
  return found && ({ half: 'float16', float: 'float32', double: 'float64' }[found] ?? found);
}

function conditional(machine: Machine, node: SyntaxNode): PyValue {
  const [yes, condition, no] = node.children;
  const asked = machine.evaluate(machine, condition);
  const known = truth(asked);
  if (known !== undefined) return machine.evaluate(machine, known ? yes : no);
  const because = condition ? machine.rangeOf(condition) : machine.rangeOf(node);
  const [a, b] = [machine.evaluate(machine, yes), machine.evaluate(machine, no)];
  if (asked.kind !== 'either' || !asked.probe) return either([a, b], because);
  return lifted([asked], ([one]) => {
    const holds = one && truth(one);
    return holds === undefined ? either([a, b], because) : holds ? a : b;
  });
}
