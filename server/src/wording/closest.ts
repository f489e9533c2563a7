import { say } from './say';

/** Rows of the table of edits, used again for every pair of words: the one at hand and the two before it. */
const ROWS: [number[], number[], number[]] = [[], [], []];

/**
 * Number of single-character edits between two words, neighbouring swaps counted once (optimal string alignment). Infinity
 * where there are more than `most`.
 */
function distance(a: string, b: string, most: number): number {
  let [beforePrevious, previous, current] = ROWS;
  for (let j = 0; j <= b.length; j++) previous[j] = j;
  let leastBefore = 0;
  for (let i = 1; i <= a.length; i++) {
    current[0] = i;
    let least = i;
    const letter = a.charCodeAt(i - 1);
    for (let j = 1; j <= b.length; j++) {
      const same = letter === b.charCodeAt(j - 1) ? 0 : 1;
      let best = Math.min((previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1, (previous[j - 1] ?? 0) + same);
      if (i > 1 && j > 1 && letter === b.charCodeAt(j - 2) && a.charCodeAt(i - 2) === b.charCodeAt(j - 1)) {
        best = Math.min(best, (beforePrevious[j - 2] ?? 0) + 1);
      }
      current[j] = best;
      if (best < least) least = best;
    }
    // What comes is made of the last two rows.
    if (least > most && leastBefore > most) return Number.POSITIVE_INFINITY;
    leastBefore = least;
    [beforePrevious, previous, current] = [previous, current, beforePrevious];
  }
  const edits = previous[b.length] ?? 0;
  return edits > most ? Number.POSITIVE_INFINITY : edits;
}

/** More characters are no word that somebody mistyped. */
const LONGEST_WORD = 64;

const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9.]/g, '');

/** Words without what does not count, by the list that they stand in. */
const plainWords = new WeakMap<readonly string[], readonly string[]>();

function plainOf(candidates: readonly string[]): readonly string[] {
  const known = plainWords.get(candidates);
  if (known) return known;
  const found = candidates.map(plain);
  plainWords.set(candidates, found);
  return found;
}

/** Unknown words of one file that near ones are looked for: where more are unknown, the file is of another kind. */
export const MOST_LOOKED_FOR = 100;

/** Words that the user may have meant, nearest first; empty where nothing is near enough to be worth saying. */
export function closest(word: string, candidates: readonly string[], limit = 3): string[] {
  if (word.length > 2 * LONGEST_WORD) return [];
  const wanted = plain(word);
  if (wanted === '' || wanted.length > LONGEST_WORD) {
    return [];
  }
  const others = plainOf(candidates);
  const allowed = Math.max(1.5, Math.floor(wanted.length / 3));
  const near: { readonly candidate: string; readonly far: number; readonly length: number }[] = [];
  for (const [index, candidate] of candidates.entries()) {
    const other = others[index] ?? '';
    const length = Math.abs(other.length - wanted.length);
    const contains = wanted.length >= 3 && (other.includes(wanted) || wanted.includes(other));
    // Words are at least as far apart as their lengths.
    const edits = length > allowed ? length : distance(wanted, other, allowed);
    const far = contains ? Math.min(edits, 1.5) : edits;
    if (far <= allowed) near.push({ candidate, far, length });
  }
  return near
    .sort((a, b) => a.far - b.far || a.length - b.length || a.candidate.localeCompare(b.candidate))
    .slice(0, limit)
    .map(({ candidate }) => candidate);
}

/** ` Did you mean "x" or "y"?`, the sentence that follows another one; empty where no word is near. */
export function didYouMean(word: string, candidates: readonly string[]): string {
  return suggested(closest(word, candidates), '"');
}

/** ` Did you mean x or y?`, each name between marks; empty where there is none. */
export function suggested(near: readonly string[], mark: '`' | '"' | '' = ''): string {
  if (near.length === 0) return '';
  const names = near.map((name) => `${mark}${name}${mark}`).join(` ${say('or')} `);
  return ` ${say('Did you mean {0}?', names)}`;
}
