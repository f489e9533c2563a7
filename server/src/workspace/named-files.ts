import { mayHaveBase } from '../config/defaults-list';
import { isJupyter } from '../config/notebook-commands';

/** A file with more characters names its configs somewhere else. */
const LONGEST = 200_000;
/** A notebook holds what it printed, too. */
const LONGEST_NOTEBOOK = 4_000_000;
/** `configs/${SIZE}.yaml` */
const MADE_NAME = /\$(?:\w+|[({][^)}\n]{1,80}[)}])\.(?:ya?ml|json|toml|py)\b/;
/** Names that may stand without what is behind their dot. */
const SHORTENED = /\.(?:ya?ml|json|toml|py)$/i;
/** Endings of the names that are looked for. */
const ENDING = String.raw`\.(?:ya?ml|jsonc?|toml|py|ipynb|sh|bash|slurm|sbatch|flags)`;
const LISTED = new RegExp(`${ENDING}$`);
const ENDINGS = new RegExp(ENDING, 'g');
/** Characters before a dot that tell one name from others. */
const TAIL = 24;

/** Hydra leaves the extension of a config out, and GPT-NeoX's launcher does; scripts and makefiles put names together. */
const shortens = (uri: string, text: string): boolean =>
  mayHaveBase(uri, text) || /\bdeepy\.py\b|(?:--config-name|-cn)\b/.test(text) || MADE_NAME.test(text);

/** Whether a text can name a file of this name. */
export function mayName(uri: string, text: string, name: string): boolean {
  if (text.length > (isJupyter(uri) ? LONGEST_NOTEBOOK : LONGEST)) return false;
  if (text.includes(name)) return true;
  // Looked for first: a notebook has megabytes of what it printed.
  return SHORTENED.test(name) && text.includes(name.replace(SHORTENED, '')) && shortens(uri, text);
}

/**
 * The names in a text, by which the text of a neighbour need not be at hand: a folder of notebooks has more characters than are
 * remembered, and each of its files is looked for in all others.
 */
export class NamedFiles {
  /** What stands before the dots of names, each as far as `TAIL`. */
  readonly #tails: string;
  readonly #shortens: boolean;

  constructor(uri: string, text: string) {
    const isRead = text.length <= (isJupyter(uri) ? LONGEST_NOTEBOOK : LONGEST);
    const tails = new Set<string>();
    for (const { index } of isRead ? text.matchAll(ENDINGS) : [])
      tails.add(text.slice(Math.max(0, index - TAIL), index + 1));
    this.#tails = [...tails].join('');
    this.#shortens = isRead && shortens(uri, text);
  }

  /** Whether the text can name a file of this name: false is certain. */
  mayHave(name: string): boolean {
    if (!LISTED.test(name) || (this.#shortens && SHORTENED.test(name))) return true;
    return this.#tails.includes(`${name.slice(0, name.lastIndexOf('.')).slice(-TAIL)}.`);
  }
}
