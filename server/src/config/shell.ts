import type { Range } from '../text/place';
import type { Problem } from '../text/problem';
import { say } from '../wording/say';
import { libraryMessage } from './library-messages';
import type { Lines } from './lines';
import type { ConfigNode, MapEntry, MapNode, ScalarNode } from './node';
import { SyntaxProblems } from './problems';
import { resolvePlain } from './pyyaml';
import { evaluateShell } from './shell/evaluate';
import type { ShellCommand, ShellReading } from './shell/job';
import { asksForMachines } from './shell/machine-words';
import { packageRun } from './shell/package-runners';
import { type PlacedText, placeOfPieces, splitOnce, textOfPieces, useOfPieces } from './shell/placed-text';
import { type ScriptsAtHand, shellScriptOf } from './shell/run-script';
import { scriptHost } from './shell/script-hosts';
import { ScriptSource } from './shell/script-source';
import type { SlurmOption } from './shell/slurm-options';
import { readWrittenConfig } from './shell/written-config';
import type { SyntaxReading } from './syntax-reading';

/**
 * Reads a shell script as the commands that it would run. The root is a mapping:
 *
 * - `commands`: a list of mappings with `submitter` (words of `srun` and its like), `wrapper` (their flags), `program` (words before the first flag), `launcher` (flags before the Python
 *   script or module, where there is one), `script`, `arguments` (flags behind it, dashes within names as underscores),
 *   `words` (what belongs to no flag) and `environment` (variables that the command sees);
 * - `made`: paths of files that other commands write (`sed ... > ds.json`);
 * - `sbatch`: options of Slurm in the comments at the top;
 * - `files`: texts that the script writes from here-documents, by path; JSON and YAML among them are read.
 *
 * `script` is what a shell is given of the text, where that is not all of it.
 *
 * What another script runs that is followed has `call`, the place of the command that leads there, and `sbatch`, the options of
 * Slurm that count for it.
 *
 * A command that runs another script of the shell has it as `shellScript`.
 *
 * Values lie where they were written: a flag that takes a variable lies where the variable is set (`used` is the variable).
 * Under Slurm the script finds the variables set that follow from its `#SBATCH` lines.
 */
export function readShell(
  lines: Lines,
  script = ScriptSource.ofScript(lines.text),
  scripts?: ScriptsAtHand,
): SyntaxReading {
  const problems = new SyntaxProblems();
  const reading = evaluateShell(script, undefined, scripts);
  const { commands, files, made, options, forks, errors, overgrown } = reading;
  for (const { message, offset } of errors) {
    const range = lines.lineRange(lines.position(offset).line);
    const textOf = (place: Range) => lines.text.slice(lines.offset(place.start), lines.offset(place.end));
    // Behind a continued line, what misses is found missing a line later.
    const before = range.start.line > 0 ? lines.lineRange(range.start.line - 1) : undefined;
    const places = before && /\\$/.test(textOf(before)) ? [range, before] : [range];
    const unfinished = places.flatMap((place) => {
      const word = PLACEHOLDER.exec(textOf(place))?.[0];
      return word === undefined ? [] : [unfilled(word, place)];
    })[0];
    if (unfinished) problems.add(unfinished);
    else problems.syntax(libraryMessage(message), range);
  }
  if (overgrown) {
    problems.add({
      code: 'too-large',
      severity: 'warning',
      message: say(
        'The variables of this script expand to more than Oomlint follows: what stands behind is not read.',
      ),
      range: lines.lineRange(0),
    });
  }
  return {
    root: rootOf(lines, { commands, files, made, options }),
    problems: problems.list,
    relaxedJson: false,
    ...(forks.size > 0 ? { otherWays: otherWaysOf(lines, script, forks, scripts) } : {}),
    ...(reading.runs.size > 0 ? { runs: [...reading.runs.values()] } : {}),
  };
}

