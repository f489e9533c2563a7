import { say } from './say';

/** Number of single-character edits between two words, neighbouring swaps counted once. */
function distance(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min((previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1, (previous[j - 1] ?? 0) + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        best = Math.min(best, (beforePrevious[j - 2] ?? 0) + 1);
      }
      current.push(best);
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[b.length] ?? 0;
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
  return candidates
    .map((candidate, index) => {
      const other = others[index] ?? '';
      const length = Math.abs(other.length - wanted.length);
      const contains = wanted.length >= 3 && (other.includes(wanted) || wanted.includes(other));
      // Words are at least as far apart as their lengths.
      const edits = length > allowed ? length : distance(wanted, other);
      return { candidate, far: contains ? Math.min(edits, 1.5) : edits, length };
    })
    .filter(({ far }) => far <= allowed)
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
