import { type Command, type CommandExpansionPart, type ParsedScript, parse } from 'unbash';
import { sameFile } from '../plain-path';
import { valueOfExpr } from './arithmetic';
import { ShellBuiltins } from './builtins';
import { STARTED, SUCCESS, UNKNOWN } from './condition';
import { isSame } from './control-flow';
import { withBlanks } from './expand';
import { type InnerScript, innerScript } from './inner-script';
import {
  DEEPEST,
  DEEPEST_SCRIPTS,
  type Job,
  type ListEnd,
  MOST_STEPS,
  MOST_WORDS,
  type ShellFunction,
  type ShellReading,
  type TakenWay,
} from './job';
import { isSettled, type PlacedText, splitOnce, type TextStretch, textOfPieces } from './placed-text';
import { printedBy, withoutNewlines } from './printed-text';
import {
  exportsOf,
  keyOfRun,
  optionsOfSbatch,
  pathOfCall,
  type ScriptAtHand,
  type ScriptCall,
  type ScriptsAtHand,
  scriptCall,
} from './run-script';
import { Budget, guessed, ShellScope } from './scope';
import { ScriptSource } from './script-source';
import { type SlurmOption, slurmOptions, slurmVariables } from './slurm-options';

/**
 * Follows a script without running anything: variables, arrays, defaults, arithmetic, conditions whose outcome the script
 * itself settles, loops, functions, here-documents, and the scripts that it hands to `eval`, `bash -c`, `ssh` and `sbatch`. What
 * it cannot know (arguments of the script, output of commands) stays as written. Of branches whose condition is open, the one is
 * taken that a plain start of the script takes, else the first; what hangs on it is marked. `turn` takes another way at one of them.
 * Of `scripts`, those that it runs are followed with what they are given.
 */
export function evaluateShell(
  given: ScriptSource,
  turn?: TakenWay,
  scripts: ScriptsAtHand = new Map(),
): ShellReading {
  const script = given.asTyped();
  const tree = parse(script.text);
  const job: Job = {
    commands: [],
    files: new Map(),
    made: new Set(),
    options: slurmOptions(script),
    functions: new Map(),
    forks: new Map(),
    ...(turn ? { turn } : {}),
    started: new Set(),
    scripts,
    runs: new Map(),
    steps: 0,
  };
  const budget = new Budget();
  const scope = new ShellScope(new Map(), budget);
  for (const [name, text] of slurmVariables(job.options)) scope.put(name, { text, exported: true });
  const evaluator = new Evaluator(job, scope, script, [], 0);
  evaluator.run(tree.commands);
  evaluator.runUncalled();
  evaluator.runUnstarted();
  const errors = (tree.errors ?? []).map(({ message, pos }) => ({
    message,
    offset: script.offset(pos),
  }));
  const { commands, files, made, options, forks, runs } = job;
  return { commands, files, made, options, forks, errors, runs, overgrown: budget.exceeded };
}