/** What the script is where it goes another way at a condition, as trees. */
function otherWaysOf(
  lines: Lines,
  script: ScriptSource,
  forks: ShellReading['forks'],
  scripts: ScriptsAtHand | undefined,
): NonNullable<SyntaxReading['otherWays']> {
  return (condition) => {
    const at = lines.offsetOf(condition);
    const fork = forks.get(at);
    if (!fork) return [];
    const ways = Array.from({ length: fork.ways }, (_, way) => way).filter((way) => way !== fork.taken);
    return ways.slice(0, MOST_WAYS).map((way) => rootOf(lines, evaluateShell(script, { at, way }, scripts)));
  };
}

/** Other ways that are gone at one condition: a `case` of a hundred models is not walked through. */
const MOST_WAYS = 4;

function rootOf(
  lines: Lines,
  { commands, files, made, options }: Pick<ShellReading, 'commands' | 'files' | 'made' | 'options'>,
): MapNode {
  const builder = new Builder(lines);
  const whole = lines.whole();
  return {
    kind: 'map',
    range: whole,
    entries: [
      entry('commands', whole, {
        kind: 'list',
        range: whole,
        items: commands.filter(({ words }) => words.length > 0).map((command) => builder.command(command)),
      }),
      entry('sbatch', whole, builder.sbatch(options)),
      entry('files', whole, {
        kind: 'map',
        range: whole,
        entries: [...files].map(([path, text]) => builder.file(path, text)),
      }),
      entry('made', whole, {
        kind: 'list',
        range: whole,
        items: [...made].map((path) => ({
          kind: 'scalar',
          range: whole,
          value: path,
          text: path,
          quoted: false,
        })),
      }),
    ],
  };
}

/** `<your_path>`: a place that the person fills in. */
const PLACEHOLDER = /<[A-Za-z][\w ./:-]*>/;

function unfilled(placeholder: string, range: Range): Problem {
  return {
    code: 'placeholder',
    severity: 'warning',
    message: say(
      '`{0}` is still to be filled in: a shell takes `<` and `>` for redirections, and stops here.',
      placeholder,
    ),
    range,
  };
}

function entry(key: string, keyRange: Range, value: ConfigNode): MapEntry {
  return { key, keyRange, value };
}

interface Word {
  readonly pieces: PlacedText;
  readonly text: string;
  /** Offsets of the use. */
  readonly start: number;
  readonly end: number;
}

/** A word that opens a flag; negative numbers are values. */
const FLAG = /^--?[A-Za-z_]/;
const OVERRIDE = /^\+{0,2}~?[A-Za-z_][\w.@/-]*=/;
/** Flags of launchers take one value: what follows is the recipe or the script. */
const SINGLE =
  /^(nproc_per_node|nnodes|node_rank|num_processes|num_machines|num_gpus|num_nodes|master_port|master_addr|rdzv_\w+|max_restarts)$/;
const PYTHON = /\.py$/;
/** Flags that name what runs: the launcher's own flags end here. */
const MODULE = /^(-m|--module)$/;

/** Programs that start training; what stands before them (`srun`, `nohup`, `env`) starts them. */
const STARTER =
  /^(?:.*\/)?(?:python[\d.]*|torchrun|deepspeed|accelerate|llamafactory-cli|axolotl|swift|megatron|tune|trl|litgpt|composer|xtuner|deepy\.py)$/;

class Builder {
  private readonly lines: Lines;

  constructor(lines: Lines) {
    this.lines = lines;
  }

