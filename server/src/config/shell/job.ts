import type { CommandNode, CompoundList } from 'unbash';
import type { Outcome } from './condition';
import type { PlacedText, TextStretch } from './placed-text';
import type { ScriptRun, ScriptsAtHand } from './run-script';
import type { ScriptSource } from './script-source';
import type { SlurmOption } from './slurm-options';

/** A command as it would run, as far as the script itself states. */
export interface ShellCommand {
  /** Program and arguments after expansion. */
  readonly words: readonly PlacedText[];
  /** Variables that it sees: those that were exported before it in the script, and its own. */
  readonly environment: ReadonlyMap<string, PlacedText>;
  readonly start: number;
  readonly end: number;
  /** It stands in a branch that a plain start of the script does not take, as far as the script states. */
  readonly open: boolean;
  /** Conditions that the script does not settle and that decide about its words. */
  readonly guesses: readonly TextStretch[];
  /** The command of the script at hand that runs the other script in which it stands. */
  readonly call?: TextStretch;
  /** Options of Slurm for that other script, where they are not those of the script at hand. */
  readonly options?: readonly SlurmOption[];
}

export interface ShellReading {
  readonly commands: readonly ShellCommand[];
  /** Files that the script writes from a here-document, by the path as expanded. */
  readonly files: ReadonlyMap<string, PlacedText>;
  /** Files that its commands write: `sed ... template.json > ds.json`. What stands in them is not known here. */
  readonly made: ReadonlySet<string>;
  /** Options of Slurm in comments, those of scripts that it hands to `sbatch` behind its own. */
  readonly options: readonly SlurmOption[];
  /** How many ways a condition has that the script does not settle, and which of them was taken; by where it stands. */
  readonly forks: ReadonlyMap<number, Fork>;
  readonly errors: readonly { readonly message: string; readonly offset: number }[];
  /** Other scripts that it runs, wherever they are, by `keyOfRun`. */
  readonly runs: ReadonlyMap<string, ScriptRun>;
  /** Expansions became too many to follow: the script was left there. */
  readonly overgrown: boolean;
}

/** Scripts nest and grow by expansion: beyond this they are attacks. */
export const MOST_COMMANDS = 2_000;
export const MOST_WORDS = 5_000;
export const MOST_STEPS = 20_000;
export const MOST_ROUNDS = 300;
export const DEEPEST = 12;
/** Scripts that run each other. */
export const DEEPEST_SCRIPTS = 4;

export interface ShellFunction {
  readonly body: Exclude<CommandNode, { type: 'Command' }> | CompoundList;
  readonly source: ScriptSource;
  called: boolean;
  /** It stands in a file that was taken in. */
  takenIn?: true;
}

/** What one reading of a script gathers, whatever shell within it a command stands in. */
export interface Job {
  readonly commands: ShellCommand[];
  readonly files: Map<string, PlacedText>;
  readonly made: Set<string>;
  readonly options: SlurmOption[];
  readonly functions: Map<string, ShellFunction>;
  readonly forks: Map<number, Fork>;
  /** A condition at which another way is taken than the likely one. */
  readonly turn?: TakenWay;
  /** Files among `files` that are run. */
  readonly started: Set<string>;
  /** Other scripts that are here. */
  readonly scripts: ScriptsAtHand;
  /** Those that are run. */
  readonly runs: Map<string, ScriptRun>;
  steps: number;
}

/** A condition that the script does not settle. */
interface Fork {
  readonly ways: number;
  readonly taken: number;
}

/** Which way is taken at a condition, by where it stands in the script. */
export interface TakenWay {
  readonly at: number;
  readonly way: number;
}

/** How a list of commands ended. */
export type ListEnd = 'exit' | 'return' | 'break' | 'continue' | undefined;

/** One of the ways that a script may go. */
export interface Branch {
  readonly outcome: Outcome;
  /** Undefined where nothing is done: an `if` without `else`. */
  readonly body?: () => ListEnd;
}
