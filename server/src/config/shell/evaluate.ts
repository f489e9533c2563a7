import {
  type Assignment,
  type Command,
  type CommandExpansionPart,
  type CommandNode,
  type CompoundList,
  type DoubleQuotedChild,
  type HereDoc,
  type If,
  type ParameterExpansionPart,
  type PipelineNode,
  parse,
  type Statement,
  type TestExpression,
  type Word,
  type WordPart,
} from 'unbash';
import { valueOfArithmetic, valueOfExpr } from './arithmetic';
import { continued, type Piece, type PlacedText, splitAtBlanks, textOfPieces, usedAt } from './placed-text';

/** A command as it would run, as far as the script itself says. */
export interface ShellCommand {
  /** Program and arguments after expansion. */
  readonly words: readonly PlacedText[];
  /** Variables that it sees: those set before it in the script, and its own. */
  readonly environment: ReadonlyMap<string, PlacedText>;
  readonly start: number;
  readonly end: number;
}

export interface ShellReading {
  readonly commands: readonly ShellCommand[];
  /** Files that the script writes from a here-document, by the path as expanded. */
  readonly files: ReadonlyMap<string, PlacedText>;
  readonly errors: readonly { readonly message: string; readonly offset: number }[];
}

/** Scripts nest and grow by expansion: beyond this they are attacks. */
const MOST_COMMANDS = 2_000;
const MOST_WORDS = 5_000;

/**
 * Follows a script without running anything: variables, arrays, defaults, arithmetic, tests whose outcome the script
 * itself settles, here-documents. What it cannot know (arguments of the script, output of commands) stays as written.
 * Of branches whose test is open, the first assignment of a variable counts; of a loop, the first round. `environment` holds
 * variables that the script finds set.
 */
export function evaluateShell(
  source: string,
  environment: ReadonlyMap<string, PlacedText> = new Map(),
): ShellReading {
  const tree = parse(source);
  const evaluator = new Evaluator(environment);
  evaluator.run(tree.commands);
  const errors = (tree.errors ?? []).map(({ message, pos }) => ({ message, offset: pos }));
  return { commands: evaluator.commands, files: evaluator.files, errors };
}

/** Builtins that set variables. */
const DECLARING = new Set(['export', 'declare', 'local', 'readonly', 'typeset']);

class Evaluator {
  readonly commands: ShellCommand[] = [];
  readonly files = new Map<string, PlacedText>();
  private readonly scalars: Map<string, PlacedText>;
  private readonly arrays = new Map<string, readonly PlacedText[]>();
  /** Inside a branch that may not be taken. */
  private open = 0;

  constructor(environment: ReadonlyMap<string, PlacedText>) {
    this.scalars = new Map(environment);
  }

  run(statements: readonly Statement[]): void {
    for (const { command } of statements) this.node(command);
  }

  private list(list: CompoundList | undefined): void {
    if (list) this.run(list.commands);
  }

  private node(node: PipelineNode | Statement['command']): void {
    if (this.commands.length > MOST_COMMANDS) return;
    switch (node.type) {
      case 'AndOr':
        for (const inner of node.commands) this.node(inner);
        break;
      case 'Pipeline':
        for (const inner of node.commands) this.node(inner);
        break;
      case 'Redirected':
        this.node(node.command);
        break;
      default:
        this.compound(node);
    }
  }

  private compound(node: Exclude<CommandNode, { type: 'Redirected' }>): void {
    switch (node.type) {
      case 'Command':
        this.command(node);
        break;
      case 'If':
        this.branch(node);
        break;
      case 'Case': {
        const word = textOfPieces(this.joined(node.word));
        const match = node.items.find((item) => item.pattern.some((pattern) => pattern.value === word));
        if (match) this.list(match.body);
        else for (const item of node.items) this.maybe(item.body, true);
        break;
      }
      case 'For':
      case 'Select': {
        const first = (node.wordlist ?? []).flatMap((word) => this.fields(word))[0];
        if (first) this.scalars.set(node.name.value, first);
        this.list(node.body);
        break;
      }
      case 'While':
      case 'ArithmeticFor':
      case 'Subshell':
      case 'BraceGroup':
        this.list(node.body);
        break;
      case 'Function':
        // Called or not: what it starts is what the script is for.
        if (node.body.type === 'CompoundList') this.list(node.body);
        else this.node(node.body);
        break;
    }
  }