  command(command: ShellCommand): MapNode {
    const all = withoutHosts(
      command.words.map((pieces): Word => {
        const place = placeOfPieces(pieces, command);
        return { pieces, text: textOfPieces(pieces), ...place };
      }),
    );
    const { start, end } = command.call ?? command;
    const range = this.lines.range(start, end);
    const run = packageRun(all.map(({ text }) => text));
    const starts = startOf(all, run?.target);
    const isPython = run !== undefined && (run.isScript || run.isModule);
    const runner = run && all[run.at];
    const submitter = all.slice(
      0,
      isPython && run ? run.target - (run.isModule ? 1 : 0) : Math.max(0, starts),
    );
    const texts = submitter.map(({ text }) => text);
    const wrapper = this.flags(
      submitter.filter((_, i) => asksForMachines(texts, i)),
      range,
    );
    // What starts the script stands where it is run.
    const python = isPython && runner ? [pythonAt(runner)] : [];
    const words = [...python, ...all.slice(submitter.length)];
    const script = scriptOf(words);
    const program = words.slice(0, firstFlag(words, script ?? words.length));
    const launcher = words.slice(program.length, script ?? program.length);
    const rest = words.slice(script === undefined ? program.length : script + 1);
    const before = this.flags(launcher, range);
    const after = this.flags(rest, range);
    const entries = [
      entry('wrapper', range, wrapper.flags),
      entry('submitter', range, { kind: 'list', range, items: submitter.map((word) => this.scalar(word)) }),
      entry('program', range, { kind: 'list', range, items: program.map((word) => this.scalar(word)) }),
      entry('launcher', range, before.flags),
      entry('arguments', range, after.flags),
      entry('words', range, {
        kind: 'list',
        range,
        items: [...before.loose, ...after.loose].map((word) => this.scalar(word)),
      }),
      entry('environment', range, this.environment(command.environment, range)),
      entry('guesses', range, { kind: 'list', range, items: this.guesses(command) }),
      entry('open', range, { kind: 'scalar', range, value: command.open, text: '', quoted: false }),
    ];
    if (run?.isScript)
      entries.push(
        entry('readsMetadata', range, { kind: 'scalar', range, value: true, text: '', quoted: false }),
      );
    if (command.call)
      entries.push(
        entry('call', range, { kind: 'scalar', range, value: true, text: '', quoted: false }),
        entry('sbatch', range, this.sbatch(command.options ?? [])),
      );
    const named = script === undefined ? undefined : words[script];
    if (named) entries.push(entry('script', this.range(named), this.scalar(named)));
    const shell = named ? undefined : shellScriptOf(command.words);
    if (shell) {
      const place = placeOfPieces(shell, command);
      const value = this.scalar({ pieces: shell, text: textOfPieces(shell), ...place });
      entries.push(entry('shellScript', value.range, value));
    }
    return { kind: 'map', range, entries };
  }

  /** `--key value`, `--key=value`, `--key a b c`, `--key` and `key=value`, with what belongs to none of them. */
  private flags(words: readonly Word[], range: Range): { flags: MapNode; loose: Word[] } {
    const entries = new Map<string, MapEntry>();
    const loose: Word[] = [];
    for (let i = 0; i < words.length; i++) {
      const word = words[i];
      if (!word || word.text === '--') continue;
      if (!FLAG.test(word.text)) {
        if (OVERRIDE.test(word.text)) this.put(entries, word, splitOnce(word.pieces, '='));
        else loose.push(word);
        continue;
      }
      const split = word.text.includes('=') ? splitOnce(word.pieces, '=') : undefined;
      if (split) {
        this.put(entries, word, split);
        continue;
      }
      const values: Word[] = [];
      const most = SINGLE.test(keyOf(word.text)) ? 1 : Number.POSITIVE_INFINITY;
      while (i + 1 < words.length && values.length < most) {
        const next = words[i + 1];
        if (
          !next ||
          next.text === '--' ||
          FLAG.test(next.text) ||
          (values.length > 0 && (OVERRIDE.test(next.text) || mayBeFlags(next)))
        )
          break;
        values.push(next);
        i++;
      }
      const [only] = values;
      const keyRange = this.range(word);
      const value: ConfigNode =
        values.length === 0
          ? {
              kind: 'scalar',
              range: keyRange,
              value: true,
              text: 'true',
              quoted: false,
              ...this.guess(word.pieces),
            }
          : values.length === 1 && only
            ? this.scalar(only)
            : { kind: 'list', range: this.span(values), items: values.map((each) => this.scalar(each)) };
      const key = keyOf(word.text);
      // The module that a launcher starts is the script: its `-m` is left without a value, behind that of the launcher.
      if (values.length === 0 && MODULE.test(word.text) && entries.has(key)) continue;
      entries.delete(key);
      entries.set(key, entry(key, keyRange, value));
    }
    return { flags: { kind: 'map', range, entries: [...entries.values()] }, loose };
  }

