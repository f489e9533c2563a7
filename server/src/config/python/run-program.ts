import type { Lines } from '../lines';
import { evaluate } from './expressions';
import { importsIn } from './imports';
import { Machine } from './machine';
import { LoadedModules, type PyModule } from './modules';
import { execute } from './statements';
import type { SyntaxNode } from './syntax-node';
import type { PyArgument, PyProgram } from './value';

/**
 * Follows a module from its first statement to its last, without running anything, with those of the workspace that it imports
 * (by the names that it imports them with). Never throws on a user's text.
 */
export function followProgram(
  root: SyntaxNode,
  lines: Lines,
  imports: ReadonlyMap<string, PyModule> = new Map(),
): PyProgram {
  const loaded = new LoadedModules(followModule);
  const machine = new Machine(lines, evaluate, execute, { imports, loaded });
  machine.execute(machine, root);
  const { calls, assignments, attributes, modules, classes, environment, truncated } = machine;
  return {
    calls,
    assignments,
    attributes,
    modules,
    classes,
    environment,
    truncated,
    imports: importsIn(root, lines),
    taken: [...loaded.used],
  };
}

/** Follows an imported module. Variables of the environment are one for all. */
function followModule(
  { uri, tree, lines, imports }: PyModule,
  loaded: LoadedModules,
  environment: PyArgument[],
): Machine {
  const machine = new Machine(lines, evaluate, execute, { imports, loaded, uri });
  machine.environment.push(...environment);
  machine.execute(machine, tree);
  environment.push(
    ...machine.environment.slice(environment.length).filter(({ value }) => value.kind === 'scalar'),
  );
  return machine;
}
