import { isSettled, type PlacedText, type TextStretch, textOfPieces } from './placed-text';

/** A variable of the shell: a text, or the items of an array by their index. */
export interface Variable {
  readonly text?: PlacedText;
  readonly items?: ReadonlyMap<string, PlacedText>;
  readonly exported?: boolean;
}

/** What a text may grow to: beyond it a script doubles its variables for harm. */
const MOST_CHARACTERS = 200_000;
const MOST_ITEMS = 5_000;

/** What following one script may cost, counted in pieces of text and variables that are copied. */
const MOST_WORK = 200_000;
const CHARACTERS_OF_A_PIECE = 10;

/** Work that all scopes of a script share: beyond some its variables grow for harm, and it is followed no further. */
export class Budget {
  private spent = 0;

  get exceeded(): boolean {
    return this.spent > MOST_WORK;
  }

  spend(work: number): void {
    this.spent += work;
  }

  /** Expands a text to another place. */
  expand(text: PlacedText): void {
    for (const piece of text) this.spent += 1 + piece.text.length / CHARACTERS_OF_A_PIECE;
  }
}

/** Variables and arguments as they stand at one place of a script. */
export class ShellScope {
  readonly budget: Budget;
  variables: Map<string, Variable>;
  /** Arguments of the function or script; undefined where whoever starts it gives them. */
  args: readonly PlacedText[] | undefined;
  /** From which argument on there may be any number of them. */
  openFrom: number | undefined;
  /** Folders that were entered, one from the other. */
  entered: readonly string[] = [];
  /** `set -a`: whatever is set is exported. */
  exportsAll = false;
  /** Another file was taken in, which may have set anything. */
  tookIn = false;

  constructor(variables: ReadonlyMap<string, Variable>, budget: Budget, args?: readonly PlacedText[]) {
    this.budget = budget;
    this.variables = this.copyOf(variables);
    this.args = args;
  }

  /** Variables to go on with, apart from the others. */
  copyOf(variables: ReadonlyMap<string, Variable>): Map<string, Variable> {
    this.budget.spend(variables.size);
    return this.budget.exceeded ? new Map() : new Map(variables);
  }

  get(name: string): Variable | undefined {
    return this.variables.get(name);
  }

  put(name: string, variable: Variable): void {
    this.budget.spend(1 + (variable.text?.length ?? 0) + (variable.items?.size ?? 0));
    if (this.budget.exceeded) return;
    const length = (variable.text ?? []).reduce((sum, { text }) => sum + text.length, 0);
    const pieces = variable.text?.length ?? 0;
    if (length > MOST_CHARACTERS || pieces > MOST_ITEMS || (variable.items?.size ?? 0) > MOST_ITEMS) {
      // Neither what it was nor what it would be.
      this.variables.delete(name);
      return;
    }
    const exported = variable.exported ?? this.variables.get(name)?.exported ?? this.exportsAll;
    this.variables.set(name, { ...variable, exported });
  }

  set(name: string, text: PlacedText): void {
    const before = this.get(name);
    if (before?.items) this.put(name, { items: new Map([...before.items, ['0', text]]) });
    else this.put(name, { text });
  }

  unset(name: string): void {
    this.variables.delete(name);
  }

  export(name: string, exported: boolean): void {
    const before = this.get(name);
    if (before) this.put(name, { ...before, exported });
  }

  /** Drops the first arguments. Of those that nobody counts none is known then. */
  shift(by: number): void {
    if (this.openFrom === undefined) {
      this.args = this.args?.slice(by);
      return;
    }
    // Beyond those that are counted the others go with them, as far as anybody knows.
    const gone = Math.min(by, this.openFrom);
    this.args = this.args?.slice(gone);
    this.openFrom -= gone;
  }

  /** An argument by its number; undefined where it is not given, or not known to be. */
  argument(number: number): PlacedText | undefined {
    return this.openFrom !== undefined && number > this.openFrom ? undefined : this.args?.[number - 1];
  }

  /** Exported variables alone: what another script finds that is run from here. */
  exported(): Map<string, Variable> {
    this.budget.spend(this.variables.size);
    return new Map([...this.variables].filter(([, { exported }]) => exported));
  }

  /** What a shell that is started from here finds: exported variables; the others are empty to it. */
  inherited(): Map<string, Variable> {
    const empty: Variable = { text: [] };
    this.budget.spend(this.variables.size);
    return new Map(
      [...this.variables].map(([name, variable]) => [name, variable.exported ? variable : empty]),
    );
  }
}

/** Whether two variables hold the same, wherever that was written. */
export function sameShellValue(a: Variable | undefined, b: Variable | undefined): boolean {
  if (a === b) return true;
  if (!a || !b || (a.items === undefined) !== (b.items === undefined)) return false;
  if (!sameText(a.text, b.text)) return false;
  const [x, y] = [a.items ?? new Map<string, PlacedText>(), b.items ?? new Map<string, PlacedText>()];
  return x.size === y.size && [...x].every(([key, text]) => sameText(text, y.get(key)));
}

function sameText(a: PlacedText | undefined, b: PlacedText | undefined): boolean {
  return textOfPieces(a ?? []) === textOfPieces(b ?? []) && isSettled(a ?? []) === isSettled(b ?? []);
}

/** A variable whose value hangs on a condition that the script does not settle. */
export function guessed(variable: Variable, at: TextStretch): Variable {
  const mark = (text: PlacedText): PlacedText =>
    text.length > 0
      ? text.map((piece) => ({ ...piece, guessed: piece.guessed ?? at }))
      : [{ text: '', start: at.start, end: at.start, exact: false, guessed: at }];
  return {
    ...variable,
    ...(variable.text ? { text: mark(variable.text) } : {}),
    ...(variable.items
      ? { items: new Map([...variable.items].map(([key, text]) => [key, mark(text)])) }
      : {}),
  };
}

export function isEmpty(variable: Variable | undefined): boolean {
  return (variable?.items?.size ?? 0) === 0 && textOfPieces(variable?.text ?? []) === '';
}