  private branch(node: If): void {
    let open = false;
    for (const each of [node, ...node.elif]) {
      const outcome = this.outcome(each.clause);
      if (outcome === false) continue;
      open ||= outcome === undefined;
      this.maybe(each.then, open);
      if (outcome === true) return;
    }
    this.maybe(node.else, open);
  }

  private maybe(list: CompoundList | undefined, open: boolean): void {
    if (open) this.open++;
    this.list(list);
    if (open) this.open--;
  }

  /** Whether a test holds, where the script itself says. */
  private outcome(clause: CompoundList): boolean | undefined {
    const only = clause.commands.length === 1 ? clause.commands[0]?.command : undefined;
    if (only?.type === 'TestCommand') return this.test(only.expression);
    if (only?.type === 'Command' && (only.name?.value === '[' || only.name?.value === 'test')) {
      const words = only.args.flatMap((argument) => (argument.type === 'Word' ? [this.known(argument)] : []));
      return plainTest(words.at(-1) === ']' ? words.slice(0, -1) : words);
    }
    return undefined;
  }

  private test(expression: TestExpression): boolean | undefined {
    switch (expression.type) {
      case 'TestUnary':
        return plainTest([expression.operator, this.known(expression.operand)]);
      case 'TestBinary':
        return plainTest([this.known(expression.left), expression.operator, this.known(expression.right)]);
      case 'TestGroup':
        return this.test(expression.expression);
      case 'TestNot': {
        const inner = this.test(expression.operand);
        return inner === undefined ? undefined : !inner;
      }
      case 'TestLogical': {
        const parts = expression.operands.map((operand) => this.test(operand));
        const decisive = expression.operator === '||';
        if (parts.includes(decisive)) return decisive;
        return parts.includes(undefined) ? undefined : !decisive;
      }
    }
  }

