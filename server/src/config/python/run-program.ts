import { pathOfUri } from '../../text/uri';
import type { Lines } from '../lines';
import type { ConfigDocument, ConfigNode, MapNode } from '../node';
import { commandWords, flagsAsArguments } from './command-line';
import { DataFiles } from './data-files';
import { environmentMagics } from './environment-magics';
import { evaluate } from './expressions';
import { fillsSamples } from './filled-samples';
import { importsIn, wordsIn } from './imports';
import { type ArgumentsOf, Machine } from './machine';
import { madeSmaller } from './made-smaller';
import { LoadedModules } from './modules';
import { ownCopies } from './own-copies';
import { execute } from './statements';
import type { SyntaxNode } from './syntax-node';
import type { PyArgument, PyModule, PyProgram } from './value';

/** What lies around a program in its workspace. */
export interface ProgramSurroundings {
  /** Modules that it imports, by the names that it imports them with. */
  readonly imports?: ReadonlyMap<string, PyModule>;
  /** Files of data that it loads, by their requests. */
  readonly data?: ReadonlyMap<string, ConfigDocument>;
  /** What the command that starts it gives: flags by their names with underscores, other words under `COMMAND_WORDS`. */
  readonly command?: MapNode;
  /** The arguments of a class of a library, by its name; undefined where they are not known. */
  readonly argumentsOf?: ArgumentsOf;
  /** Its path, as `__file__` gives it. */
  readonly file?: string;
  /** Files that cells of a notebook write, by their paths: `%%writefile ds.json`. */
  readonly cells?: ReadonlyMap<string, ConfigNode | undefined>;
}

/**
 * Follows a module from its first statement to its last, without running anything, with what it imports and loads of the
 * workspace. Never throws on a user's text.
 */
export function followProgram(
  root: SyntaxNode,
  lines: Lines,
  { imports = new Map(), data: known, file, command, cells, argumentsOf }: ProgramSurroundings = {},
): PyProgram {
  const data = new DataFiles(known, cells);
  const loaded = new LoadedModules((module, others, environment) =>
    followModule(module, others, environment, data),
  );
  const context = { lines, imports, namespaces: new Map(), file };
  const machine = new Machine(context, evaluate, execute, { loaded, data, command, argumentsOf });
  machine.environment.push(...environmentMagics(lines));
  machine.execute(machine, root);
  const { calls, assignments, casts, attributes, modules, classes, environment, truncated, released } =
    machine;
  return {
    calls,
    assignments,
    casts,
    attributes,
    released,
    modules,
    classes,
    environment,
    truncated,
    ...(machine.asks ? { asks: true } : {}),
    imports: importsIn(root, lines),
    words: () => wordsIn(root, lines),
    fillsSamples: () => fillsSamples(lines.text),
    madeSmaller: () => madeSmaller(lines),
    ownCopies: () => ownCopies(lines),
    taken: [...loaded.used, ...data.used],
    wanted: [...data.wanted.values()],
    written: data.written,
    ...(command
      ? { isLaunched: true, command: { flags: flagsAsArguments(machine), words: commandWords(command) } }
      : {}),
    bound: machine.scope.values,
  };
}

/** Follows an imported module. Variables of the environment are one for all. */
function followModule(
  { uri, tree, lines, imports }: PyModule,
  loaded: LoadedModules,
  environment: PyArgument[],
  data: DataFiles,
): Machine {
  const file = pathOfUri(uri);
  const context = { lines, imports, namespaces: new Map(), file, uri };
  const machine = new Machine(context, evaluate, execute, { loaded, data });
  machine.environment.push(...environment);
  machine.execute(machine, tree);
  environment.push(
    ...machine.environment.slice(environment.length).filter(({ value }) => value.kind === 'scalar'),
  );
  return machine;
}
