import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { JSONRPCMessage, RequestId, Transport } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';

/** Answered when the connection ends. */
const LISTENS = 'subscriptions/listen';

/**
 * Standard input and output as a transport that answers what was asked before the input ended, as where requests come from a file
 * or `printf`; the library's own one aborts them. What the client itself is asked meanwhile nobody answers any more: a request
 * that waits for that ends with the input.
 */
export class AnsweringStdio implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Settles when input and answers have ended. */
  readonly closed: Promise<void>;
  readonly #input: Readable;
  readonly #wire: StdioServerTransport;
  /** Requests of the client that were not answered yet. */
  readonly #received = new Set<RequestId>();
  /** Requests to the client that it did not answer yet: each holds one of those that were received. */
  readonly #sent = new Set<RequestId>();
  #settled = () => {};

  constructor(input: Readable, output: NodeJS.WriteStream) {
    this.#input = Readable.from(this.#untilAnswered(input), { objectMode: false });
    this.#wire = new StdioServerTransport(this.#input, output);
    this.closed = new Promise((resolve) => {
      this.#wire.onclose = () => {
        this.#received.clear();
        this.#settled();
        this.#input.destroy();
        this.onclose?.();
        resolve();
      };
    });
    this.#wire.onerror = (error) => this.onerror?.(error);
    this.#wire.onmessage = (message) => {
      this.#note(message, this.#received, this.#sent);
      this.onmessage?.(message);
    };
  }

  start(): Promise<void> {
    return this.#wire.start();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    await this.#wire.send(message);
    this.#note(message, this.#sent, this.#received);
    this.#settled();
  }

  close(): Promise<void> {
    return this.#wire.close();
  }

  /** A message opens a request of whoever sent it, or closes one of either side. */
  #note(message: JSONRPCMessage, own: Set<RequestId>, others: Set<RequestId>): void {
    if (!('method' in message)) {
      if (message.id !== undefined) others.delete(message.id);
    } else if ('id' in message) {
      if (message.method !== LISTENS) own.add(message.id);
    } else if (message.method === 'notifications/cancelled') {
      own.delete(message.params?.requestId as RequestId);
    }
  }

  /** The input, and its end when all that it asked is answered. */
  async *#untilAnswered(input: Readable): AsyncGenerator<Buffer> {
    yield* input;
    // Until the last of it is read.
    await setImmediate();
    while (this.#received.size > this.#sent.size)
      await new Promise<void>((resolve) => {
        this.#settled = resolve;
      });
  }
}
