import type { Problem } from '../../text/problem';
import { say } from '../../wording/say';
import type { Lines } from '../lines';
import { entryOf } from '../lookup';
import type { ConfigNode, MapEntry } from '../node';
import type { SyntaxReading } from '../syntax-reading';
import { WITH_METADATA } from './command-line';
import { parsePython } from './grammar';
import { type Install, installsIn, withoutMagics } from './magics';
import { settingsOf } from './module-settings';
import { nodeOf } from './node-of-value';
import { followProgram, type ProgramSurroundings } from './run-program';
import { brokenIn } from './syntax-node';
import type { PyCall, PyProgram } from './value';
import { writtenCells } from './written-cells';

/** A Python text read: its calls as blocks of their arguments, and what is known of the program. */
export interface PythonReading extends SyntaxReading {
  readonly program?: PyProgram;
  readonly installs: readonly Install[];
}

/**
 * Reads a script. `root` is a block for each call that is noted, named as in the text (`SFTConfig`, then `SFTConfig 2`), with
 * its named arguments as keys; values of modules and files of the workspace have places in those. Of a config of mmengine its own names are
 * the keys. Null where the grammar is not loaded.
 */
export function readPython(
  lines: Lines,
  found: readonly Install[] = installsIn(lines.text, lines),
  around?: ProgramSurroundings,
): PythonReading {
  const { text } = lines;
  // Started by `python`, a script finds what is there, whatever its metadata name.
  const isThere = !around?.command || entryOf(around.command, WITH_METADATA) !== undefined;
  const installs = isThere ? found : found.filter(({ needed }) => !needed);
  const tree = parsePython(withoutMagics(text));
  if (!tree) return { root: null, problems: [], relaxedJson: false, installs };
  const program = followProgram(tree, lines, { ...around, cells: writtenCells(text) });
  const broken = brokenIn(tree);
  const problems: Problem[] = broken
    ? [
        {
          code: 'python-syntax',
          severity: 'hint',
          message: say('This is no Python as Oomlint knows it: what stands here is not read.'),
          range: lines.range(broken.start, Math.min(broken.end, broken.start + 200)),
        },
      ]
    : [];
  const settings = settingsOf(program);
  if (settings) {
    const root: ConfigNode = { kind: 'map', entries: settings, range: lines.range(0, text.length) };
    return { root, problems, relaxedJson: false, program, installs };
  }
  // Calls of functions of other modules stand in those.
  const own = program.calls.filter(({ calleeRange }) => calleeRange.uri === undefined);
  const entries = own.flatMap((call): MapEntry[] => {
    const value = argumentsOf(call);
    return value ? [{ key: callNames(program).get(call.id) ?? '', keyRange: call.calleeRange, value }] : [];
  });
  const root: ConfigNode = { kind: 'map', entries, range: lines.range(0, text.length) };
  return { root, problems, relaxedJson: false, program, installs };
}

/** Functions and methods that train, by the last part of their names. */
export const TRAINS = /^(?:backward|fit|grad|value_and_grad|setup|train)$/;

/** The named arguments of a call as a block; values that are not known stand there as they are written. */
function argumentsOf(call: PyCall): ConfigNode | undefined {
  const last = call.callee.split('.').at(-1) ?? '';
  if (call.named.length === 0 && !/[A-Z]/.test(call.callee) && !TRAINS.test(last)) return undefined;
  const entries = call.named.map(({ key, keyRange, value, used }) => ({
    key,
    keyRange,
    value: nodeOf(value, { used }),
  }));
  return { kind: 'map', entries, range: call.argumentsRange };
}

const names = new WeakMap<PyProgram, ReadonlyMap<number, string>>();

/** What the blocks of calls are called, by the call: the last part of the name, counted from the second on. */
export function callNames(program: PyProgram): ReadonlyMap<number, string> {
  const known = names.get(program);
  if (known) return known;
  const counts = new Map<string, number>();
  const made = new Map(
    program.calls.map(({ id, callee, calleeRange: { uri } }): [number, string] => {
      const last = callee.split('.').at(-1) ?? callee;
      const plain = uri === undefined ? last : `${last} (${uri.slice(uri.lastIndexOf('/') + 1)})`;
      const count = (counts.get(plain) ?? 0) + 1;
      counts.set(plain, count);
      return [id, count === 1 ? plain : `${plain} ${count}`];
    }),
  );
  names.set(program, made);
  return made;
}
