import type { Choice } from './choices';
import { isNameOf, rankChoices } from './rank-choices';

/** What a row stands for, where that is not its label. */
export interface Answer extends Choice {
  readonly value?: string;
}

/** A question whose answer may be picked or typed. */
interface Typable {
  readonly choices: readonly Choice[];
  /** What is typed as a file has it; undefined where it answers nothing. */
  readonly read: (typed: string) => string | undefined;
  /** Any number is an answer as good as those that are offered; a name that no catalog has gives no estimate. */
  readonly isNumber: boolean;
  readonly words: { readonly asTyped: string; readonly notInCatalog: string };
}

export const answerOf = (row: Answer): string => row.value ?? row.label;

/**
 * All where nothing is typed; else those that go with it, best first, and what is typed itself where no row is that: a number above them, a
 * name below. With them the row that Enter is to take.
 */
export function answersTo(
  text: string,
  { choices, read, isNumber, words }: Typable,
): { readonly rows: readonly Answer[]; readonly best: Answer | undefined } {
  if (text === '') return { rows: choices, best: choices[0] };
  const plain = read(text);
  const found = rankChoices(choices, isNumber ? (plain ?? text) : text).map(always);
  if (plain === undefined || [text, plain].some((name) => hasLabel(choices, name)))
    return { rows: found, best: found[0] };
  if (isNumber) {
    const typed = { label: plain, description: words.asTyped, alwaysShow: true };
    return { rows: [typed, ...found], best: typed };
  }
  // Of rows whose label holds what is typed the editor puts the shortest first: here the description holds it.
  const typed = {
    label: `$(warning) ${words.asTyped}`,
    description: found.length > 0 ? plain : `${plain} · ${words.notInCatalog}`,
    alwaysShow: true,
    value: plain,
  };
  return { rows: [...found, typed], best: found[0] ?? typed };
}

/** Whether what is typed is the name or another name of a row: no better one can come. */
export function isNamed(choices: readonly Choice[], text: string): boolean {
  const [first] = rankChoices(choices, text);
  return first !== undefined && isNameOf(first, text);
}

const hasLabel = (choices: readonly Choice[], name: string) =>
  choices.some(({ label }) => label.toLowerCase() === name.toLowerCase());

/** Rows that were found are shown, also where the editor's own search would not find them. */
const always = (choice: Choice): Answer => ({ ...choice, alwaysShow: true });
