import { KEPT_TOKENS } from './kept-samples';
import type { Machine } from './machine';
import { childIn, type SyntaxNode } from './syntax-node';
import { argumentAt } from './value';

/** Among the arguments of such a call: the column holds what `len` makes of a chat template's result, which is a dictionary since transformers 5. */
export const OF_TEMPLATE = 'apply_chat_template';

/** Rows of a table that are kept, `rows[rows["N"] <= 2048]`: its name, the column, and the most that it holds. */
interface Kept {
  readonly table: string;
  readonly column: string;
  readonly most: number;
}

/** What a table is put through that leaves its rows. */
const LEAVES_ROWS = /^(?:copy|reset_index)$/;

function withoutCopies(machine: Machine, value: SyntaxNode): SyntaxNode {
  const callee = value.type === 'call' ? childIn(value, 'function') : undefined;
  const [object, name] = [callee && childIn(callee, 'object'), callee && childIn(callee, 'attribute')];
  return object && name && LEAVES_ROWS.test(machine.textOf(name)) ? withoutCopies(machine, object) : value;
}

const mostOf = (sign: string, bound: number): number =>
  sign === '<' ? Math.ceil(bound) - 1 : Math.floor(bound);

function numberOf(machine: Machine, node: SyntaxNode): number | undefined {
  const bound = machine.evaluate(machine, node);
  return bound.kind === 'scalar' && typeof bound.value === 'number' ? bound.value : undefined;
}

/** The comparisons that all hold: of an index, parts that `&` joins. */
function* joined(machine: Machine, node: SyntaxNode): Generator<SyntaxNode> {
  if (node.type === 'comparison_operator') yield node;
  const joins = node.type === 'binary_operator' && node.tokens[0] === '&';
  if (node.type === 'parenthesized_expression' || joins)
    for (const child of node.children) yield* joined(machine, child);
}

/** `rows["N"] <= 2048`, `rows.N < limit`. */
function comparedIn(machine: Machine, node: SyntaxNode, table: string): Kept | undefined {
  const [left, right] = node.children;
  const [sign = ''] = node.tokens;
  if (node.children.length !== 2 || !left || !right || (sign !== '<' && sign !== '<=')) return undefined;
  const match = /^(\w+)(?:\[\s*(["'])(\w+)\2\s*\]|\.(\w+))$/.exec(machine.textOf(left));
  const column = match?.[3] ?? match?.[4];
  const bound = match?.[1] === table ? numberOf(machine, right) : undefined;
  return column === undefined || bound === undefined
    ? undefined
    : { table, column, most: mostOf(sign, bound) };
}

/** `rows[...]`, `rows.loc[...]`. */
function indexed(machine: Machine, value: SyntaxNode): Kept | undefined {
  const [of, index, ...more] = value.children;
  if (value.type !== 'subscript' || !of || !index || more.length > 0) return undefined;
  const table = /^(\w+)(?:\.loc)?$/.exec(machine.textOf(of))?.[1];
  if (table === undefined) return undefined;
  for (const compared of joined(machine, index)) {
    const kept = comparedIn(machine, compared, table);
    if (kept) return kept;
  }
  return undefined;
}

/** `rows.query("N <= 2048")`: the names of columns in a text, and numbers. */
function queried(machine: Machine, value: SyntaxNode): Kept | undefined {
  const [callee, passed] = [childIn(value, 'function'), childIn(value, 'arguments')];
  const table = callee && /^(\w+)\.query$/.exec(machine.textOf(callee))?.[1];
  const [given] = passed?.children ?? [];
  if (value.type !== 'call' || table === undefined || !given) return undefined;
  const text = machine.evaluate(machine, given);
  if (text.kind !== 'scalar' || typeof text.value !== 'string') return undefined;
  const [, column = '', sign = '', bound = ''] =
    /^\s*(\w+)\s*(<=?)\s*([\d_]+(?:\.\d+)?)\s*$/.exec(text.value) ?? [];
  return column === '' ? undefined : { table, column, most: mostOf(sign, Number(bound.replaceAll('_', ''))) };
}

/** A function of one sample that gives the number of its tokens. */
const COUNTS =
  /\.(?:apply|map|progress_apply)\(\s*lambda\s+\w+\s*:\s*len\(\s*(?:\w+\.)*tokenizer\w*(?:\.(encode|tokenize|apply_chat_template))?\(([^\n]*)\)/;

/** What a column holds, if that is the number of tokens of each sample and nothing else. */
function lengthsIn(column: string, all: string): 'tokens' | 'template' | undefined {
  const made = [...all.matchAll(new RegExp(`\\[["']${column}["']\\]\\s*=(?!=)\\s*([^\\n]*)`, 'g'))];
  const ways = made.map(([, value = '']) => {
    const [, method, given = ''] = COUNTS.exec(value) ?? [];
    if (given === '' || /\btokenize\s*=\s*False/.test(given)) return undefined;
    if (method === OF_TEMPLATE) return /\breturn_dict\s*=\s*False/.test(given) ? 'tokens' : 'template';
    // Of what a tokenizer returns `len` counts the names, but of its tokens.
    return method !== undefined || /\)\s*\[\s*["']input_ids["']\s*\]|\)\.input_ids\b/.test(given)
      ? 'tokens'
      : undefined;
  });
  return ways.length === 0 || ways.includes(undefined)
    ? undefined
    : ways.includes('template')
      ? 'template'
      : 'tokens';
}

/** Whether every table that becomes a data set is one whose rows are left out so. */
function becomesData(table: string, all: string): boolean {
  const tables = [...all.matchAll(/\bDataset\.from_pandas\(\s*(\w+)/g)].map(([, name = '']) => name);
  return tables.length > 0 && tables.every((name) => name === table);
}

/**
 * Rows of too many tokens that a table of pandas leaves out before it becomes a data set: noted as a call of `KEPT_TOKENS` with the most that
 * one has.
 */
export function noteKeptRows(machine: Machine, target: SyntaxNode, value: SyntaxNode): void {
  const table = withoutCopies(machine, value);
  const kept = indexed(machine, table) ?? queried(machine, table);
  if (!kept || kept.most <= 0 || !becomesData(machine.textOf(target), machine.lines.text)) return;
  const lengths = lengthsIn(kept.column, machine.lines.text);
  if (lengths === undefined) return;
  const range = machine.rangeOf(value);
  machine.record({
    positional: [machine.scalar(kept.most, value)],
    named: lengths === 'template' ? [argumentAt(OF_TEMPLATE, machine.scalar(true, value))] : [],
    callee: KEPT_TOKENS,
    range,
    calleeRange: range,
    argumentsRange: range,
  });
}
