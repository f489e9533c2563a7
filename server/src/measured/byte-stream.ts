import { say } from '../wording/say';

/** Why a dump is not read. */
export class DumpRefusal extends Error {}

/** Bytes by position; shorter than asked only at the end. */
export type ReadBytes = (position: number, length: number) => Uint8Array;

const CHUNK = 2 ** 20;

/** Bytes in order, of which no more than a piece is in memory. Throws `DumpRefusal` where it ends too early. */
export class ByteStream {
  #chunk: Uint8Array = new Uint8Array();
  #start = 0;
  #at = 0;
  readonly #read: ReadBytes;

  constructor(read: ReadBytes) {
    this.#read = read;
  }

  /** The next bytes; valid until the next call. */
  take(length: number): Uint8Array {
    if (this.#at + length > this.#chunk.length) this.#refill(length);
    const bytes = this.#chunk.subarray(this.#at, this.#at + length);
    this.#at += length;
    return bytes;
  }

  byte(): number {
    if (this.#at >= this.#chunk.length) this.#refill(1);
    return this.#chunk[this.#at++] ?? 0;
  }

  /** The next byte, which stays the next one; -1 at the end. */
  peek(): number {
    if (this.#at >= this.#chunk.length) {
      this.#start += this.#at;
      this.#at = 0;
      this.#chunk = this.#read(this.#start, CHUNK);
    }
    return this.#chunk[this.#at] ?? -1;
  }

  #refill(length: number): void {
    this.#start += this.#at;
    this.#at = 0;
    this.#chunk = this.#read(this.#start, Math.max(CHUNK, length));
    if (this.#chunk.length < length) throw new DumpRefusal(say('it ends in the middle'));
  }
}
