import type {
  Command,
  CommandExpansionPart,
  CommandNode,
  CompoundList,
  ParsedScript,
  PipelineNode,
  Redirection,
  Statement,
  TestExpression,
  Word,
} from 'unbash';
import {
  type ConditionWord,
  combined,
  conditionOf,
  FAILURE,
  negated,
  type Outcome,
  STARTED,
  SUCCESS,
  UNKNOWN,
} from './condition';
import { Expander } from './expand';
import {
  type Branch,
  type Job,
  type ListEnd,
  MOST_COMMANDS,
  MOST_ROUNDS,
  MOST_STEPS,
  type ShellFunction,
} from './job';
import { matchesPattern } from './pattern';
import { isSettled, type PlacedText, type TextStretch, textOfPieces } from './placed-text';
import { guessed, isEmpty, type ShellScope, sameShellValue, type Variable } from './scope';
import type { ScriptSource } from './script-source';

/** Lines that a command substitution prints. */
type Printed = readonly PlacedText[] | 'unknown';

/** What a way through a condition leaves. */
interface WayEnd {
  readonly way: number;
  readonly variables: Map<string, Variable>;
  readonly files: ReadonlyMap<string, PlacedText>;
}

function refill<K, V>(map: Map<K, V>, from: ReadonlyMap<K, V>): void {
  map.clear();
  for (const [key, value] of from) map.set(key, value);
}

/** A script's statements in the order in which they run: lists, branches, loops, conditions. What a command does is left to others. */
export abstract class ControlFlow {
  protected readonly job: Job;
  protected readonly scope: ShellScope;
  protected source: ScriptSource;
  protected expander: Expander;
  /** Inside a branch that is not the likely one. */
  protected open: number;
  protected outcome: Outcome = SUCCESS;
  /** What a command substitution has printed so far; `unknown` once something else prints. */
  protected printed: Printed | undefined;
  /** Conditions that decide what it prints. */
  protected readonly printGuesses: TextStretch[] = [];

  constructor(job: Job, scope: ShellScope, source: ScriptSource, open: number) {
    this.job = job;
    this.scope = scope;
    this.source = source;
    this.open = open;
    this.expander = this.expanderOf(source);
  }

  /** Runs a command; `piped` is what is written into it. */
  protected abstract command(node: Command, piped?: PlacedText): ListEnd;
  /** What `echo`, `printf` and `cat <<EOF` print; undefined for other commands. */
  protected abstract textOf(node: Command): PlacedText | undefined;
  /** What a command substitution gives: text where all of it is printed by the script itself. */
  protected abstract capture(script: ParsedScript, part: CommandExpansionPart): PlacedText | undefined;

  protected expanderOf(source: ScriptSource): Expander {
    return new Expander(this.scope, source, (script, part) => this.capture(script, part));
  }

  run(statements: readonly Statement[]): ListEnd {
    for (const { command } of statements) {
      const flow = this.node(command);
      if (flow) return flow;
    }
    return undefined;
  }

  protected within<T>(source: ScriptSource, work: () => T): T {
    const [before, expander] = [this.source, this.expander];
    if (source === before) return work();
    this.source = source;
    this.expander = this.expanderOf(source);
    try {
      return work();
    } finally {
      this.source = before;
      this.expander = expander;
    }
  }

  protected body(body: ShellFunction['body']): ListEnd {
    return body.type === 'CompoundList' ? this.run(body.commands) : this.node(body);
  }

  protected list(list: CompoundList | undefined): ListEnd {
    return list ? this.run(list.commands) : undefined;
  }

  protected node(node: PipelineNode | Statement['command']): ListEnd {
    const { job } = this;
    if (job.commands.length > MOST_COMMANDS || ++job.steps > MOST_STEPS || this.scope.budget.exceeded)
      return 'exit';
    switch (node.type) {
      case 'AndOr':
        return this.andOr(node.commands, node.operators);
      case 'Pipeline':
        return this.pipeline(node.commands, node.prefixes.filter(({ type }) => type === 'Negation').length);
      case 'Redirected':
        return this.heard(node.redirects, () => this.node(node.command));
      default:
        return this.compound(node);
    }
  }

  /** Does what prints elsewhere than a command substitution reads: `echo "..." >&2`. */
  protected heard<T>(redirects: readonly Redirection[], work: () => T): T {
    const { printed } = this;
    if (printed === undefined || !redirects.some(leadsAway)) return work();
    this.printed = undefined;
    const result = work();
    this.printed = printed;
    return result;
  }

