import { canonicalRoot } from '../text/run-root';
import { canonicalUri } from '../text/uri';

/** The runs that people chose to see files in, of several that use them: roots by file. */
export class ChosenRuns {
  readonly #roots = new Map<string, string>();

  /** Root of the run that a file is shown in; undefined where nobody chose: the worst. */
  of(uri: string): string | undefined {
    return this.#roots.get(canonicalUri(uri));
  }

  choose(uri: string, root: string | undefined): void {
    if (root === undefined) this.#roots.delete(canonicalUri(uri));
    else this.#roots.set(canonicalUri(uri), canonicalRoot(root));
  }
}
