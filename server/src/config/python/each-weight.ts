import { askedOfEach, both, chosenIn } from './chosen-parameters';
import { type Machine, truth } from './machine';
import { ALL, type ParameterChoice } from './parameter-choice';
import { childIn, type SyntaxNode } from './syntax-node';
import type { ChosenParameters, PyValue, WeightCast } from './value';

/** Weights, or modules, that a loop goes through one by one. */
interface Each extends ChosenParameters {
  readonly each: WeightCast['each'];
  /** Names that stand for one of them, and for its name. */
  readonly names: ReadonlySet<string>;
}

const NONE: ParameterChoice = { kind: 'not', of: ALL };
const MODULES = /^(?:named_)?modules$/;
/** Some type, by a name that is not known. */
const UNKNOWN = '?';
const METHODS = /^(?:float|half|bfloat16)$/;
const TYPES = /^torch\.(?:float(?:16|32)?|half|bfloat16)$/;

/** Notes what a loop over a model's weights or modules casts, where it stands right in its body. */
export function noteWeightCasts(
  machine: Machine,
  over: PyValue | undefined,
  target: SyntaxNode | undefined,
  body: SyntaxNode | undefined,
): void {
  if (!over || !target || !body || !/\.(?:to|type|float|half|bfloat16)\s*\(/.test(machine.textOf(body)))
    return;
  const names = new Set(
    (target.type === 'identifier' ? [target] : target.children).map((one) => machine.textOf(one)),
  );
  for (const value of over.kind === 'either' ? over.options : [over]) {
    const each = eachOf(machine, value, names);
    if (each) inBlock(machine, body, each, each.choice);
  }
}

function eachOf(machine: Machine, value: PyValue, names: ReadonlySet<string>): Each | undefined {
  const chosen = chosenIn(machine.calls, value);
  if (chosen) return { ...chosen, each: 'parameter', names };
  const call = value.kind === 'object' && value.item === undefined ? machine.calls[value.id] : undefined;
  return call?.of && MODULES.test(call.callee)
    ? { of: call.of, choice: ALL, each: 'module', names }
    : undefined;
}

/** The casts of a block; what is left of the choice behind it, where some went on to the next round. */
function inBlock(machine: Machine, block: SyntaxNode, each: Each, choice: ParameterChoice): ParameterChoice {
  let left = choice;
  for (const statement of block.children) {
    if (isNone(left)) return NONE;
    if (statement.type === 'continue_statement') return NONE;
    if (statement.type === 'if_statement') left = inBranches(machine, statement, each, left);
    else if (statement.type === 'with_statement') {
      const inner = childIn(statement, 'body');
      if (inner) left = inBlock(machine, inner, each, left);
    } else if (statement.type === 'expression_statement') note(machine, statement, each, left);
  }
  return left;
}

function inBranches(
  machine: Machine,
  node: SyntaxNode,
  each: Each,
  choice: ParameterChoice,
): ParameterChoice {
  let open = choice;
  const ways: ParameterChoice[] = [];
  for (const arm of [node, ...node.children.filter(({ field }) => field === 'alternative')]) {
    const condition = childIn(arm, 'condition');
    const block = childIn(arm, 'consequence') ?? childIn(arm, 'body');
    const holds = condition ? answered(machine, condition, each) : ALL;
    if (block) ways.push(inBlock(machine, block, each, narrowed(open, holds)));
    open = narrowed(open, opposite(holds));
  }
  const passed = [...ways, open].filter((way) => !isNone(way));
  // Arms that all go on are one again.
  return passed.length === ways.length + (isNone(open) ? 0 : 1) && ways.every((way) => !isNone(way))
    ? choice
    : passed.length === 1 && passed[0]
      ? passed[0]
      : passed.length === 0
        ? NONE
        : { kind: 'or', of: passed };
}

/** What a condition asks of one of them; what asks for none of them has the answer that is known. */
function answered(machine: Machine, node: SyntaxNode, each: Each): ParameterChoice {
  const [first] = node.children;
  if (node.type === 'parenthesized_expression' && first) return answered(machine, first, each);
  if (node.type === 'not_operator') {
    const argument = childIn(node, 'argument');
    return argument ? opposite(answered(machine, argument, each)) : ALL;
  }
  if (node.type === 'boolean_operator') {
    const parts = node.children.map((child) => answered(machine, child, each));
    if (node.tokens.includes('and')) return parts.reduce<ParameterChoice>(narrowed, ALL);
    const some = parts.filter((part) => !isNone(part));
    const [only] = some;
    return !only ? NONE : some.length === 1 || isAll(only) ? only : { kind: 'or', of: some };
  }
  const words = machine.textOf(node).match(/[A-Za-z_]\w*/g) ?? [];
  if (words.some((word) => each.names.has(word))) return askedOfEach(machine, node, each.names, each.of);
  const answer = truth(machine.evaluate(machine, node));
  if (answer !== undefined) return answer ? ALL : NONE;
  return { kind: 'asked', text: machine.textOf(node) };
}

const isAll = (choice: ParameterChoice) => choice.kind === 'all' && !choice.trained;
const isNone = (choice: ParameterChoice) => choice.kind === 'not' && isAll(choice.of);
const narrowed = (so: ParameterChoice, more: ParameterChoice): ParameterChoice =>
  isNone(so) || isNone(more) ? NONE : both(so, more);

function opposite(choice: ParameterChoice): ParameterChoice {
  if (choice.kind === 'not') return choice.of;
  return { kind: 'not', of: choice };
}

/** `param.data = param.data.float()`, `module = module.to(torch.bfloat16)` and `module.to(torch.bfloat16)`. */
function note(machine: Machine, statement: SyntaxNode, each: Each, choice: ParameterChoice): void {
  const [first] = statement.children;
  const isAssigned = first?.type === 'assignment';
  const [target, call] = isAssigned ? [childIn(first, 'left'), childIn(first, 'right')] : [undefined, first];
  const callee = call?.type === 'call' ? childIn(call, 'function') : undefined;
  const owner = callee && childIn(callee, 'object');
  const method = callee && childIn(callee, 'attribute');
  if (!call || !owner || !method) return;
  const [ownerText, targetText] = [machine.textOf(owner), target ? machine.textOf(target) : undefined];
  const [name = ''] = /^\w+/.exec(ownerText) ?? [];
  if (!each.names.has(name)) return;
  const part = /^\w+((?:\.\w+)*)\.data$/.exec(targetText ?? '')?.[1];
  // Weights have another type only where they are set; modules change in place.
  const ofModule = each.each === 'module' && ownerText === name && (!targetText || targetText === name);
  const ofWeight = part !== undefined && targetText?.startsWith(`${name}.`);
  if (!ofModule && !ofWeight) return;
  const to = typeOf(machine, machine.textOf(method), childIn(call, 'arguments'));
  if (to === undefined) return;
  const one: ParameterChoice = part ? { kind: 'asked', text: `_${part}` } : ALL;
  machine.casts.push({
    of: each.of,
    each: each.each,
    choice: narrowed(choice, one),
    to: to === UNKNOWN ? undefined : to,
    range: machine.rangeOf(statement),
    conditions: [...machine.conditions],
    after: machine.calls.length,
  });
}

/** The name of the type that a call casts to; undefined where it casts nothing. */
function typeOf(machine: Machine, method: string, given: SyntaxNode | undefined): string | undefined {
  if (METHODS.test(method)) return method;
  if (method !== 'to' && method !== 'type') return undefined;
  const values = (given?.children ?? []).map((one) => {
    const node = one.type === 'keyword_argument' ? childIn(one, 'value') : one;
    return { node, value: node && machine.evaluate(machine, node) };
  });
  for (const { value } of values) if (value?.kind === 'name' && TYPES.test(value.name)) return value.name;
  const isType = ({ node, value }: (typeof values)[number]) =>
    (node && /dtype|torch\.b?float/.test(machine.textOf(node))) ||
    (value?.kind === 'name' && /^torch\.(?:float|bfloat|double)/.test(value.name));
  return values.some(isType) ? UNKNOWN : undefined;
}
