import type { Lines } from '../lines';
import { evaluate } from './expressions';
import { Machine } from './machine';
import { execute } from './statements';
import type { SyntaxNode } from './syntax-node';
import type { PyProgram } from './value';

/** Follows a module from its first statement to its last, without running anything. Never throws on a user's text. */
export function followProgram(root: SyntaxNode, lines: Lines): PyProgram {
  const machine = new Machine(lines, evaluate, execute);
  machine.execute(machine, root);
  const { calls, assignments, attributes, modules, classes, environment, truncated } = machine;
  return { calls, assignments, attributes, modules, classes, environment, truncated };
}
