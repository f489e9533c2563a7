import { commands, Disposable, Uri, window } from 'vscode';
import type { LanguageServer } from './language-server';
import { activeFile } from './notebook-cells';
import { done } from './walkthrough-steps';

/**
 * The training configs that this window has shown: the one that a command is about where no editor is active, as in the walkthrough, and
 * those that the Explorer's menu knows for configs, by path in the context key `oomlint.configPaths`.
 */
export class SeenConfigs implements Disposable {
  readonly #paths = new Map<string, string>();
  readonly #following: Disposable;
  #last: Uri | undefined;

  constructor(server: LanguageServer) {
    this.#following = Disposable.from(
      server.onStatus(({ uri, status }) => {
        if (status) done('configSeen');
        if (status?.gpu !== undefined) done('gpuKnown');
        this.#tell(uri, status !== undefined);
        this.#look();
      }),
      window.onDidChangeActiveTextEditor(() => this.#look()),
    );
  }

  /** The config that was looked at last. */
  get last(): Uri | undefined {
    return this.#last;
  }

  #look(): void {
    const file = activeFile();
    if (file && this.#paths.has(file.toString())) this.#last = file;
  }

  #tell(uri: string, isConfig: boolean): void {
    if (this.#paths.has(uri) === isConfig) return;
    if (isConfig) this.#paths.set(uri, Uri.parse(uri, true).fsPath);
    else this.#paths.delete(uri);
    void commands.executeCommand('setContext', 'oomlint.configPaths', [...this.#paths.values()]);
  }

  dispose(): void {
    this.#following.dispose();
  }
}
