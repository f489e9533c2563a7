/** Something that can be answered, as far as it is searched: its name, and what else it is found by, split by ` · `. */
interface Searchable {
  readonly label: string;
  readonly description?: string;
}

const PLACES = { exact: 0, alias: 1, tokens: 2, anywhere: 3 } as const;

/** Names are typed with blanks where they are written with dashes, dots or slashes. */
const tokensOf = (text: string) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
const bare = (text: string) => tokensOf(text).join('');

/**
 * Answers that go with what is typed, best first: the name itself, another name of it, then those in whose name every typed word
 * begins a word, fewest other words first. All where nothing is typed.
 */
export function rankChoices<C extends Searchable>(choices: readonly C[], typed: string): C[] {
  const words = tokensOf(typed);
  if (words.length === 0) return [...choices];
  const whole = words.join('');
  return choices
    .flatMap((choice, index) => {
      const place = placeOf(choice, words, whole);
      return place === undefined ? [] : [{ choice, place, index, length: tokensOf(choice.label).length }];
    })
    .sort((a, b) => a.place - b.place || a.length - b.length || a.index - b.index)
    .map(({ choice }) => choice);
}

/** Whether what is typed is a name of the choice, as names are typed: its own or another. */
export function isNameOf(choice: Searchable, typed: string): boolean {
  const words = tokensOf(typed);
  const place = words.length === 0 ? undefined : placeOf(choice, words, words.join(''));
  return place === PLACES.exact || place === PLACES.alias;
}

function placeOf(
  { label, description = '' }: Searchable,
  words: readonly string[],
  whole: string,
): number | undefined {
  const lastName = label.slice(label.lastIndexOf('/') + 1);
  if (bare(label) === whole || bare(lastName) === whole) return PLACES.exact;
  const others = description.split(' · ');
  if (others.some((other) => bare(other) === whole)) return PLACES.alias;
  const begins = (text: string) => {
    const tokens = tokensOf(text);
    return words.every((word) => tokens.some((token) => token.startsWith(word)));
  };
  if (begins(label)) return PLACES.tokens;
  return begins(`${label} ${description}`) || bare(`${label} ${description}`).includes(whole)
    ? PLACES.anywhere
    : undefined;
}
