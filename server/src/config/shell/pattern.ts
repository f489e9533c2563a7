/** Longer texts are no file names or settings: what a pattern makes of them is not known. */
const LONGEST_MATCHED = 2000;

/** What one place of a pattern takes: any number of characters (`*`), or one that passes. */
type Place = '*' | ((character: string) => boolean);

interface Pattern {
  readonly places: readonly Place[];
  /** The same for a search inside a text, which JavaScript does. */
  readonly source: string;
}

/** Reads a shell pattern (`*`, `?`, `[a-z]`); undefined where it holds more than that. */
function read(pattern: string): Pattern | undefined {
  const places: Place[] = [];
  let source = '';
  const literal = (character: string) => {
    places.push((other) => other === character);
    source += escaped(character);
  };
  for (let i = 0; i < pattern.length; i++) {
    const character = pattern[i] ?? '';
    if (character === '*') {
      // Several stars are one.
      if (places.at(-1) !== '*') source += '[^]*';
      if (places.at(-1) !== '*') places.push('*');
    } else if (character === '?') {
      places.push(() => true);
      source += '[^]';
    } else if (character === '[') {
      const end = pattern.indexOf(']', i + 2);
      const inside = end < 0 ? '' : pattern.slice(i + 1, end);
      if (!/^[!^]?[\w./ -]+$/.test(inside)) return undefined;
      const set = setOf(inside.replace(/^!/, '^'));
      if (!set) return undefined;
      places.push((other) => set.test(other));
      source += set.source;
      i = end;
    } else if (character === '\\' && i + 1 < pattern.length) {
      i++;
      literal(pattern[i] ?? '');
    } else if (/[@+!]/.test(character) && pattern[i + 1] === '(') return undefined;
    else literal(character);
  }
  return { places, source };
}

/** A set of characters; undefined where it is none (`[z-a]`). */
function setOf(inside: string): RegExp | undefined {
  try {
    return new RegExp(`[${inside}]`);
  } catch {
    return undefined;
  }
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
}

/** Whether the characters of a text from one offset to another are what a pattern stands for; at most pattern times text. */
function matches({ places }: Pattern, text: string, from: number, to: number): boolean {
  let at = from;
  let place = 0;
  // Where to go on when what follows the last star does not match.
  let star = -1;
  let resumed = from;
  while (at < to) {
    const wanted = places[place];
    if (wanted === '*') {
      star = place++;
      resumed = at;
    } else if (wanted?.(text[at] ?? '')) {
      place++;
      at++;
    } else if (star >= 0) {
      place = star + 1;
      at = ++resumed;
    } else return false;
  }
  while (places[place] === '*') place++;
  return place === places.length;
}

/** Whether a text is what a pattern of `case` or `[[ a == b ]]` stands for; undefined where that is not known. */
export function matchesPattern(text: string, pattern: string): boolean | undefined {
  const known = text.length > LONGEST_MATCHED ? undefined : read(pattern);
  return known && matches(known, text, 0, text.length);
}

/** `${x#pattern}`, `${x%%pattern}` and their like: length of what is taken off the front or the end. */
export function removedLength(text: string, operator: string, pattern: string): number | undefined {
  const known = text.length > LONGEST_MATCHED ? undefined : read(pattern);
  if (!known) return undefined;
  const longest = operator.length === 2;
  const front = operator.startsWith('#');
  for (let i = 0; i <= text.length; i++) {
    const length = longest ? text.length - i : i;
    const found = front
      ? matches(known, text, 0, length)
      : matches(known, text, text.length - length, text.length);
    if (found) return length;
  }
  return 0;
}

/** `${x/pattern/other}`, and `//` for all of them. */
export function replaced(text: string, operator: string, pattern: string, by: string): string | undefined {
  const known = text.length > LONGEST_MATCHED ? undefined : read(pattern);
  // A search backtracks over each of its stars.
  if (!known || known.places.filter((place) => place === '*').length > 1) return undefined;
  const { source } = known;
  if (source === '') return text;
  const anchored = operator === '/#' ? `^${source}` : operator === '/%' ? `${source}$` : source;
  return text.replace(new RegExp(anchored, operator === '//' ? 'g' : ''), () => by);
}
