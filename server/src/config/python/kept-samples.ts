import type { Machine } from './machine';
import { childIn, type SyntaxNode } from './syntax-node';
import type { PyFunction } from './value';

/** What leaves out samples of too many tokens is called so among the calls of a program. */
export const KEPT_TOKENS = 'filter(len < n)';

/** The tokens of a sample, as a function of the file names them: its only parameter, or a column of it. */
function tokensIn(code: string, passed: string): string | undefined {
  const parameter = /^\s*(?:def\s+\w+\s*\(\s*(\w+)[^)]*\)|lambda\s+(\w+)\s*:)/.exec(code);
  const name = parameter?.[1] ?? parameter?.[2];
  if (name === undefined) return undefined;
  if (/\binput_columns\s*=\s*\[?\s*(["'])input_ids\1\s*\]?\s*[,)]/.test(passed)) return name;
  return /\binput_columns\b/.test(passed) ? undefined : `${name}\\[["']input_ids["']\\]`;
}

/** The most tokens that such a function keeps: `len(tokens) < 200`, or the same of a name that it gives to their number. */
function mostKept(code: string, passed: string): number | undefined {
  const tokens = tokensIn(code, passed);
  if (tokens === undefined || /\b(?:or|not)\b/.test(code)) return undefined;
  const length = `len\\(\\s*${tokens}\\s*\\)`;
  const [, named] = new RegExp(`(\\w+)\\s*=\\s*${length}`).exec(code) ?? [];
  const asked = named === undefined ? length : `(?:${named}|${length})`;
  const answer = new RegExp(`(?:return|lambda\\s+\\w+\\s*:)\\s*\\(?\\s*${asked}\\s*(<=?)\\s*([0-9_]+)\\b`);
  const [, sign, digits = ''] = answer.exec(code) ?? [];
  const most = Number(digits.replaceAll('_', '')) - (sign === '<' ? 1 : 0);
  return sign !== undefined && most > 0 ? most : undefined;
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
  const most = keeps && mostKept(machine.textOf(keeps.node), machine.textOf(passed));
  if (most === undefined) return;
  const range = machine.rangeOf(value);
  const places = { range, calleeRange: machine.rangeOf(callee), argumentsRange: machine.rangeOf(passed) };
  machine.record({ positional: [machine.scalar(most, value)], named: [], callee: KEPT_TOKENS, ...places });
}
