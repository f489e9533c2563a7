import { type CancellationToken, ErrorCodes, LSPErrorCodes, ResponseError } from 'vscode-languageserver';
import { nextTurn } from '../advice/next-turn';

export interface Log {
  error(message: string): void;
}

/** Runs every request: what throws is logged and answered with the fallback, what was cancelled is not computed. */
export class Runner {
  readonly #log: Log;
  #down = false;

  constructor(log: Log) {
    this.#log = log;
  }

  /** After `shutdown` the protocol allows nothing but `exit`. */
  shutDown(): void {
    this.#down = true;
  }

  get isDown(): boolean {
    return this.#down;
  }

  async request<T>(
    name: string,
    fallback: T,
    token: CancellationToken,
    task: () => Promise<T>,
    /** True once the text has changed since the request: its answer would point at wrong places. */
    isOutdated?: () => boolean,
  ): Promise<T | ResponseError<void>> {
    // A cancellation that already waits in the input is read before the work starts.
    await nextTurn();
    if (this.#down) {
      return new ResponseError(ErrorCodes.InvalidRequest, 'The server was shut down.');
    }
    if (token.isCancellationRequested) {
      return cancelled();
    }
    try {
      const result = await task();
      if (token.isCancellationRequested) {
        return cancelled();
      }
      return isOutdated?.()
        ? new ResponseError(LSPErrorCodes.ContentModified, 'The text changed meanwhile.')
        : result;
    } catch (error) {
      this.#log.error(`${name} failed: ${describe(error)}`);
      return fallback;
    }
  }

  /** For notifications and timers: nobody waits for an answer. */
  background(name: string, task: () => Promise<void> | void): void {
    Promise.resolve()
      .then(task)
      .catch((error) => {
        if (!this.#down) {
          this.#log.error(`${name} failed: ${describe(error)}`);
        }
      });
  }
}

function cancelled(): ResponseError<void> {
  return new ResponseError(LSPErrorCodes.RequestCancelled, 'The request was cancelled.');
}

export function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
