import { heldScript } from './held-script';
import { Lines } from './lines';
import type { ConfigDocument } from './node';
import type { Piece } from './shell/placed-text';

/** A line as make reads it, those that a backslash continues with it. */
interface Line {
  readonly text: string;
  readonly start: number;
}

interface Variable {
  readonly value: Line;
  /** `:=`: filled in where it stands, and not where it is used. */
  readonly isFixed: boolean;
}

type Variables = Map<string, Variable[]>;

interface Rule {
  readonly targets: readonly string[];
  readonly recipe: Line[];
}

const ASSIGNMENT = /^[ ]*(?:(?:export|override|private)[ \t]+)*([\w.-]+)[ \t]*(\?|:{1,3}|\+|!)?=[ \t]*/;
const RULE = /^([^\s#:=][^:=]*)::?(?!=)[ \t]*/;
const CONDITIONAL = /^[ ]*(ifeq|ifneq|ifdef|ifndef|else|endif)\b/;

/**
 * The recipes of a makefile that start something, each as a shell document of its own, with the variables of the file set before it.
 * Every value has its place in the file. What a condition of make sets, and what its functions give, is not known. `isWorth` looks
 * at the text of a recipe first.
 */
export function makeRecipes(
  uri: string,
  text: string,
  isWorth: (recipe: string) => boolean,
): ConfigDocument[] {
  const { rules, variables, ofTargets } = rulesOf(text);
  const lines = new Lines(text);
  return rules.flatMap(({ recipe, targets }) => {
    const script = recipe.flatMap((line) => [
      ...expanded(commandOf(line)),
      newline(line.start + line.text.length),
    ]);
    const own = targets.flatMap((target) => [...(ofTargets.get(target) ?? [])]);
    const set = inOrder(new Map([...variables, ...own])).flatMap(([name, values]) => assigned(name, values));
    return heldScript(uri, lines, [...set, ...script], isWorth) ?? [];
  });
}

function rulesOf(text: string) {
  const rules: Rule[] = [];
  const variables: Variables = new Map();
  /** `train: GPUS = 8` */
  const ofTargets = new Map<string, Variables>();
  let conditions = 0;
  for (const line of logicalLines(text)) {
    const condition = CONDITIONAL.exec(line.text)?.[1];
    const assignment = ASSIGNMENT.exec(line.text);
    const [head, names = ''] = RULE.exec(line.text) ?? [];
    if (condition) conditions += condition === 'endif' ? -1 : condition === 'else' ? 0 : 1;
    else if (line.text.startsWith('\t')) rules.at(-1)?.recipe.push(line);
    else if (assignment) assign(variables, assignment, line, conditions > 0);
    else if (head !== undefined) {
      const targets = names.trim().split(/\s+/);
      const rest = { text: line.text.slice(head.length), start: line.start + head.length };
      const own = ASSIGNMENT.exec(rest.text);
      if (!own) rules.push({ targets, recipe: [] });
      else
        for (const target of targets) {
          const known = ofTargets.get(target) ?? new Map<string, Variable[]>();
          ofTargets.set(target, known);
          // What it adds to, or leaves as it is, may be set for all.
          assign(known, own, rest, conditions > 0 || /[?+]/.test(own[2] ?? ''));
        }
    }
  }
  return { rules, variables, ofTargets };
}

/** Notes a variable; one that a condition decides, or a program gives, is known no more. */
function assign(
  variables: Variables,
  [whole = '', name = '', operator = '']: RegExpExecArray,
  line: Line,
  isOpen: boolean,
): void {
  const written = line.text.slice(whole.length).replace(/(?<!\\)#.*$/s, '');
  const value = { text: written, start: line.start + whole.length };
  const before = variables.get(name);
  if (before && (operator === '?' || (operator === '+' && written === ''))) return;
  // Filled in at once, with what is set by then.
  const isFixed = operator.startsWith(':') || (operator === '+' && before?.[0]?.isFixed === true);
  const isKnown =
    !isOpen && operator !== '!' && !(isFixed && referred(written).some((each) => !variables.has(each)));
  const own = { value, isFixed };
  variables.set(name, !isKnown ? [] : operator === '+' ? [...(before ?? []), own] : [own]);
  // What was filled in before has the value of before.
  for (const [other, values] of variables)
    if (
      before &&
      other !== name &&
      values.some((each) => each.isFixed && referred(each.value.text).includes(name))
    )
      variables.set(other, []);
}

/** Variables that a text refers to. */
const referred = (text: string): string[] =>
  [...text.matchAll(/\$[({](\w+)[)}]/g)].map(([, name = '']) => name);

function logicalLines(text: string): Line[] {
  const lines: Line[] = [];
  let start = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
    if (/\\\r?$/.test(text.slice(Math.max(start, at - 2), at))) continue;
    lines.push({ text: text.slice(start, at), start });
    start = at + 1;
  }
  if (start < text.length) lines.push({ text: text.slice(start), start });
  return lines;
}

/** A line of a recipe without its tab and the marks by which make prints nothing of it or goes on (`@`, `-`, `+`). */
function commandOf({ text, start }: Line): Line {
  const marks = /^[\t ]*[@+-]*[\t ]*/.exec(text)?.[0].length ?? 0;
  return { text: text.slice(marks), start: start + marks };
}

/** Variables behind those that they refer to: make fills them in when they are used. */
function inOrder(variables: Variables): [string, Variable[]][] {
  const order = new Map<string, Variable[]>();
  const begun = new Set<string>();
  const visit = (name: string) => {
    const values = variables.get(name);
    if (!values || begun.has(name)) return;
    begun.add(name);
    for (const { value } of values) for (const other of referred(value.text)) visit(other);
    order.set(name, values);
  };
  for (const name of variables.keys()) visit(name);
  return [...order];
}

const newline = (at: number): Piece => ({ text: '\n', start: at, end: at, exact: false });

/** A variable as the shell sets it: make takes its text as it stands, blanks included. */
function assigned(name: string, values: readonly Variable[]): Piece[] {
  const [first] = values;
  if (!first || !/^[A-Za-z_]\w*$/.test(name) || values.some(({ value }) => value.text.includes('"')))
    return [];
  const at = first.value.start;
  const mark = (text: string): Piece => ({ text, start: at, end: at, exact: false });
  const parts = values.flatMap(({ value }, i) => [...(i > 0 ? [mark(' ')] : []), ...expanded(value)]);
  return [mark(`${name}="`), ...parts, mark('"\n')];
}

/** A text in which make's references are those of a shell: `$(GPUS)` is `${GPUS}`, `$$` is `$`; a function of make is not known. */
function expanded({ text, start }: Line): Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  const add = (at: number, end: number, piece: Omit<Piece, 'start' | 'end'>) => {
    if (at > from)
      pieces.push({ text: text.slice(from, at), start: start + from, end: start + at, exact: true });
    pieces.push({ ...piece, start: start + at, end: start + end });
    from = end;
  };
  for (let at = text.indexOf('$'); at >= 0; at = text.indexOf('$', from)) {
    const next = text[at + 1] ?? '';
    const end = next === '(' || next === '{' ? closing(text, at + 1) : at + 2;
    const inside = text.slice(at + 2, end - 1);
    const isName = (next === '(' || next === '{') && /^[A-Za-z_]\w*$/.test(inside);
    if (next === '$') add(at, end, { text: '$', exact: false });
    else if (isName) add(at, end, { text: `\${${inside}}`, exact: false });
    else add(at, end, { text: text.slice(at, end), exact: false, opaque: true });
  }
  if (from < text.length)
    pieces.push({ text: text.slice(from), start: start + from, end: start + text.length, exact: true });
  return pieces;
}

/** Behind the bracket that closes the one at a place; the end of the text where none does. */
function closing(text: string, at: number): number {
  const [open, close] = text[at] === '(' ? ['(', ')'] : ['{', '}'];
  let depth = 0;
  for (let i = at; i < text.length; i++) {
    if (text[i] === open) depth++;
    else if (text[i] === close && --depth === 0) return i + 1;
  }
  return text.length;
}