  private put(
    entries: Map<string, MapEntry>,
    word: Word,
    split: { readonly before: PlacedText; readonly after: PlacedText } | undefined,
  ): void {
    if (!split) return;
    const key = keyOf(textOfPieces(split.before));
    const before = placeOfPieces(split.before, word);
    const after = placeOfPieces(split.after, word);
    const value = this.scalar({ pieces: split.after, text: textOfPieces(split.after), ...after });
    entries.delete(key);
    entries.set(key, entry(key, this.lines.range(before.start, before.end), value));
  }

  private environment(variables: ReadonlyMap<string, PlacedText>, range: Range): MapNode {
    const entries = [...variables].flatMap(([name, pieces]) => {
      const [first] = pieces;
      if (!first) return [];
      const place = placeOfPieces(pieces, first);
      const value = this.scalar({ pieces, text: textOfPieces(pieces), ...place });
      return [entry(name, value.range, value)];
    });
    return { kind: 'map', range, entries };
  }

  /** `#SBATCH --gres=gpu:8`, `#SBATCH -N 4`. */
  sbatch(options: readonly SlurmOption[]): MapNode {
    const entries = new Map<string, MapEntry>();
    for (const { flag, value } of options) {
      const key = keyOf(textOfPieces(flag));
      const place = placeOfPieces(flag, { start: 0, end: 0 });
      const keyRange = this.range(place);
      const text = value ? textOfPieces(value) : 'true';
      const at = value ? placeOfPieces(value, place) : { start: place.end, end: place.end };
      const pieces = value ?? [{ text, ...at, exact: false }];
      entries.delete(key);
      entries.set(key, entry(key, keyRange, this.scalar({ pieces, text, ...at })));
    }
    return { kind: 'map', range: this.lines.range(0, 0), entries: [...entries.values()] };
  }

  file(path: string, pieces: PlacedText): MapEntry {
    const [first] = pieces;
    const last = pieces.at(-1);
    const range = this.lines.range(first?.start ?? 0, last?.end ?? 0);
    const text = textOfPieces(pieces);
    const read = readWrittenConfig(path, pieces, this.lines);
    return entry(path, range, read ?? { kind: 'scalar', range, value: text, text, quoted: true });
  }

  /** Words are typed as PyYAML types them: frameworks parse their flags alike. Variables that are not known stay text. */
  private scalar(word: Word): ScalarNode {
    const { text, pieces } = word;
    // YAML reads `1:4` as minutes; no flag does.
    const value = /\$|^\d+:/.test(text) ? text : resolvePlain(text);
    const use = useOfPieces(pieces);
    const used = use && { used: this.lines.range(use.start, use.end) };
    const unknown = pieces.filter(({ opaque }) => opaque);
    const open =
      unknown.length > 0
        ? ({ open: unknown.every(({ unset }) => unset) ? 'unset' : 'unknown' } as const)
        : {};
    return {
      kind: 'scalar',
      range: this.range(word),
      value,
      text,
      quoted: false,
      ...used,
      ...open,
      ...this.guess(pieces),
    };
  }

  /** The conditions that decide about a command and that the script does not settle, as written. */
  private guesses({ guesses }: ShellCommand): ScalarNode[] {
    const places = new Map(guesses.map((at) => [at.start, at]));
    return [...places.values()].map(({ start, end }) => {
      const text = this.lines.text.slice(start, end).replace(/\s+/g, ' ').trim();
      return { kind: 'scalar', range: this.lines.range(start, end), value: text, text, quoted: false };
    });
  }