  protected andOr(nodes: readonly PipelineNode[], operators: readonly string[]): ListEnd {
    for (const [i, node] of nodes.entries()) {
      const operator = operators[i - 1];
      if (operator === undefined) {
        const flow = this.node(node);
        if (flow) return flow;
        continue;
      }
      const before = this.outcome;
      const needed = operator === '&&' ? before : before.program ? FAILURE : negated(before);
      let after: Outcome | undefined;
      const flow = this.branches(
        [
          {
            outcome: needed,
            body: () => {
              const ended = this.node(node);
              after = this.outcome;
              return ended;
            },
          },
        ],
        this.source.place(node.pos, node.end),
      );
      if (flow) return flow;
      if (operator === '||' && before.program) this.outcome = before;
      else this.outcome = after ? combined([before, after], operator === '||') : before;
    }
    return undefined;
  }

  protected pipeline(nodes: readonly CommandNode[], negations: number): ListEnd {
    let flow: ListEnd;
    const [first, second] = nodes;
    // `echo "torchrun ..." | bash`, `cat <<EOF | sbatch`
    if (first?.type === 'Command' && second?.type === 'Command') {
      const input = this.textOf(first);
      this.node(first);
      for (const node of nodes.slice(1)) {
        if (node === second && node.type === 'Command') this.command(node, input);
        else this.node(node);
      }
    } else for (const node of nodes) flow = this.node(node);
    if (nodes.length > 1) this.outcome = STARTED;
    if (negations % 2 === 1) this.outcome = negated(this.outcome);
    return nodes.length > 1 ? undefined : flow;
  }

  protected compound(node: Exclude<CommandNode, { type: 'Redirected' }>): ListEnd {
    switch (node.type) {
      case 'Command':
        return this.command(node);
      case 'If': {
        const branches = [node, ...node.elif].map(({ clause, then }): (() => Branch) => () => ({
          outcome: this.condition(clause),
          body: () => this.list(then),
        }));
        const last = node.else;
        return this.branches(
          branches,
          this.source.place(node.clause.pos, node.clause.end),
          last && (() => this.list(last)),
        );
      }
      case 'Case':
        return this.case(node);
      case 'For':
      case 'Select':
        return this.for(node.name.value, node.wordlist, node.body);
      case 'While':
        return this.while(
          () => {
            const outcome = this.condition(node.clause);
            return node.kind === 'until' ? negated(outcome) : outcome;
          },
          () => this.list(node.body),
        );
      case 'ArithmeticFor': {
        this.expander.arithmetic(node.initialize);
        return this.while(
          () => (node.test ? outcomeOf(this.expander.arithmetic(node.test)) : SUCCESS),
          () => {
            const flow = this.list(node.body);
            if (flow === undefined || flow === 'continue') this.expander.arithmetic(node.update);
            return flow;
          },
        );
      }
      case 'Subshell': {
        const before = this.scope.copyOf(this.scope.variables);
        const { entered } = this.scope;
        const flow = this.list(node.body);
        this.scope.variables = before;
        this.scope.entered = entered;
        return flow === 'exit' ? undefined : flow;
      }
      case 'BraceGroup':
        return this.list(node.body);
      case 'TestCommand':
        this.outcome = this.test(node.expression);
        return undefined;
      case 'ArithmeticCommand':
        this.outcome = outcomeOf(this.expander.arithmetic(node.expression));
        return undefined;
      case 'Function':
        this.job.functions.set(node.name.value, { body: node.body, source: this.source, called: false });
        return undefined;
      default:
        return undefined;
    }
  }

  protected condition(clause: CompoundList): Outcome {
    this.outcome = SUCCESS;
    this.list(clause);
    // Whether a program succeeds is not known where a script asks for it.
    return this.outcome.program ? UNKNOWN : this.outcome;
  }

  protected case(node: Extract<CommandNode, { type: 'Case' }>): ListEnd {
    const word = this.expander.joined(node.word);
    const branches = node.items.map((item): Branch => {
      const outcomes = item.pattern.map((pattern) => {
        const text = this.expander.pattern(pattern);
        if (text === '*') return SUCCESS;
        if (!isSettled(word)) return UNKNOWN;
        return outcomeOf(matchesPattern(textOfPieces(word), text));
      });
      return { outcome: combined(outcomes, true), body: () => this.list(item.body) };
    });
    return this.branches(branches, this.source.place(node.word.pos, node.word.end), undefined, true);
  }

