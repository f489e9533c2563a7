import type { Connection } from 'vscode-languageserver';
import { diagnostics } from '../features/diagnostics';
import type { ClientSupport } from './convert';
import type { Engine } from './runtime';

/** Configs that one save brings up to date at most. */
const MOST = 32;

interface Parts {
  readonly connection: Connection;
  readonly engine: () => Promise<Engine>;
  readonly isOpen: (uri: string) => boolean;
  readonly isEnabled: (uri: string) => Promise<boolean>;
  readonly support: () => ClientSupport;
}

/**
 * Errors and warnings of configs that no editor shows but that use one which was saved: a DeepSpeed file that no longer fits
 * marks every recipe that it breaks.
 */
export class ClosedFiles {
  readonly #parts: Parts;
  /** Files that problems were published for, with those problems. */
  readonly #marked = new Map<string, string>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** The editor shows the file now: its problems are reported as those of any open document. */
  opened(uri: string): void {
    this.#marked.delete(uri);
  }

  /** Of these files, those that problems were published for. */
  marked(uris: readonly string[]): string[] {
    return uris.filter((uri) => this.#marked.has(uri));
  }

  /** Analyses closed files and publishes what is wrong with them; files that are fine again are cleared. */
  async refresh(uris: readonly string[]): Promise<void> {
    const { connection, engine, isOpen, isEnabled, support } = this.#parts;
    const closed = [...new Set(uris)].filter((uri) => uri.startsWith('file:') && !isOpen(uri)).slice(0, MOST);
    const { analyze, drawing } = await engine();
    for (const uri of closed) {
      const analysis = (await isEnabled(uri)) ? await analyze(uri) : undefined;
      if (isOpen(uri)) continue;
      const found = (analysis ? diagnostics(analysis) : []).filter(
        ({ severity }) => severity === 'error' || severity === 'warning',
      );
      const list = found.map((problem) => drawing.toDiagnostic(problem, support()));
      const published = list.length > 0 ? JSON.stringify(list) : undefined;
      if (published === this.#marked.get(uri)) continue;
      if (published === undefined) this.#marked.delete(uri);
      else this.#marked.set(uri, published);
      await connection.sendDiagnostics({ uri, diagnostics: list });
    }
  }
}
