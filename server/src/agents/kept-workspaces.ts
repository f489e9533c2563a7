import type { Workspace } from '../workspace/analyze';
import type { RunOptions } from '../workspace/command-line-facts';

/** Workspaces by what was stated beside their files, the latest `most` of them: agents ask again and again about the same GPU. */
export class KeptWorkspaces {
  readonly #kept = new Map<string, Workspace>();

  constructor(private readonly most: number) {}

  /** The one for these statements, as if nothing were known of its files: the person may have edited them since. */
  of(stated: RunOptions, make: () => Workspace): Workspace {
    const key = JSON.stringify(stated);
    const known = this.#kept.get(key) ?? make();
    known.invalidateAll();
    this.#kept.delete(key);
    this.#kept.set(key, known);
    for (const old of [...this.#kept.keys()].slice(0, -this.most)) this.#kept.delete(old);
    return known;
  }
}