  private guess(pieces: PlacedText): { readonly guessed?: Range } {
    const at = pieces.find(({ guessed }) => guessed)?.guessed;
    return at ? { guessed: this.lines.range(at.start, at.end) } : {};
  }

  private range(place: { readonly start: number; readonly end: number }): Range {
    return this.lines.range(place.start, place.end);
  }

  private span(words: readonly Word[]): Range {
    return this.lines.range(
      Math.min(...words.map(({ start }) => start)),
      Math.max(...words.map(({ end }) => end)),
    );
  }
}

/** Python in the place of a word: it starts the script. */
function pythonAt({ start, end }: Word): Word {
  const text = 'python';
  return { start, end, text, pieces: [{ text, start, end, exact: false }] };
}

/** The words as they are without the programs that run the script in their own process: `python -m pdb train.py` runs `train.py`. */
function withoutHosts(words: readonly Word[]): readonly Word[] {
  const launcher = words.findIndex(({ text }) => /(?:^|\/)(?:torchrun|accelerate|deepspeed)$/.test(text));
  const before = words.findLastIndex(({ text }, i) => i < launcher && !/^-[a-zA-Z]$/.test(text));
  // A launcher is a file of Python, too: `python $(which torchrun)`.
  if (
    /(?:^|\/)python[\d.]*$/.test(words[before]?.text ?? '') &&
    !words.slice(before, launcher).some(({ text }) => text === '-m')
  )
    return withoutHosts([...words.slice(0, before), ...words.slice(launcher)]);
  const host = scriptHost(words.map(({ text }) => text));
  const own = host && words[host.from];
  if (!host || !own) return words;
  const python = host.byModule || STARTER.test(words[host.to]?.text ?? '') ? [] : [pythonAt(own)];
  return withoutHosts([...words.slice(0, host.from), ...python, ...words.slice(host.to)]);
}

/** A word that is not known and may hold any flags: `$EXTRA_ARGS`, `"$@"`. */
function mayBeFlags({ pieces, text }: Word): boolean {
  const written = pieces.filter((piece) => piece.text !== '');
  const [only] = written;
  if (written.length !== 1 || !only?.opaque) return false;
  return only.splits === true || /^\$(?:[@*]|\{[@*]|\{\w+\[[@*]\])/.test(text);
}

/**
 * Index of the word that starts training. Behind `--`, a submitter gives what it runs (`ray job submit ... -- python3`);
 * launchers of their own give flags there.
 */
function startOf(words: readonly Word[], from = 0): number {
  const first = words.findIndex(({ text }, i) => i >= from && STARTER.test(text));
  const dashes = words.findIndex(({ text }, i) => text === '--' && i > first);
  if (first < 0 || dashes < 0) return first;
  const inner = words.findIndex(({ text }, i) => i > dashes && STARTER.test(text));
  return inner < 0 ? first : inner;
}

/** Index of the Python script, or of the module behind `-m`; undefined for tools that are programs themselves. */
function scriptOf(words: readonly Word[]): number | undefined {
  const index = words.findIndex(
    ({ text }, i) =>
      PYTHON.test(text) || (i > 0 && MODULE.test(words[i - 1]?.text ?? '') && !isLauncher(text)),
  );
  return index < 0 ? undefined : index;
}

/** `python -m torch.distributed.run` launches what follows. */
function isLauncher(module: string): boolean {
  return /^(torch\.distributed\.(run|launch)|accelerate\.commands\.launch|deepspeed\.launcher\.runner)$/.test(
    module,
  );
}

function firstFlag(words: readonly Word[], end: number): number {
  const index = words.findIndex(({ text }, i) => i > 0 && (FLAG.test(text) || OVERRIDE.test(text)));
  return Math.min(index < 0 ? words.length : index, end);
}

/** Name of a flag without its dashes; inner dashes are underscores, as argparse stores them. */
function keyOf(flag: string): string {
  return flag.replace(/^(--?|\+{1,2}|~)/, '').replaceAll('-', '_');
}