/** Builtins that set variables. */
const DECLARING = /^(export|declare|local|readonly|typeset)$/;
/** Programs that start no training: what they are given is text or files to them. */
const STARTS_NOTHING =
  /^(echo|printf|cat|tee|grep|egrep|sed|awk|gawk|ls|cd|pushd|popd|mkdir|rmdir|rm|cp|mv|ln|touch|chmod|chown|tar|zip|unzip|git|pip|pip3|apt|apt-get|conda-env|wget|curl|kill|pkill|killall|ps|test|head|tail|diff|sort|uniq|wc|cut|tr|find|du|df|jq|bc|date|sleep|wait|trap|true|false|module|ml|ulimit|umask|set|unset|shift|shopt|alias|type|which|command|hash|nvidia-smi|hostname|scontrol|squeue|scancel|rsync|scp|gsutil|huggingface-cli|hf|wandb|logger|read|readarray|mapfile|basename|dirname|realpath|readlink|seq|return|exit|break|continue|source|\.|:|\[|let|getopts|declare|local|export|readonly|typeset|complete|disown|jobs|fg|bg|history|sync|mount|umount|vim|nano|less|more|file|stat|xxd|md5sum|sha256sum|pgrep|lsof|env-update|locale|tput|clear)$/;
/** Programs whose status is asked for, rather than expected to be a success. */
const PROBES = /^(grep|egrep|command|which|type|hash|pgrep|diff|cmp|nvidia-smi|mountpoint|nc|ping|read)$/;
/** Words before a command that leave it what it is. */
const TRANSPARENT = /^(exec|command|builtin|nohup|time|eval)$/;
/** `command -v torchrun` looks for a program, and starts none. */
const onlyLooks = ([first = [], second = []]: readonly PlacedText[]): boolean =>
  textOfPieces(first) === 'command' && /^-[vV]$/.test(textOfPieces(second));

/** Conditions that decide about words and that the script does not settle. */
function guessesIn(words: readonly PlacedText[]): TextStretch[] {
  const found: TextStretch[] = [];
  for (const word of words) for (const { guessed } of word) if (guessed) found.push(guessed);
  return found;
}

/** `hf jobs run IMAGE python train.py`, `hf jobs uv run train.py` */
const isJob = ([first = [], second = []]: readonly PlacedText[]): boolean =>
  /^(?:hf|huggingface-cli)$/.test(textOfPieces(first)) && textOfPieces(second) === 'jobs';

class Evaluator extends ShellBuiltins {
  /** Words before whatever this shell starts. */
  private readonly prefix: readonly PlacedText[];
  private readonly depth: number;
  /** Conditions that decide about the script that this shell was given. */
  private around: readonly TextStretch[] = [];
  /** Addresses of the scripts that run each other down to this one; none in the script at hand. */
  private trail: readonly string[] = [];
  /** The command of the script at hand that leads here. */
  private calledAt: TextStretch | undefined;
  /** Options of Slurm for this script, where it is another than the one at hand. */
  private options: readonly SlurmOption[] | undefined;
  /** It runs on another machine or in a container, whose files are others. */
  private isRemote = false;

  constructor(
    job: Job,
    scope: ShellScope,
    source: ScriptSource,
    prefix: readonly PlacedText[],
    depth: number,
    open = 0,
  ) {
    super(job, scope, source, open);
    this.prefix = prefix;
    this.depth = depth;
  }

  /** Functions that the script never calls: what they start is what the script is for. */
  runUncalled(): void {
    for (const each of [...this.job.functions.values()]) {
      // A file that is taken in holds functions for whoever calls them.
      if (each.called || each.takenIn) continue;
      each.called = true;
      this.open++;
      this.within(each.source, () => this.body(each.body));
      this.open--;
    }
  }

  /** Scripts that it writes to files, for someone else to start. */
  runUnstarted(): void {
    for (const [path, text] of [...this.job.files]) {
      if (this.job.started.has(path) || !/\.(sh|sbatch|slurm|bash)$/.test(path)) continue;
      const batch = /#SBATCH/.test(textOfPieces(text));
      this.inner({ script: text, prefix: [], args: [], remote: true, batch }, true);
    }
  }

  protected command(node: Command, piped?: PlacedText): ListEnd {
    const { scope, expander } = this;
    const assignments = node.prefix.filter((item) => item.type === 'Assignment');
    const name = node.name?.value;
    if (name === undefined) {
      for (const assignment of assignments) this.assign(assignment);
      this.outcome = SUCCESS;
      return undefined;
    }
    if (DECLARING.test(name)) {
      this.declare(name, node);
      this.outcome = SUCCESS;
      return undefined;
    }
    expander.guesses = [];
    const expanded = [
      ...(node.name ? expander.fields(node.name) : []),
      ...node.args.flatMap((argument) =>
        argument.type === 'Word' ? expander.fields(argument) : [this.asWord(argument)],
      ),
    ].slice(0, MOST_WORDS);
    const guesses = expander.guesses;
    const input = this.inputOf(node.redirects) ?? piped;
    this.write(node, input);
    const own = new Map<string, PlacedText>();
    for (const { name: variable, value } of assignments)
      if (value.type === 'Word') own.set(variable, expander.joined(value));
    const [first = []] = expanded;
    const program = textOfPieces(first);
    const place = this.source.place(node.pos, node.end);
    const builtin = this.builtin(program, expanded, input, own, place);
    if (builtin !== 'none') return builtin;
    const before = [...own].map(([variable]) => [variable, scope.get(variable)] as const);
    for (const [variable, text] of own) scope.put(variable, { text, exported: true });
    const flow = this.heard(node.redirects, () => this.start(expanded, program, input, place, guesses));
    for (const [variable, value] of before)
      if (value) scope.variables.set(variable, value);
      else scope.unset(variable);
    return flow;
  }

  /** Starts a program, a function, or a shell with a script. */
  private start(
    given: readonly PlacedText[],
    program: string,
    input: PlacedText | undefined,
    place: TextStretch,
    guesses: readonly TextStretch[],
  ): ListEnd {
    this.outcome = PROBES.test(program) ? UNKNOWN : STARTED;
    const called = this.job.functions.get(program);
    if (called) return this.call(called, given.slice(1), place);
    let words = given;
    while (words.length > 1 && TRANSPARENT.test(textOfPieces(words[0] ?? [])) && !onlyLooks(words)) {
      if (textOfPieces(words[0] ?? []) === 'eval') return this.eval(words.slice(1), guesses);
      words = words.slice(1);
    }
    const { environment, rest } = this.environmentOf(words);
    words = rest;
    const name = textOfPieces(words[0] ?? []);
    if (STARTS_NOTHING.test(name.split('/').at(-1) ?? '') && !isJob(words)) {
      if (this.printed) this.print(name, words, input);
      // Relative paths of what is launched behind `cd` start there.
      if (name !== 'cd') return undefined;
      this.scope.entered = [...this.scope.entered, textOfPieces(words[1] ?? []) || '~'];
    } else this.printed &&= 'unknown';
    const file = this.fileOf(words);
    if (!file && this.runScript(words, environment, guesses, place)) return undefined;
    const script = file ?? innerScript(words, input);
    if (script) {
      this.inner(script, false, environment, guesses);
      return undefined;
    }
    if (words.length === 0 || this.isRepeated(words, place)) return undefined;
    this.scope.budget.spend(this.scope.variables.size + words.length);
    const sees = new Map<string, PlacedText>();
    for (const [variable, { text, exported }] of this.scope.variables)
      if (text && exported) sees.set(variable, text);
    for (const [variable, text] of environment) sees.set(variable, text);
    this.job.commands.push({
      words: [...this.prefix, ...words],
      environment: sees,
      ...place,
      open: this.open > 0,
      guesses: [...this.around, ...guesses, ...guessesIn(words), ...this.guessesOfFiles(words)],
      ...(this.calledAt ? { call: this.calledAt } : {}),
      ...(this.options ? { options: this.options } : {}),
    });
    return undefined;
  }

  /** The next round of a loop. What `eval` makes may stand where the program itself does that it is handed to. */
  private isRepeated(words: readonly PlacedText[], place: TextStretch): boolean {
    const program = textOfPieces(words[0] ?? []);
    const own = this.prefix.length;
    return this.job.commands.some(
      (each) =>
        isSame(each, place) &&
        each.call?.start === this.calledAt?.start &&
        textOfPieces(each.words[own] ?? each.words[0] ?? []) === program,
    );
  }

  /** Another script of the shell that the command runs, where it is here: true where it was followed. */
  private runScript(
    words: readonly PlacedText[],
    environment: ReadonlyMap<string, PlacedText>,
    guesses: readonly TextStretch[],
    place: TextStretch,
  ): boolean {
    const call = this.isRemote ? undefined : scriptCall(words);
    const found = call && this.scriptAt(call);
    if (!call || !found) return false;
    this.follow(found, call, environment, guesses, place);
    return true;
  }

  /** The script of a call, where it is here and may be followed. */
  private scriptAt(call: Pick<ScriptCall, 'path'>, takenIn?: true): ScriptAtHand | undefined {
    const path = pathOfCall(call);
    if (!path) return undefined;
    // What is not known of the path was written in one of the scripts.
    const from = path.lead === undefined ? (this.trail.at(-1) ?? '') : this.writtenIn(call.path);
    const run = { from, entered: this.scope.entered, ...path, ...(takenIn ? { takenIn } : {}) };
    const key = keyOfRun(run);
    this.job.runs.set(key, run);
    const found = this.job.scripts.get(key);
    return found && !this.trail.includes(found.uri) && this.trail.length < DEEPEST_SCRIPTS
      ? found
      : undefined;
  }

  protected takeIn([path, ...args]: readonly PlacedText[], place: TextStretch): ListEnd | 'none' {
    const found = this.isRemote || !path ? undefined : this.scriptAt({ path }, true);
    if (!found) return 'none';
    const source = new ScriptSource(found.text).asTyped();
    const { scope, trail, calledAt, job } = this;
    const [before, openFrom] = [scope.args, scope.openFrom];
    const known = new Set(job.functions.values());
    if (args.length > 0) [scope.args, scope.openFrom] = [args, undefined];
    this.trail = [...trail, found.uri];
    this.calledAt = calledAt ?? place;
    const flow = this.within(source, () => this.run(parse(source.text).commands));
    this.trail = trail;
    this.calledAt = calledAt;
    if (args.length > 0) [scope.args, scope.openFrom] = [before, openFrom];
    for (const each of job.functions.values()) if (!known.has(each)) each.takenIn = true;
    return flow === 'exit' ? flow : undefined;
  }

  /** The script in which a text begins. */
  private writtenIn([first]: PlacedText): string {
    const at = first?.start ?? 0;
    for (const { uri, text } of this.job.scripts.values()) {
      const [whole] = text;
      if (whole && whole.start <= at && at < whole.end) return uri;
    }
    return '';
  }

  private follow(
    { uri, text }: ScriptAtHand,
    call: ScriptCall,
    environment: ReadonlyMap<string, PlacedText>,
    guesses: readonly TextStretch[],
    place: TextStretch,
  ): void {
    const { job } = this;
    const source = new ScriptSource(text).asTyped();
    const given = call.batch ? optionsOfSbatch(call.prefix) : [];
    const exported = exportsOf(given);
    const variables = exported.all ? this.scope.exported() : new Map();
    const scope = new ShellScope(variables, this.scope.budget, call.args);
    scope.openFrom = call.openFrom;
    scope.tookIn = this.scope.tookIn;
    for (const [name, value] of [...environment, ...exported.given])
      scope.put(name, { text: value, exported: true });
    const options = call.batch ? slurmOptions(source) : (this.options ?? job.options);
    if (call.batch)
      for (const [name, value] of slurmVariables([...given, ...options]))
        scope.put(name, { text: value, exported: true });
    const prefix = [...(call.batch ? [] : this.prefix), ...call.prefix];
    const deeper = new Evaluator(job, scope, source, prefix, this.depth + 1, this.open);
    deeper.around = [...this.around, ...guesses];
    deeper.trail = [...this.trail, uri];
    deeper.calledAt = this.calledAt ?? place;
    deeper.options = options;
    // Functions are those of the shell that has them.
    const functions = [...job.functions];
    job.functions.clear();
    if (this.depth <= DEEPEST) deeper.run(parse(source.text).commands);
    job.functions.clear();
    for (const [name, own] of functions) job.functions.set(name, own);
  }

  /** A shell within this one, in the same script. */
  private shell(scope: ShellScope, source: ScriptSource, prefix: readonly PlacedText[], open: number) {
    const deeper = new Evaluator(this.job, scope, source, prefix, this.depth + 1, open);
    deeper.trail = this.trail;
    deeper.calledAt = this.calledAt;
    deeper.options = this.options;
    deeper.isRemote = this.isRemote;
    return deeper;
  }

  /** `env A=1 python`, `docker run -e A=1`: variables that a command gives to what it runs. */
  private environmentOf(words: readonly PlacedText[]) {
    const environment = new Map<string, PlacedText>();
    const take = (word: PlacedText) => {
      const split = splitOnce(word, '=');
      if (split) environment.set(textOfPieces(split.before), split.after);
      return split !== undefined;
    };
    const name = textOfPieces(words[0] ?? []);
    if (/^(docker|podman|singularity|apptainer|nerdctl)$/.test(name)) {
      for (const [i, word] of words.entries()) {
        const flag = textOfPieces(word);
        if (flag === '-e' || flag === '--env') take(words[i + 1] ?? []);
        else if (/^--env=\w+=/.test(flag)) take(splitOnce(word, '=')?.after ?? []);
      }
      return { environment, rest: words };
    }
    if (!/^(.*\/)?env$/.test(name)) return { environment, rest: words };
    let at = 1;
    for (; at < words.length; at++) {
      const word = words[at] ?? [];
      const text = textOfPieces(word);
      if (text === '-u' || text === '-C') at++;
      else if (!/^-/.test(text) && !(/^[A-Za-z_]\w*=/.test(text) && take(word))) break;
    }
    return { environment, rest: words.slice(at) };
  }

  /** Conditions that decide what stands in files that the script writes and the words name: `--deepspeed ds.json`. */
  private guessesOfFiles(words: readonly PlacedText[]): TextStretch[] {
    if (this.job.files.size === 0) return [];
    const named = new Set(words.map((word) => sameFile(textOfPieces(word).replace(/^--?[\w-]+=/, ''))));
    return guessesIn(
      [...this.job.files].flatMap(([path, text]) => (named.has(sameFile(path)) ? [text] : [])),
    );
  }

  /** A script that this one has written before: `bash job.sh`, `sbatch job.sbatch`, `./job.sh`. */
  private fileOf(words: readonly PlacedText[]): InnerScript | undefined {
    if (this.job.files.size === 0) return undefined;
    const texts = words.map(textOfPieces);
    const name = texts[0] ?? '';
    const runs = /^(?:.*\/)?(?:ba|z)?sh$|^(?:.*\/)?sbatch$|^srun$/.test(name);
    const at = runs ? texts.findIndex((text, i) => i > 0 && !text.startsWith('-')) : 0;
    const path = [...this.job.files.keys()].find((each) => sameFile(each) === sameFile(texts[at] ?? ''));
    const script = path === undefined ? undefined : this.job.files.get(path);
    if (path === undefined || !script || /\.(json|ya?ml|toml|py)$/.test(path)) return undefined;
    this.job.started.add(path);
    const batch = name === 'sbatch';
    return {
      script,
      prefix: batch ? words.slice(0, at) : [],
      args: words.slice(at + 1),
      remote: false,
      batch,
    };
  }

  private inner(
    given: InnerScript,
    open: boolean,
    environment?: ReadonlyMap<string, PlacedText>,
    guesses: readonly TextStretch[] = [],
  ): void {
    if (this.depth > DEEPEST) return;
    const source = new ScriptSource(given.script);
    const scope = new ShellScope(
      given.remote ? new Map() : this.scope.inherited(),
      this.scope.budget,
      given.args,
    );
    for (const [name, text] of environment ?? []) scope.put(name, { text, exported: true });
    if (given.batch) {
      const options = slurmOptions(source);
      this.job.options.push(...options);
      for (const [name, text] of slurmVariables(options)) scope.put(name, { text, exported: true });
    }
    const prefix = [...this.prefix, ...given.prefix];
    const deeper = this.shell(scope, source, prefix, this.open + (open ? 1 : 0));
    deeper.isRemote ||= given.remote;
    if (!given.remote) scope.entered = this.scope.entered;
    deeper.around = [...this.around, ...guesses];
    deeper.run(parse(source.text).commands);
  }

  /** `eval` reads its arguments once more. */
  private eval(words: readonly PlacedText[], guesses: readonly TextStretch[]): ListEnd {
    if (this.evals > DEEPEST) return undefined;
    const source = new ScriptSource(withBlanks(words));
    const { commands } = parse(source.text);
    const { around } = this;
    this.around = [...around, ...guesses];
    this.evals++;
    const flow = this.within(source, () => this.run(commands));
    this.evals--;
    this.around = around;
    return flow;
  }

  private call(called: ShellFunction, args: readonly PlacedText[], place: TextStretch): ListEnd {
    if (this.depth > DEEPEST || this.job.steps > MOST_STEPS) return undefined;
    called.called = true;
    const { scope } = this;
    const [before, openFrom, depth] = [scope.args, scope.openFrom, this.calls];
    if (depth > DEEPEST) return undefined;
    const locals = this.locals;
    scope.args = args;
    scope.openFrom = undefined;
    this.locals = new Map();
    this.calls++;
    const { calledAt } = this;
    if (called.takenIn) this.calledAt = calledAt ?? place;
    const flow = this.within(called.source, () => this.body(called.body));
    this.calledAt = calledAt;
    for (const [name, value] of this.locals)
      if (value) scope.variables.set(name, value);
      else scope.unset(name);
    this.calls--;
    this.locals = locals;
    scope.args = before;
    scope.openFrom = openFrom;
    return flow === 'exit' ? flow : undefined;
  }

  private calls = 0;

  private evals = 0;

  private print(name: string, words: readonly PlacedText[], input: PlacedText | undefined): void {
    if (!this.printed || this.printed === 'unknown') return;
    const printed = printedBy(name, words, input);
    if (printed === undefined) this.printed = 'unknown';
    else if (printed.length > 0) this.printed = [...this.printed, printed];
  }

  /** What a command substitution gives: text where all of it is printed by the script itself. */
  protected capture(script: ParsedScript, part: CommandExpansionPart): PlacedText | undefined {
    if (this.depth > DEEPEST) return undefined;
    const { source = undefined } = script;
    const scope = new ShellScope(this.scope.variables, this.scope.budget, this.scope.args);
    scope.tookIn = this.scope.tookIn;
    const piece = { text: source ?? '', ...this.source.place(part.pos, part.end), exact: false };
    const inside = source === undefined ? this.source : new ScriptSource([piece]);
    const deeper = this.shell(scope, inside, this.prefix, this.open);
    scope.openFrom = this.scope.openFrom;
    deeper.printed = [];
    const [only] = script.commands;
    const expr = this.expr(script, deeper);
    if (expr !== undefined) return [this.source.standing(String(expr), part.pos, part.end)];
    const piped = script.commands.length === 1 && only?.command.type === 'Pipeline';
    deeper.run(script.commands);
    this.expander.guesses.push(...deeper.expander.guesses);
    const lines = deeper.lines();
    if (piped || !lines) return undefined;
    const text = withoutNewlines(
      lines.flatMap((line, i) => {
        const at = line[0]?.start ?? 0;
        return i === 0 ? line : [{ text: '\n', start: at, end: at, exact: false }, ...line];
      }),
    );
    const [guess] = deeper.printGuesses;
    return guess ? guessed({ text }, guess).text : text;
  }

  private lines(): readonly PlacedText[] | undefined {
    return this.printed === 'unknown' ? undefined : this.printed;
  }

  /** `$(expr 16 / $GPUS)` */
  private expr(script: ParsedScript, inside: Evaluator): number | undefined {
    const only = script.commands.length === 1 ? script.commands[0]?.command : undefined;
    if (only?.type !== 'Command' || only.name?.value !== 'expr') return undefined;
    const words = only.args.flatMap((word) => (word.type === 'Word' ? [inside.expander.joined(word)] : []));
    return valueOfExpr(words.map((word) => (isSettled(word) ? textOfPieces(word) : undefined)));
  }
}
