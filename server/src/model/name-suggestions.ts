import { findModel, modelNames } from './catalog';

/** A model's name in parts: what tells families, generations and sizes apart. */
interface Spelling {
  readonly name: string;
  readonly organisation: string;
  /** Everything but the organisation, in lower case. */
  readonly plain: string;
  readonly words: readonly string[];
  /** Generations, sizes, dates: every number, as it is written. */
  readonly numbers: readonly string[];
  /** What stands directly behind a number: `b` of `8b`. */
  readonly units: readonly string[];
}

/** Endings that say how a model was tuned or stored, not which it is. */
const TUNINGS: ReadonlySet<string> = new Set(['instruct', 'chat', 'base', 'it', 'pt', 'hf', 'v']);

function spell(name: string): Spelling {
  const lower = name.trim().toLowerCase();
  const slash = lower.lastIndexOf('/');
  const plain = lower.slice(slash + 1);
  const words: string[] = [];
  const numbers: string[] = [];
  const units: string[] = [];
  for (const part of plain.matchAll(
    /(?<number>\d+(?:\.\d+)*)(?<unit>[a-z]{0,2}(?![a-z]))|(?<word>[a-z]+)/g,
  )) {
    const { number, unit, word } = part.groups ?? {};
    if (word !== undefined) words.push(word);
    if (number === undefined) continue;
    numbers.push(number);
    units.push(unit ?? '');
  }
  return { name, organisation: slash < 0 ? '' : lower.slice(0, slash), plain, words, numbers, units };
}

/** Edits between two words, neighbours swapped counted once; at most `limit` + 1. */
function edits(a: string, b: string, limit: number): number {
  if (a === b) return 0;
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min((previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (previous[j - 1] ?? 0) + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, (before[j - 2] ?? 0) + 1);
      row.push(best);
    }
    before = previous;
    previous = row;
  }
  return previous[b.length] ?? 0;
}

/** Edits that a word of this length may be away from the one that was meant. */
const slips = (word: string) => (word.length < 4 ? 0 : word.length < 8 ? 1 : 2);

/** `instruct` for a slip of it; any other word as it is. */
function tuningOf(word: string): string {
  return edits(word, 'instruct', 2) <= 2 ? 'instruct' : word;
}

interface Nearness {
  /** Letters that differ. */
  readonly letters: number;
  /** Whether one of them has an ending or a version more. */
  readonly tuning: boolean;
}

/**
 * How a name differs from one of the catalog, where both can mean the same model: every word within a slip of the finger
 * and every number equal, so family, generation and size are the same. Undefined where they are two models.
 */
function nearness(wanted: Spelling, other: Spelling, vocabulary: ReadonlySet<string>): Nearness | undefined {
  // A version that only the catalog states (`v0.1`): which one was meant is not known, but nothing else differs.
  const version = other.words.at(-1) === 'v' && other.numbers.length === wanted.numbers.length + 1;
  if (other.numbers.length !== wanted.numbers.length && !version) return undefined;
  let letters = 0;
  for (const [i, number] of wanted.numbers.entries()) {
    if (number !== other.numbers[i]) return undefined;
    const [a = '', b = ''] = [wanted.units[i], other.units[i]];
    if (a === b) continue;
    // `8` for `8B`, `7BB` for `7B`; never `7M` for `7B`.
    if (!a.startsWith(b) && !b.startsWith(a)) return undefined;
    letters += 1;
  }
  const misspelt = wanted.words.map((word) => (vocabulary.has(word) ? word : tuningOf(word)));
  letters += misspelt.reduce((sum, word, i) => sum + edits(word, wanted.words[i] ?? '', 2), 0);
  const core = (words: readonly string[]) => words.filter((word) => !TUNINGS.has(word));
  const [mine, theirs] = [core(misspelt), core(other.words)];
  if (mine.length !== theirs.length || mine.length === 0) return undefined;
  for (const [i, word] of mine.entries()) {
    const meant = theirs[i] ?? '';
    if (word === meant) continue;
    const far = edits(word, meant, slips(meant));
    // A word that the catalog knows is that word, however near another one is.
    if (far > slips(meant) || vocabulary.has(word)) return undefined;
    letters += far;
  }
  const tuned = (words: readonly string[]) => words.filter((word) => TUNINGS.has(word)).join();
  return { letters, tuning: version || tuned(misspelt) !== tuned(other.words) };
}

