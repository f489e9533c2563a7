import type { Machine } from './machine';
import { ALL, type ParameterChoice, TRAINED } from './parameter-choice';
import { childIn, type SyntaxNode } from './syntax-node';
import type { ChosenParameters, PyCall, PyObject, PyValue } from './value';

const PARAMETERS = /^(?:named_)?parameters$/;

/** The parameters that a value holds, by themselves, with their names or as their names alone; undefined where it holds others or nobody knows. */
export function chosenIn(calls: readonly PyCall[], value: PyValue | undefined): ChosenParameters | undefined {
  if (value?.kind === 'unknown') return value.chosen;
  if (value?.kind !== 'object' || value.item !== undefined) return undefined;
  const call = calls[value.id];
  return call?.of && PARAMETERS.test(call.callee) ? { of: call.of, choice: ALL } : undefined;
}

/** The parameters of a part of a model, `model.classifier.parameters()`, by the path that is written there. */
export function parametersOfPart(
  machine: Machine,
  owner: PyValue,
  method: string,
  node: SyntaxNode,
  path: SyntaxNode | undefined,
): PyValue | undefined {
  if (owner.kind !== 'unknown') return undefined;
  if (owner.chosen && /^(?:items|keys|values)$/.test(method))
    return machine.unknown(node, { chosen: owner.chosen });
  if (owner.of === undefined || !path || !PARAMETERS.test(method)) return undefined;
  const of: PyObject = { kind: 'object', id: owner.of, range: owner.range };
  const choice: ParameterChoice = { kind: 'asked', text: `part ${machine.textOf(path).replace(/\s/g, '')}` };
  return machine.unknown(node, { chosen: { of, choice } });
}

/** Functions that hand on parameters, or choose among them: `list`, `filter(lambda p: p.requires_grad, ...)`, `map(id, ...)`. */
export function chosenByFunction(
  machine: Machine,
  name: string,
  [first, second]: readonly PyValue[],
  node: SyntaxNode,
): PyValue | undefined {
  if (/^(?:list|tuple|set|iter|dict|sorted)$/.test(name))
    return handedOn(machine, chosenIn(machine.calls, first), node);
  if (name === 'map' && first?.kind === 'name' && first.name === 'id')
    return handedOn(machine, chosenIn(machine.calls, second), node);
  const from = name === 'filter' ? chosenIn(machine.calls, second) : undefined;
  if (!from || first?.kind !== 'function' || first.node.type !== 'lambda') return undefined;
  const parameter = childIn(first.node, 'parameters')?.children[0];
  const body = childIn(first.node, 'body');
  if (parameter?.type !== 'identifier' || !body) return undefined;
  const names = new Set([machine.textOf(parameter)]);
  return handedOn(machine, narrowed(from, askedOfEach(machine, body, names, from.of)), node);
}

const handedOn = (
  machine: Machine,
  chosen: ChosenParameters | undefined,
  node: SyntaxNode,
): PyValue | undefined => chosen && machine.unknown(node, { chosen });

const narrowed = ({ of, choice }: ChosenParameters, more: ParameterChoice): ChosenParameters => ({
  of,
  choice: both(choice, more),
});

/** What two choices take together: of those that are trained and all of them it is the first. */
export function both(choice: ParameterChoice, more: ParameterChoice): ParameterChoice {
  if (choice.kind === 'all') return more.kind === 'all' && !more.trained ? choice : more;
  return more.kind === 'all' ? choice : { kind: 'and', of: [choice, more] };
}

/**
 * `[p for n, p in model.named_parameters() if "bias" not in n]`, and the same of names, in braces or as a generator; undefined of any other
 * comprehension. Its source is evaluated.
 */
export function chosenByComprehension(machine: Machine, node: SyntaxNode): PyValue | undefined {
  const [body, clause, ...more] = node.children;
  const [left, right] =
    clause?.type === 'for_in_clause' ? [childIn(clause, 'left'), childIn(clause, 'right')] : [];
  if (!body || !left || !right || !more.every(({ type }) => type === 'if_clause')) return undefined;
  const names = new Set(
    (left.type === 'identifier' ? [left] : left.children).map((one) => machine.textOf(one)),
  );
  const items = body.type === 'identifier' ? [body] : body.children;
  const isPlain =
    items.length > 0 && items.every((one) => one.type === 'identifier' && names.has(machine.textOf(one)));
  if (!isPlain || !mayHold(machine, right)) return undefined;
  const from = chosenIn(machine.calls, machine.evaluate(machine, right));
  if (!from) return undefined;
  const chosen = more.reduce((so, { children: [condition] }) => {
    return condition ? narrowed(so, askedOfEach(machine, condition, names, so.of)) : so;
  }, from);
  return handedOn(machine, chosen, node);
}

/** Whether an expression names parameters, or begins with a name of what holds some: nothing else is evaluated. */
function mayHold(machine: Machine, node: SyntaxNode): boolean {
  const text = machine.textOf(node);
  return (
    /parameters/.test(text) ||
    chosenIn(machine.calls, machine.lookup(/^\w+/.exec(text)?.[0] ?? '')) !== undefined
  );
}

/** Comparisons that are the opposite of others. */
const OPPOSITE: Readonly<Record<string, string>> = {
  'not in': 'in',
  'is not': 'is',
  '!=': '==',
  '<': '>=',
  '>': '<=',
};

/** What a condition asks of the parameter, or the name, that one of the names stands for. What asks for a gradient is asked of none: the others are frozen. */
export function askedOfEach(
  machine: Machine,
  node: SyntaxNode,
  names: ReadonlySet<string>,
  of: PyObject,
): ParameterChoice {
  const inner = (one: SyntaxNode | undefined): ParameterChoice =>
    one ? askedOfEach(machine, one, names, of) : { kind: 'asked', text: '' };
  const [first, second] = node.children;
  if (node.type === 'parenthesized_expression') return inner(first);
  if (node.type === 'not_operator') return { kind: 'not', of: inner(childIn(node, 'argument')) };
  if (node.type === 'boolean_operator')
    return { kind: node.tokens.includes('and') ? 'and' : 'or', of: [inner(first), inner(second)] };
  if (node.type === 'attribute' && /\.requires_grad$/.test(machine.textOf(node))) return TRAINED;
  if (node.type !== 'comparison_operator' || !first || !second || node.children.length !== 2)
    return question(machine.textOf(node), names);
  const operator = node.tokens.join(' ');
  const plain = OPPOSITE[operator] ?? operator;
  const member = plain === 'in' ? chosenIn(machine.calls, machine.evaluate(machine, second)) : undefined;
  const choice =
    member && member.of.id === of.id
      ? member.choice
      : question(`${machine.textOf(first)} ${plain} ${machine.textOf(second)}`, names);
  return plain === operator ? choice : { kind: 'not', of: choice };
}

/** The names stand for what a comprehension goes through, whatever it calls them. */
function question(text: string, names: ReadonlySet<string>): ParameterChoice {
  const written = text.replace(/[A-Za-z_]\w*/g, (word) => (names.has(word) ? '_' : word));
  return { kind: 'asked', text: written.replace(/\s+/g, ' ') };
}
