import { isSettled, type PlacedText, splitBy, splitOnce, textOfPieces } from './placed-text';
import type { SlurmOption } from './slurm-options';

/** Where another script of the shell is looked for. */
export interface ScriptRun {
  /** Address of the script that runs it; empty where that is the one at hand. */
  readonly from: string;
  /** Folders that were entered before. */
  readonly entered: readonly string[];
  /** What stands before the path and is not known: `$(dirname "$0")`. */
  readonly lead?: string;
  readonly path: string;
  /** The shell itself reads it (`source`): what it sets stays. */
  readonly takenIn?: true;
}

/** Another script of the shell that is here. Its text has places of its own: they begin behind those of all others. */
export interface ScriptAtHand {
  readonly uri: string;
  readonly text: PlacedText;
}

/** Those that are here, by `keyOfRun`. */
export type ScriptsAtHand = ReadonlyMap<string, ScriptAtHand>;

export const keyOfRun = ({ from, entered, lead = '', path, takenIn }: ScriptRun): string =>
  JSON.stringify([from, entered, lead, path, takenIn === true]);

/** A command that runs another script of the shell. */
export interface ScriptCall {
  readonly path: PlacedText;
  /** Words before it: `srun` and its flags. */
  readonly prefix: readonly PlacedText[];
  readonly args: readonly PlacedText[];
  /** From which argument on there may be any number of them; undefined where all are there. */
  readonly openFrom?: number;
  /** Slurm starts it, and reads the options in its comments. */
  readonly batch: boolean;
}

const SHELL = /^(?:ba|z|da|k)?sh$/;
/** What starts another command with the variables of this shell. */
const STARTS = /^(?:srun|sbatch|nohup|setsid|timeout|nice|ionice|stdbuf|taskset|numactl|time)$/;
const SCRIPT = /\.(?:(?:ba|z|k)?sh|slurm|sbatch)$/;

const nameOf = (text: string) => text.split('/').at(-1) ?? text;

/** The place of the script among the words of a command that runs one, and whether Slurm starts it: `bash -x scripts/train.sh`, `sbatch -N 2 train.slurm`. */
function scriptIn(
  words: readonly PlacedText[],
): { readonly at: number; readonly first: number; readonly batch: boolean } | undefined {
  const texts = words.map(textOfPieces);
  let at = 0;
  let batch = false;
  while (STARTS.test(nameOf(texts[at] ?? ''))) {
    batch ||= nameOf(texts[at] ?? '') === 'sbatch';
    const next = texts.findIndex(
      (text, i) => i > at && (SHELL.test(nameOf(text)) || SCRIPT.test(text) || STARTS.test(nameOf(text))),
    );
    if (next < 0) return undefined;
    at = next;
  }
  const first = at;
  if (SHELL.test(nameOf(texts[at] ?? ''))) {
    at++;
    while (/^[-+]/.test(texts[at] ?? '')) {
      if (/^-\w*[cs]$/.test(texts[at] ?? '')) return undefined;
      at += /^[-+]\w*[oO]$|^--(?:rc|init-)file$/.test(texts[at] ?? '') ? 2 : 1;
    }
  }
  return SCRIPT.test(texts[at] ?? '') ? { at, first, batch } : undefined;
}

/** The script that a command runs, whatever it is given. */
export function shellScriptOf(words: readonly PlacedText[]): PlacedText | undefined {
  const found = scriptIn(words);
  return found && words[found.at];
}

/** A command that runs another script; undefined for other commands, and where what a command prints is among the arguments. */
export function scriptCall(words: readonly PlacedText[]): ScriptCall | undefined {
  const found = scriptIn(words);
  const path = found && words[found.at];
  const args = words.slice((found?.at ?? 0) + 1);
  if (!path || args.some(isAnyWords)) return undefined;
  const open = args.findIndex(isAnyArguments);
  const { first, batch } = found;
  return { path, prefix: words.slice(0, first), args, batch, ...(open < 0 ? {} : { openFrom: open }) };
}

/** What a command prints, which may be any number of words. */
const isAnyWords = (word: PlacedText): boolean =>
  word.some(({ opaque, splits, unset, used }) => opaque && splits && !unset && !used);

/** Variables that hold any number of words, as people name them. */
const MANY = /^\$\{?\w*(?:ARGS?|ARGUMENTS|FLAGS|OPTS?|OPTIONS|OVERRIDES|PARAMS|EXTRAS?)\}?$/i;

/** `"$@"`, `"${ARGS[@]}"`, `$EXTRA_ARGS`: any number of arguments, or none. */
function isAnyArguments(word: PlacedText): boolean {
  const written = word.filter(({ text }) => text !== '');
  const [only] = written;
  if (written.length !== 1 || !only?.opaque) return false;
  return (
    /^\$(?:[@*]$|\{[@*]|\{\w+\[[@*]\])/.test(only.text) || (only.splits === true && MANY.test(only.text))
  );
}

/** The path of a script and what of it is not known; undefined where that is more than its beginning, or a condition decides which script it is. */
export function pathOfCall({ path }: Pick<ScriptCall, 'path'>): Pick<ScriptRun, 'lead' | 'path'> | undefined {
  const written = path.filter(({ text }) => text !== '');
  if (written.some(({ guessed }) => guessed)) return undefined;
  const [first, ...rest] = written;
  if (!first?.opaque) return isSettled(written) ? { path: textOfPieces(written) } : undefined;
  const tail = textOfPieces(rest);
  return isSettled(rest) && tail.startsWith('/') ? { lead: first.text, path: tail.slice(1) } : undefined;
}

/** Options on the command line of `sbatch`, which go before those in the comments of the script. */
export function optionsOfSbatch(words: readonly PlacedText[]): SlurmOption[] {
  const found: SlurmOption[] = [];
  for (const [i, word] of words.entries()) {
    const text = textOfPieces(word);
    if (!/^--?[A-Za-z]/.test(text)) continue;
    const split = splitOnce(word, '=');
    const next = words[i + 1];
    if (split) found.push({ flag: split.before, value: split.after });
    else if (next && !/^-/.test(textOfPieces(next))) found.push({ flag: word, value: next });
    else found.push({ flag: word });
  }
  return found;
}

/** Variables that are looked at of one `--export`. */
const MOST_EXPORTS = 1000;

/** Variables that `sbatch --export` names, and whether those of this shell go with them. */
export function exportsOf(options: readonly SlurmOption[]): {
  readonly all: boolean;
  readonly given: ReadonlyMap<string, PlacedText>;
} {
  const value = options.find(({ flag }) => textOfPieces(flag) === '--export')?.value;
  const given = new Map<string, PlacedText>();
  if (!value) return { all: true, given };
  let all = false;
  for (const item of splitBy(value, ',', MOST_EXPORTS)) {
    const split = splitOnce(item, '=');
    if (split) given.set(textOfPieces(split.before), split.after);
    else all ||= textOfPieces(item) === 'ALL';
  }
  return { all, given };
}