  /** A word's text where everything in it is known. */
  private known(word: Word): string | undefined {
    const text = textOfPieces(this.joined(word));
    return /\$|`/.test(text) ? undefined : text;
  }

  private command(node: Command): void {
    const assignments = node.prefix.filter((item) => item.type === 'Assignment');
    const name = node.name?.value;
    if (name === undefined) {
      for (const assignment of assignments) this.assign(assignment);
      return;
    }
    if (DECLARING.has(name)) {
      for (const argument of node.args) if (argument.type === 'Assignment') this.assign(argument);
      return;
    }
    const heredoc = node.redirects.find((redirect) => redirect.type === 'HereDoc');
    if (name === 'read' && heredoc?.type === 'HereDoc') {
      const target = node.args.at(-1);
      if (target?.type === 'Word') this.set(target.value, this.heredoc(heredoc));
      return;
    }
    if (heredoc?.type === 'HereDoc') {
      const output = node.redirects.find(
        (redirect) => redirect.type === 'Redirect' && redirect.operator === '>',
      );
      const target = output?.type === 'Redirect' ? output.target : undefined;
      if (target) this.files.set(textOfPieces(this.joined(target)), this.heredoc(heredoc));
    }
    const expanded = [
      ...(node.name ? this.fields(node.name) : []),
      ...node.args.flatMap((argument) =>
        argument.type === 'Word' ? this.fields(argument) : [this.asWord(argument)],
      ),
    ];
    // `eval` reads its arguments once more.
    const words = (name === 'eval' ? expanded.flatMap((word) => splitAtBlanks(word).fields) : expanded).slice(
      0,
      MOST_WORDS,
    );
    const environment = new Map(this.scalars);
    for (const { name: variable, value } of assignments)
      if (value.type === 'Word') environment.set(variable, this.joined(value));
    for (const each of shellWords(words))
      this.commands.push({ words: each, environment, start: node.pos, end: node.end });
  }

  /** `key=value` behind a command is an argument like any other. */
  private asWord(assignment: Assignment): PlacedText {
    const { value, name, pos } = assignment;
    const key: Piece = { text: `${name}=`, start: pos, end: pos + name.length + 1, exact: true };
    return value.type === 'Word' ? [key, ...this.joined(value)] : [key];
  }

  private heredoc(heredoc: HereDoc): PlacedText {
    const { body, delimiter } = heredoc;
    if (delimiter?.quoted) return [{ text: body.text, start: body.pos, end: body.end, exact: true }];
    return body.parts ? body.parts.flatMap((part) => this.part(part).flat()) : continued(body.text, body.pos);
  }

  private assign({ name, value, append }: Assignment): void {
    // `output=$(torchrun train.py)` runs what it takes the output of.
    if (value.type !== 'ArrayValue')
      for (const part of value.parts ?? [])
        if (part.type === 'CommandExpansion' && part.script) this.run(part.script.commands);
    if (value.type === 'ArrayValue') {
      const items = value.elements.flatMap((word) => this.fields(word));
      const before = append ? (this.arrays.get(name) ?? []) : [];
      if (this.open > 0 && !append && this.arrays.has(name)) return;
      this.arrays.set(name, [...before, ...items].slice(0, MOST_WORDS));
      return;
    }
    const text = this.joined(value);
    const before = append ? (this.scalars.get(name) ?? []) : [];
    if (append) this.scalars.set(name, [...before, ...text].slice(0, MOST_WORDS));
    else this.set(name, text);
  }

  private set(name: string, text: PlacedText): void {
    const known = this.scalars.get(name);
    if (this.open > 0 && known !== undefined && textOfPieces(known) !== '') return;
    this.scalars.set(name, text);
  }

  /** A word as one text, never split. */
  private joined(word: Word): PlacedText {
    if (!word.parts) return literal(word);
    return word.parts.flatMap((part) => this.part(part).flat());
  }

  /** A word as the fields that it becomes: unquoted variables are split at blanks, arrays give a field per item. */
  private fields(word: Word): PlacedText[] {
    if (!word.parts) return [literal(word)];
    const fields: Piece[][] = [];
    let current: Piece[] | undefined;
    const close = () => {
      if (current) fields.push(current);
      current = undefined;
    };
    const add = (text: PlacedText) => {
      current = [...(current ?? []), ...text];
    };
    for (const part of word.parts) {
      const values = this.part(part);
      if (isExpansion(part) && values.length === 1) {
        const { fields: split, opensBlank, closesBlank } = splitAtBlanks(values[0] ?? []);
        if (opensBlank) close();
        split.forEach((field, i) => {
          if (i > 0) close();
          add(field);
        });
        if (closesBlank) close();
        continue;
      }
      values.forEach((value, i) => {
        if (i > 0) close();
        add(value);
      });
    }
    close();
    return fields;
  }

  /** What a part of a word stands for: one text, or one per item of an array. */
  private part(part: WordPart | DoubleQuotedChild): PlacedText[] {
    switch (part.type) {
      case 'Literal':
        return [literal(part)];
      case 'SingleQuoted':
        return [[{ text: part.value, start: part.pos + 1, end: part.end - 1, exact: true }]];
      case 'DoubleQuoted':
      case 'LocaleString': {
        const only = part.parts.length === 1 ? part.parts[0] : undefined;
        if (only?.type === 'ParameterExpansion') return this.part(only);
        return [part.parts.flatMap((inner) => this.part(inner).flat())];
      }
      case 'SimpleExpansion': {
        const name = part.text.slice(1);
        const known = this.scalars.get(name) ?? this.arrays.get(name)?.[0];
        return [known ? usedAt(known, { start: part.pos, end: part.end }) : [asWritten(part)]];
      }
      case 'ParameterExpansion':
        return this.parameter(part).map((text) => usedAt(text, { start: part.pos, end: part.end }));
      case 'CommandExpansion':
        return [[this.output(part)]];
      case 'ArithmeticExpansion': {
        const value = valueOfArithmetic(part.expression, (name) => {
          const known = this.scalars.get(name);
          return known && textOfPieces(known);
        });
        return [
          [
            value === undefined
              ? asWritten(part)
              : { ...asWritten(part), text: String(value), opaque: false },
          ],
        ];
      }
      default:
        return [[asWritten(part)]];
    }
  }

  /** What a command would print, for the one that scripts reckon with: `$(expr 16 / $GPUS)`. */
  private output(part: CommandExpansionPart): Piece {
    const only = part.script?.commands.length === 1 ? part.script.commands[0]?.command : undefined;
    if (only?.type !== 'Command' || only.name?.value !== 'expr') return asWritten(part);
    const words = only.args.flatMap((word) => (word.type === 'Word' ? [this.known(word)] : []));
    const value = valueOfExpr(words);
    return value === undefined ? asWritten(part) : { ...asWritten(part), text: String(value), opaque: false };
  }

  private parameter(part: ParameterExpansionPart): PlacedText[] {
    const { parameter, index, operation, prefix } = part;
    const array = this.arrays.get(parameter);
    if (array && (index?.value === '@' || index?.value === '*')) {
      if (prefix === '#') return [[{ ...asWritten(part), text: String(array.length), opaque: false }]];
      return array.length > 0 ? [...array] : [[]];
    }
    const item = array && index && /^\d+$/.test(index.value) ? array[Number(index.value)] : array?.[0];
    const known = this.scalars.get(parameter) ?? item;
    if (!operation) return [known && prefix === undefined ? known : [asWritten(part)]];
    if (operation.type === 'Default' && prefix === undefined) {
      const set = known !== undefined && (textOfPieces(known) !== '' || !operation.operator.startsWith(':'));
      if (operation.operator.endsWith('+')) return [set ? this.joined(operation.operand) : []];
      if (set) return [known];
      const fallback = this.joined(operation.operand);
      if (operation.operator.endsWith('=')) this.set(parameter, fallback);
      return [operation.operator.endsWith('?') ? [asWritten(part)] : fallback];
    }
    return [[asWritten(part)]];
  }
}

/** What `bash -c "a && b"` runs, each behind the words before it (`srun`, `docker run`); else the words themselves. */
function shellWords(words: readonly PlacedText[]): (readonly PlacedText[])[] {
  const texts = words.map(textOfPieces);
  const at = texts.findIndex(
    (text, i) => /^(.*\/)?(ba)?sh$/.test(text) && /^-\w*c$/.test(texts[i + 1] ?? ''),
  );
  const script = at < 0 ? undefined : words[at + 2];
  if (!script) return [words];
  const commands: PlacedText[][] = [[]];
  for (const word of splitAtBlanks(script).fields) {
    if (/^(&&|\|\||;|\||&)$/.test(textOfPieces(word))) commands.push([]);
    else commands.at(-1)?.push(word);
  }
  return commands.filter((inner) => inner.length > 0).map((inner) => [...words.slice(0, at), ...inner]);
}

/** Whether what a part stands for is split at blanks. */
function isExpansion(part: WordPart): boolean {
  return (
    part.type === 'SimpleExpansion' || part.type === 'ParameterExpansion' || part.type === 'CommandExpansion'
  );
}

function literal(part: {
  readonly text: string;
  readonly value: string;
  readonly pos: number;
  readonly end: number;
}): PlacedText {
  const { text, value, pos, end } = part;
  if (text === value) return [{ text: value, start: pos, end, exact: true }];
  if (text.replaceAll('\\\n', '') === value) return continued(text, pos);
  return [{ text: value, start: pos, end, exact: false }];
}

/** What is not known stays as it stands in the script, so that whoever reads it sees the variable. */
function asWritten(part: { readonly text: string; readonly pos: number; readonly end: number }): Piece {
  return { text: part.text, start: part.pos, end: part.end, exact: false, opaque: true };
}

/** `[ a = b ]`, `[ -z a ]` and their like; undefined where a word is not known. */
function plainTest(words: readonly (string | undefined)[]): boolean | undefined {
  if (words.some((word) => word === undefined)) return undefined;
  const [a = '', b, c = ''] = words;
  if (words.length === 1) return a !== '';
  if (words.length === 2) {
    if (a === '-z') return b === '';
    if (a === '-n') return b !== '';
    return undefined;
  }
  if (words.length !== 3) return undefined;
  const [x, y] = [Number(a), Number(c)];
  switch (b) {
    case '=':
    case '==':
      return /[*?[]/.test(c) ? undefined : a === c;
    case '!=':
      return /[*?[]/.test(c) ? undefined : a !== c;
    case '-eq':
      return x === y;
    case '-ne':
      return x !== y;
    case '-gt':
      return x > y;
    case '-ge':
      return x >= y;
    case '-lt':
      return x < y;
    case '-le':
      return x <= y;
    default:
      return undefined;
  }
}
