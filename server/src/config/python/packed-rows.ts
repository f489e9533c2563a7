import { CHUNKS } from './expressions';
import type { Machine } from './machine';
import { childIn, type SyntaxNode } from './syntax-node';

/** Lists of tokens; of anything else the pieces are batches. */
const TOKENS = /token|input_ids/i;
/** A number of samples. */
const OF_SAMPLES = /batch|\bbs\b/i;

/** All nodes of a tree of a type. */
const every = (node: SyntaxNode, type: string): SyntaxNode[] => [
  ...(node.type === type ? [node] : []),
  ...node.children.flatMap((child) => every(child, type)),
];

/**
 * A loop that cuts joined tokens into rows of one length and keeps each, one after the other: `for i in range(rows): start = i * n`, `row =
 * tokens[start : start + n]`, `packed.append(row[:-1])`, and so with `range(0, total, n)`. It is noted as comprehensions are that do so: a call of
 * `CHUNKS` with the length, of which one less where the last token is the next one's alone.
 */
export function notePackedRows(machine: Machine, loop: SyntaxNode): void {
  const [name, over, body] = [childIn(loop, 'left'), childIn(loop, 'right'), childIn(loop, 'body')];
  const called = over && childIn(over, 'function');
  if (!name || !called || !body || machine.textOf(called) !== 'range') return;
  const written = (node: SyntaxNode) => machine.textOf(node).replace(/\s/g, '');
  const named = new Map(
    every(body, 'assignment').flatMap((one): [string, SyntaxNode][] => {
      const [left, right] = [childIn(one, 'left'), childIn(one, 'right')];
      return left?.type === 'identifier' && right ? [[machine.textOf(left), right]] : [];
    }),
  );
  const spelled = (node: SyntaxNode): string => written(named.get(written(node)) ?? node);
  for (const cut of every(body, 'subscript')) {
    const [of, slice, ...more] = cut.children;
    const [from, to] = slice?.type === 'slice' ? slice.children : [];
    if (!of || !from || !to || more.length > 0 || !TOKENS.test(machine.textOf(of))) continue;
    const size = rowLength(over, written(name), named.get(written(from)) ?? from, written);
    const ends = size && [`${written(from)}+${written(size)}`, `${spelled(from)}+${written(size)}`];
    const less = size && ends?.includes(spelled(to)) ? keptLess(machine, cut, body, named) : undefined;
    if (!size || less === undefined || OF_SAMPLES.test(machine.textOf(size))) continue;
    const length = machine.evaluate(machine, size);
    const isKnown = length.kind === 'scalar' && typeof length.value === 'number';
    const row = isKnown ? machine.scalar(Number(length.value) - less, size) : machine.unknown(size);
    const places = {
      range: machine.rangeOf(cut),
      calleeRange: machine.rangeOf(size),
      argumentsRange: machine.rangeOf(cut),
    };
    machine.record({ positional: [row], named: [], callee: CHUNKS, ...places });
    return;
  }
}

/** How far rows lie apart: the third argument of `range`, or what its numbers are multiplied with. */
function rowLength(
  range: SyntaxNode,
  name: string,
  start: SyntaxNode,
  written: (node: SyntaxNode) => string,
): SyntaxNode | undefined {
  const given = childIn(range, 'arguments')?.children ?? [];
  if (written(start) === name) return given[2];
  const [one, other] = start.type === 'binary_operator' && start.tokens[0] === '*' ? start.children : [];
  if (!one || !other || given.length !== 1) return undefined;
  return written(one) === name ? other : written(other) === name ? one : undefined;
}

/** How many tokens less of a row are kept, 0 or 1; undefined where the row is not kept as it is. */
function keptLess(
  machine: Machine,
  cut: SyntaxNode,
  body: SyntaxNode,
  named: ReadonlyMap<string, SyntaxNode>,
): 0 | 1 | undefined {
  const name = [...named].find(([, value]) => value === cut)?.[0];
  const kept = every(body, 'call').flatMap((call) => {
    const method = childIn(call, 'function');
    return method?.type === 'attribute' && /\.append$/.test(machine.textOf(method))
      ? (childIn(call, 'arguments')?.children ?? [])
      : [];
  });
  const texts = [...kept, ...every(body, 'yield').flatMap(({ children }) => children)].map((one) =>
    machine.textOf(one).replace(/\s/g, ''),
  );
  const row = name ?? machine.textOf(cut).replace(/\s/g, '');
  if (texts.includes(`${row}[:-1]`)) return 1;
  return texts.includes(row) ? 0 : undefined;
}