let spellings: { readonly all: readonly Spelling[]; readonly words: ReadonlySet<string> } | undefined;

function known() {
  if (!spellings) {
    const all = modelNames().map(spell);
    spellings = { all, words: new Set(all.flatMap(({ words }) => words)) };
  }
  return spellings;
}

/** A name of the catalog that an unknown one may stand for. */
interface Suggestion extends Nearness {
  readonly name: string;
  readonly sameOwner: boolean;
  readonly sameSpelling: boolean;
}

/** Owner and name have 96 characters each at most (`utils/_validators.py` of huggingface_hub): what is longer is no name. */
const LONGEST_NAME = 193;

function suggestions(id: string): Suggestion[] {
  const wanted = spell(id);
  if (wanted.plain === '' || id.length > LONGEST_NAME) return [];
  const { all, words } = known();
  return all
    .flatMap((other): Suggestion[] => {
      const near = nearness(wanted, other, words);
      if (!near) return [];
      const sameOwner = edits(wanted.organisation, other.organisation, 2) <= slips(other.organisation);
      return [{ ...near, name: other.name, sameOwner, sameSpelling: wanted.plain === other.plain }];
    })
    .sort(
      (a, b) =>
        Number(a.tuning) - Number(b.tuning) ||
        Number(b.sameOwner) - Number(a.sameOwner) ||
        a.letters - b.letters ||
        a.name.length - b.name.length,
    );
}

/** Names of the catalog of the same family, generation and size as an unknown one, best first; none where none is. */
export function suggestModels(id: string, limit = 5): string[] {
  return suggestions(id)
    .slice(0, limit)
    .map(({ name }) => name);
}

/**
 * Whether the catalog shows that a name is misspelt: one of its own names, of the same owner or where the file names none,
 * but for a slip of the finger. Any other name may well be a model that the catalog does not have.
 */
export function isMisspelt(id: string): boolean {
  const [best] = suggestions(id);
  // A name that the catalog has is right, whatever else is not known of its model.
  if (!best || best.tuning || findModel(id)) return false;
  return best.letters > 0 ? best.sameOwner || !id.includes('/') : best.sameOwner;
}

/** What stands where a model's name should: a variable that nothing sets, or words to be replaced. */
type Unnamed = 'variable' | 'placeholder';

/** Names are formatted by Python, too (`{name}`, `%(name)s`), which in other values of a file are texts. */
const VARIABLE = /\$[\w{(@*#?!]|`|\{\{|^\{\w+\}$|^%\(?\w+\)?[%s]$/;
const PLACEHOLDER =
  /<[^<>]*>|^\.{3}$|^\?{3}$|(^|[/\\])(?:path|absolute[-_ ]path)[/\\_ -]+(?:to|of)\b|(^|[/\\_ -])path[-_ ]?to[-_ ]?|^\[.*\]$|(^|[/\\])(?:my|your|some)[-_ ]|^(?:model|llm|todo|fixme|changeme|xxx+|base[-_]?model|model[-_](?:name|path|id|dir)|model_name_or_path|none|dummy)$/i;
/** `MODEL_NAME`: capitals alone, as constants are written. */
const CONSTANT = /^[A-Z]+(?:_[A-Z]+)+$/;

/** Whether a name of a model names none. */
export function unnamed(id: string): Unnamed | undefined {
  const text = id.trim();
  if (VARIABLE.test(text)) return 'variable';
  return PLACEHOLDER.test(text) || CONSTANT.test(text) ? 'placeholder' : undefined;
}