  /**
   * Goes the ways that are possible. Where the script settles which, there is one. Else the likely one counts: what a plain
   * start takes; without that the first, or none where doing nothing is possible. Variables that the others set otherwise are
   * marked; a way that ends the script is no way to a launch.
   */
  protected branches(
    all: readonly (Branch | (() => Branch))[],
    at: TextStretch,
    otherwise?: () => ListEnd,
    exhaustive = false,
  ): ListEnd {
    const ways: Branch[] = [];
    let closed = false;
    for (const each of all) {
      const way = typeof each === 'function' ? each() : each;
      if (way.outcome.sure && way.outcome.holds === false && !way.outcome.default) continue;
      // A default that would be left out.
      if (way.outcome.default && way.outcome.holds === false) continue;
      ways.push(way);
      if (way.outcome.sure && way.outcome.holds) {
        closed = true;
        break;
      }
    }
    const [taken] = ways;
    if (ways.length === 1 && closed && taken?.outcome.default) {
      // `if [ -z "$1" ]; then X=3; fi`; where it ends the script, the argument has to be given.
      const before = this.scope.copyOf(this.scope.variables);
      const commands = this.job.commands.length;
      const flow = taken.body?.();
      if (flow !== 'exit' && flow !== 'return') return flow;
      this.scope.variables = before;
      this.outcome = SUCCESS;
      if (this.job.commands.length > commands) this.reopen(commands);
      return otherwise?.();
    }
    if (!closed) ways.push({ outcome: SUCCESS, body: otherwise });
    const [only] = ways;
    if (ways.length === 1) return only?.body?.();
    const sureOf = ({ outcome }: Branch) => outcome.holds === true;
    const elseWay = ways.length - 1;
    const nothing = !closed && !otherwise;
    let likely = ways.findIndex(sureOf);
    const unknown = ways.findIndex(({ outcome }) => outcome.holds === undefined);
    if (unknown >= 0 && (likely === elseWay || likely < 0) && (!nothing || exhaustive)) likely = unknown;
    if (likely < 0) likely = elseWay;
    return this.goWays(ways, likely, at, nothing && likely === elseWay && unknown >= 0);
  }

  /** Goes each of several ways from the same start. `fills`: variables that the likely way leaves empty are taken from another. */
  protected goWays(ways: readonly Branch[], probable: number, at: TextStretch, fills: boolean): ListEnd {
    const { scope } = this;
    const { turn, forks } = this.job;
    const likely = turn?.at === at.start && turn.way < ways.length ? turn.way : probable;
    // In a loop the first round counts.
    if (at.end > at.start && !forks.has(at.start)) forks.set(at.start, { ways: ways.length, taken: likely });
    const before = scope.copyOf(scope.variables);
    const ends: WayEnd[] = [];
    const { files } = this.job;
    const written = new Map(files);
    const { printed } = this;
    const prints: { readonly way: number; readonly printed: Printed | undefined }[] = [];
    for (const [i, { body }] of ways.entries()) {
      scope.variables = scope.copyOf(before);
      refill(files, written);
      this.printed = printed;
      if (i !== likely) this.open++;
      const flow = body?.();
      if (i !== likely) this.open--;
      if (flow !== 'exit') prints.push({ way: i, printed: this.printed });
      if (flow !== 'exit' && flow !== 'return')
        ends.push({ way: i, variables: scope.variables, files: new Map(files) });
    }
    this.outcome = UNKNOWN;
    const kept = ends.find(({ way }) => way === likely) ?? ends[0];
    scope.variables = kept?.variables ?? before;
    refill(files, kept?.files ?? written);
    const shown = prints.find(({ way }) => way === (kept?.way ?? likely)) ?? prints[0];
    this.printed = shown ? shown.printed : printed;
    if (prints.some((other) => !samePrinted(other.printed, this.printed))) this.printGuesses.push(at);
    // What is printed is whole where every way returns.
    if (!kept) return printed !== undefined && shown ? 'return' : undefined;
    for (const { variables, files: others } of ends) {
      if (variables === kept.variables) continue;
      for (const path of new Set([...files.keys(), ...others.keys()])) {
        const [mine, other] = [files.get(path), others.get(path)];
        const text = mine ?? other;
        if (text && !(mine && other && textOfPieces(mine) === textOfPieces(other)))
          files.set(
            path,
            text.map((piece) => ({ ...piece, guessed: piece.guessed ?? at })),
          );
      }
      for (const name of new Set([...variables.keys(), ...kept.variables.keys()])) {
        const [mine, other] = [kept.variables.get(name), variables.get(name)];
        if (sameShellValue(mine, other)) continue;
        const filled = mine === undefined || (fills && isEmpty(mine) && !isEmpty(other));
        const value = filled ? other : mine;
        if (value) kept.variables.set(name, guessed(value, at));
      }
    }
    return undefined;
  }

  /** Commands that turn out to stand in a branch that is not taken. */
  protected reopen(from: number): void {
    const { commands } = this.job;
    for (let i = from; i < commands.length; i++) {
      const command = commands[i];
      if (command) commands[i] = { ...command, open: true };
    }
  }

