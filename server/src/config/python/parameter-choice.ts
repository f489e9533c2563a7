/** Which of a model's parameters a text chooses, by what it asks of each: of its name, as a rule. */
export type ParameterChoice =
  /** `trained`: those that ask for a gradient, the others are frozen. */
  | { readonly kind: 'all'; readonly trained?: true }
  /** A question that has one answer for each parameter, as it is written. */
  | { readonly kind: 'asked'; readonly text: string }
  | { readonly kind: 'not'; readonly of: ParameterChoice }
  | { readonly kind: 'and' | 'or'; readonly of: readonly ParameterChoice[] };

export const ALL: ParameterChoice = { kind: 'all' };
export const TRAINED: ParameterChoice = { kind: 'all', trained: true };

/** Questions that are followed: each doubles the cases. */
const MOST_QUESTIONS = 10;

function questionsIn(choice: ParameterChoice, found: Set<string>): Set<string> {
  if (choice.kind === 'asked') found.add(choice.text);
  else if (choice.kind === 'not') questionsIn(choice.of, found);
  else if (choice.kind !== 'all') for (const part of choice.of) questionsIn(part, found);
  return found;
}

function holds(choice: ParameterChoice, yes: ReadonlySet<string>): boolean {
  switch (choice.kind) {
    case 'all':
      return true;
    case 'asked':
      return yes.has(choice.text);
    case 'not':
      return !holds(choice.of, yes);
    case 'and':
      return choice.of.every((part) => holds(part, yes));
    case 'or':
      return choice.of.some((part) => holds(part, yes));
  }
}

/** Whether several choices together leave no parameter out, whatever the answers are; false where they ask more than is followed. */
export function choosesAll(choices: readonly ParameterChoice[]): boolean {
  return alwaysHolds({ kind: 'or', of: choices }, new Map());
}

/** `"lora_" in _`: what is asked of a name. */
const PART_OF_NAME = /^(["'])([^"'\\]*)\1 in _$/;

/** Whether several choices together take every parameter of these names, whatever else they ask. */
export function choosesNamed(choices: readonly ParameterChoice[], names: readonly string[]): boolean {
  const any: ParameterChoice = { kind: 'or', of: choices };
  const parts = [...questionsIn(any, new Set())].flatMap((text) => {
    const part = PART_OF_NAME.exec(text)?.[2];
    return part === undefined ? [] : [{ text, part }];
  });
  return names.every((name) =>
    alwaysHolds(any, new Map(parts.map(({ text, part }) => [text, name.includes(part)]))),
  );
}

function alwaysHolds(choice: ParameterChoice, known: ReadonlyMap<string, boolean>): boolean {
  const questions = [...questionsIn(choice, new Set())].filter((text) => !known.has(text));
  if (questions.length > MOST_QUESTIONS) return false;
  const sure = [...known].flatMap(([text, answer]) => (answer ? [text] : []));
  for (let answers = 0; answers < 2 ** questions.length; answers++) {
    const open = questions.filter((_, index) => Math.floor(answers / 2 ** index) % 2 === 1);
    if (!holds(choice, new Set([...sure, ...open]))) return false;
  }
  return true;
}
