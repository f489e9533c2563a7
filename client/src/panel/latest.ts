import { type CancellationToken, CancellationTokenSource, type Disposable } from 'vscode';

/** Of several requests of one kind only the latest counts: asking again cancels the one before. */
export class Latest implements Disposable {
  #source: CancellationTokenSource | undefined;

  next(): CancellationToken {
    this.dispose();
    this.#source = new CancellationTokenSource();
    return this.#source.token;
  }

  dispose(): void {
    this.#source?.cancel();
    this.#source?.dispose();
  }
}
