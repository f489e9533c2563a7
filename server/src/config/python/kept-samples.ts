import type { Machine } from './machine';
import { childIn, type SyntaxNode } from './syntax-node';
import type { PyFunction } from './value';

/** What leaves out samples of too many tokens is called so among the calls of a program. */
export const KEPT_TOKENS = 'filter(len < n)';

/** What numbers the length of a sample in a function of the file: its only parameter, or a column of it. */
function lengthIn(code: string, passed: string, all: string): string | undefined {
  const parameter = /^\s*(?:def\s+\w+\s*\(\s*(\w+)[^)]*\)|lambda\s+(\w+)\s*:)/.exec(code);
  const name = parameter?.[1] ?? parameter?.[2];
  if (name === undefined) return undefined;
  const column = /\binput_columns\s*=\s*\[?\s*(["'])(\w+)\1\s*\]?\s*[,)]/.exec(passed)?.[2];
  if (column === 'input_ids') return `len\\(\\s*${name}\\s*\\)`;
  if (column !== undefined) return isLengthOf(column, all) ? name : undefined;
  return /\binput_columns\b/.test(passed) ? undefined : `len\\(\\s*${name}\\[["']input_ids["']\\]\\s*\\)`;
}

/** Whether the text gives a column the length of each sample, in tokens or in values of sound, and nothing else. */
function isLengthOf(column: string, all: string): boolean {
  const made = [...all.matchAll(new RegExp(`\\[["']${column}["']\\]\\s*=(?!=)\\s*([^\\n]*)`, 'g'))];
  return (
    made.length > 0 &&
    made.every(([, value = '']) =>
      /^len\(\s*\w+(?:\[["']|\.)input_(?:ids|values)(?:["']\])?\s*\)\s*(?:#.*)?$/.test(value.trim()),
    )
  );
}

/** The comparisons of a function, from the outside in. */
function* comparisonsIn(node: SyntaxNode): Generator<SyntaxNode> {
  if (node.type === 'comparison_operator') yield node;
  for (const child of node.children) yield* comparisonsIn(child);
}

/** The most tokens, or values of sound, that such a function keeps: `len(tokens) < 200`, or the same of a name that it gives to their number. */
function mostKept(machine: Machine, { node }: PyFunction, passed: string): number | undefined {
  const code = machine.textOf(node);
  const length = lengthIn(code, passed, machine.lines.text);
  if (length === undefined || /\b(?:or|not)\b/.test(code)) return undefined;
  const [, named] = new RegExp(`(\\w+)\\s*=\\s*${length}`).exec(code) ?? [];
  const asked = new RegExp(`^(?:${named === undefined ? length : `${named}|${length}`})$`);
  const answers = /(?:return|lambda\s+\w+\s*:)[\s(]*$/;
  for (const compared of comparisonsIn(node)) {
    const [left, right] = compared.children;
    const [sign] = compared.tokens;
    if (compared.children.length !== 2 || (sign !== '<' && sign !== '<=')) continue;
    if (!left || !asked.test(machine.textOf(left))) continue;
    if (!answers.test(code.slice(0, compared.start - node.start))) continue;
    // A name of the function's own is none of the program's.
    const own = right && (machine.textOf(right).match(/\w+/g) ?? []);
    if (own?.some((word) => new RegExp(`\\b${word}\\s*=(?!=)`).test(code))) return undefined;
    const bound = machine.evaluate(machine, right);
    if (bound.kind !== 'scalar' || typeof bound.value !== 'number') return undefined;
    const most = sign === '<' ? Math.ceil(bound.value) - 1 : Math.floor(bound.value);
    return most > 0 ? most : undefined;
  }
  return undefined;
}

function functionGiven(machine: Machine, given: SyntaxNode | undefined): PyFunction | undefined {
  const value = given && machine.evaluate(machine, given);
  return value?.kind === 'function' && value.home === machine.context ? value : undefined;
}

/**
 * Samples of too many tokens that are left out, `data = data.filter(is_short, input_columns=["input_ids"])`: noted as a call of `KEPT_TOKENS` with
 * the most that one has. What is filtered beside the data that goes on is not noted.
 */
export function noteKeptSamples(machine: Machine, target: SyntaxNode, value: SyntaxNode): void {
  const [callee, passed] = [childIn(value, 'function'), childIn(value, 'arguments')];
  if (value.type !== 'call' || !callee || !passed) return;
  if (machine.textOf(callee) !== `${machine.textOf(target)}.filter`) return;
  const keeps = functionGiven(machine, passed.children[0]);
  const most = keeps && mostKept(machine, keeps, machine.textOf(passed));
  if (most === undefined) return;
  const range = machine.rangeOf(value);
  const places = { range, calleeRange: machine.rangeOf(callee), argumentsRange: machine.rangeOf(passed) };
  machine.record({ positional: [machine.scalar(most, value)], named: [], callee: KEPT_TOKENS, ...places });
}