  protected for(name: string, wordlist: readonly Word[] | undefined, body: CompoundList): ListEnd {
    const fields = wordlist
      ? wordlist.flatMap((word) => this.expander.fields(word))
      : (this.scope.args ?? []);
    const rounds = fields.slice(0, MOST_ROUNDS);
    for (const field of rounds) {
      this.scope.put(name, { text: field });
      const flow = this.list(body);
      if (flow === 'break') break;
      if (flow && flow !== 'continue') return flow;
    }
    if (rounds.length > 0) return undefined;
    // Nothing is known to go through: what the loop starts is still found.
    return this.branches([{ outcome: UNKNOWN, body: () => loopFlow(this.list(body)) }], { start: 0, end: 0 });
  }

  protected while(condition: () => Outcome, body: () => ListEnd): ListEnd {
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const outcome = condition();
      const given = this.scope.openFrom;
      // Arguments that are there, before those that nobody counts.
      const isGiven = outcome.holds === undefined && given !== undefined && given > 0;
      if ((outcome.holds === true && outcome.sure) || isGiven) {
        const flow = body();
        if (flow === 'break' || (isGiven && this.scope.openFrom === given)) return undefined;
        if (flow && flow !== 'continue') return flow;
        if (this.job.steps > MOST_STEPS) return 'exit';
        continue;
      }
      if (outcome.holds === false && outcome.sure) return undefined;
      // Arguments that a plain start does not give (`while [ $# -gt 0 ]`): defaults stand. What the loop starts is still found.
      const before = this.scope.copyOf(this.scope.variables);
      body();
      const inside = this.scope.variables;
      this.scope.variables = before;
      for (const [name, variable] of inside) if (!before.has(name)) before.set(name, variable);
      return undefined;
    }
    return undefined;
  }

  protected test(expression: TestExpression): Outcome {
    switch (expression.type) {
      case 'TestUnary': {
        const { operator, operand } = expression;
        if (operator === '-v') {
          const name = textOfPieces(this.expander.joined(operand));
          const known = this.scope.get(name);
          return known ? SUCCESS : { holds: false, sure: true, default: true };
        }
        return conditionOf([plainWord(operator), { text: this.expander.joined(operand) }], true);
      }
      case 'TestBinary': {
        const right = {
          text: this.expander.joined(expression.right),
          pattern: this.expander.pattern(expression.right),
        };
        if (expression.operator === '=~') return this.matches(expression.left, right.text);
        const operator = plainWord(expression.operator);
        const numeric = /^-(eq|ne|gt|ge|lt|le)$/.test(expression.operator);
        const left = { text: this.expander.joined(expression.left) };
        return conditionOf([left, operator, right], !numeric);
      }
      case 'TestGroup':
        return this.test(expression.expression);
      case 'TestNot': {
        const inner = this.test(expression.operand);
        return expression.negations.length % 2 === 1 ? negated(inner) : inner;
      }
      case 'TestLogical':
        return combined(
          expression.operands.map((operand) => this.test(operand)),
          expression.operator === '||',
        );
    }
  }

  /** `[[ a =~ ^[0-9]+$ ]]`, for patterns that JavaScript reads as POSIX does. */
  protected matches(word: Word, pattern: PlacedText): Outcome {
    const text = this.expander.joined(word);
    const source = textOfPieces(pattern);
    if (!isSettled(text) || !isSettled(pattern) || !/^\^?[\w \-|()]+\$?$/.test(source)) return UNKNOWN;
    try {
      return outcomeOf(new RegExp(source).test(textOfPieces(text)));
    } catch {
      return UNKNOWN;
    }
  }
}

export function plainWord(text: string): ConditionWord {
  return { text: [{ text, start: 0, end: 0, exact: false }] };
}

export function outcomeOf(value: number | boolean | undefined): Outcome {
  if (value === undefined) return UNKNOWN;
  return value === 0 || value === false ? FAILURE : SUCCESS;
}

function loopFlow(flow: ListEnd): ListEnd {
  return flow === 'break' || flow === 'continue' ? undefined : flow;
}

export function isSame(a: TextStretch, b: TextStretch): boolean {
  return a.start === b.start && a.end === b.end;
}

/** Whether a redirection takes away what is printed: `>&2`, `> file`, `&>> log`. What goes to `&1` stays. */
function leadsAway(redirect: Redirection): boolean {
  if (redirect.type !== 'Redirect' || !/^(?:>|>\||>>|&>|&>>|>&)$/.test(redirect.operator)) return false;
  const from = redirect.descriptor;
  if (from && (from.type !== 'FileDescriptor' || from.value !== 1)) return false;
  return redirect.operator !== '>&' || redirect.target?.value !== '1';
}

const wordsOf = (printed: Printed | undefined): string =>
  typeof printed === 'string' ? printed : (printed ?? []).map((line) => textOfPieces(line)).join('\n');

const samePrinted = (one: Printed | undefined, other: Printed | undefined): boolean =>
  one === other || (one !== 'unknown' && other !== 'unknown' && wordsOf(one) === wordsOf(other));
