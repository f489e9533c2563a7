import { say } from '../wording/say';
import { ByteStream, DumpRefusal, type ReadBytes } from './byte-stream';

/**
 * Reads a pickle without running anything: opcodes of plain data alone (dicts, lists, tuples, texts, numbers, booleans, None), of
 * protocols 2 to 5 (https://github.com/python/cpython/blob/v3.13.0/Lib/pickletools.py). Whatever names a class or calls a
 * function is refused.
 */

/** A value of a pickle. Dicts have no prototype; tuples are arrays; integers beyond 2^53 lose their last digits. */
export type Plain = string | number | boolean | null | Plain[] | { [key: string]: Plain } | Uint8Array;

/**
 * Asked about every item before it is put into a list: undefined lets it in, anything else takes it out of there, so that long
 * lists need no memory. What was taken cannot be referred to any more. A part of it that something else is to stand in for
 * from now on is answered with that: later references to the part lead to it.
 */
export type Takes = (item: Plain, list: Plain[]) => readonly StandIn[] | undefined;
export type StandIn = readonly [part: Plain, instead: Plain];

/** Texts of a snapshot are names of files and functions. */
const LONGEST_TEXT = 2 ** 24;
/** Values that may wait for their container. */
const DEEPEST = 2 ** 22;

type Dict = { [key: string]: Plain };
/** A container that was taken out: its place in the memo. */
const TAKEN = Symbol('taken');
const MARK = Symbol('mark');
type Held = Plain | typeof MARK;

/** Reads one pickle. Throws `DumpRefusal` on anything but plain data. */
export function readPlainPickle(read: ReadBytes, takes: Takes = () => undefined): Plain {
  return new Unpickler(new ByteStream(read), takes).run();
}

class Unpickler {
  readonly #bytes: ByteStream;
  readonly #takes: Takes;
  #stack: Held[] = [];
  readonly #marks: number[] = [];
  readonly #memo: (Plain | typeof TAKEN)[] = [];
  /** Where objects stand in the memo. What was taken is let go of, so it grows with what is kept alone. */
  readonly #places = new Map<object, number>();
  readonly #decoder = new TextDecoder('utf-8');

  constructor(bytes: ByteStream, takes: Takes) {
    this.#bytes = bytes;
    this.#takes = takes;
  }

  run(): Plain {
    for (;;) {
      const code = this.#bytes.byte();
      if (code === 0x2e) return this.#pop();
      this.#step(code);
      if (this.#stack.length > DEEPEST) throw new DumpRefusal(say('it nests without an end'));
    }
  }

  #step(code: number): void {
    const atom = this.#atom(code);
    if (atom !== undefined) {
      this.#stack.push(atom);
      return;
    }
    switch (code) {
      case 0x80: // PROTO
        if (this.#bytes.byte() > 5) throw new DumpRefusal(say('its protocol is unknown'));
        return;
      case 0x95: // FRAME
        this.#bytes.take(8);
        return;
      case 0x28: // MARK
        this.#marks.push(this.#stack.length);
        return;
      case 0x94: // MEMOIZE
        this.#put(this.#memo.length);
        return;
      case 0x71: // BINPUT
        this.#put(this.#bytes.byte());
        return;
      case 0x72: // LONG_BINPUT
        this.#put(this.#unsigned(4));
        return;
      case 0x68: // BINGET
        this.#get(this.#bytes.byte());
        return;
      case 0x6a: // LONG_BINGET
        this.#get(this.#unsigned(4));
        return;
      case 0x61: // APPEND
        this.#append([this.#pop()]);
        return;
      case 0x65: // APPENDS
        this.#append(this.#sinceMark());
        return;
      case 0x73: {
        // SETITEM
        const value = this.#pop();
        this.#set([this.#pop(), value]);
        return;
      }
      case 0x75: // SETITEMS
        this.#set(this.#sinceMark());
        return;
      case 0x74: // TUPLE
        this.#stack.push(this.#sinceMark());
        return;
      case 0x85: // TUPLE1
      case 0x86: // TUPLE2
      case 0x87: // TUPLE3
        this.#stack.push(Array.from({ length: code - 0x84 }, () => this.#pop()).reverse());
        return;
      case 0x30: // POP
        this.#pop();
        return;
      default:
        throw new DumpRefusal(
          say('it holds more than plain data (opcode {0})', `0x${code.toString(16).padStart(2, '0')}`),
        );
    }
  }

  /** What an opcode pushes by itself; undefined where it does something else. */
  #atom(code: number): Plain | undefined {
    switch (code) {
      case 0x7d: // EMPTY_DICT
        return Object.create(null) as Dict;
      case 0x5d: // EMPTY_LIST
      case 0x29: // EMPTY_TUPLE
        return [];
      case 0x4e: // NONE
        return null;
      case 0x88: // NEWTRUE
        return true;
      case 0x89: // NEWFALSE
        return false;
      case 0x4b: // BININT1
        return this.#bytes.byte();
      case 0x4d: // BININT2
        return this.#unsigned(2);
      case 0x4a: // BININT
        return this.#unsigned(4) | 0;
      case 0x47: {
        // BINFLOAT
        const bytes = this.#bytes.take(8);
        return new DataView(bytes.buffer, bytes.byteOffset, 8).getFloat64(0, false);
      }
      case 0x8a: // LONG1
        return this.#long(this.#bytes.byte());
      case 0x8b: // LONG4
        return this.#long(this.#unsigned(4));
      case 0x8c: // SHORT_BINUNICODE
        return this.#text(this.#bytes.byte());
      case 0x58: // BINUNICODE
        return this.#text(this.#unsigned(4));
      case 0x8d: // BINUNICODE8
        return this.#text(this.#unsigned(8));
      case 0x43: // SHORT_BINBYTES
        return this.#bytes.take(this.#bytes.byte()).slice();
      case 0x42: // BINBYTES
        return this.#bytes.take(this.#bounded(this.#unsigned(4))).slice();
      default:
        return undefined;
    }
  }

  #unsigned(length: number): number {
    let [value, place] = [0, 1];
    for (let i = 0; i < length; i++) {
      value += this.#bytes.byte() * place;
      place *= 256;
    }
    return value;
  }

  /** Two's complement, lowest byte first. */
  #long(length: number): number {
    if (length > 64) throw new DumpRefusal(say('a number in it is too long'));
    const bytes = this.#bytes.take(length);
    const negative = ((bytes[length - 1] ?? 0) & 128) !== 0;
    let value = 0;
    for (let i = length - 1; i >= 0; i--)
      value = value * 256 + (negative ? 255 - (bytes[i] ?? 0) : (bytes[i] ?? 0));
    return negative ? -value - 1 : value;
  }

  #bounded(length: number): number {
    if (length > LONGEST_TEXT) throw new DumpRefusal(say('a text in it is too long'));
    return length;
  }

  #text(length: number): string {
    return this.#decoder.decode(this.#bytes.take(this.#bounded(length)));
  }

  #pop(): Plain {
    const value = this.#stack.pop();
    if (value === undefined || value === MARK) throw new DumpRefusal(say('it is damaged'));
    return value;
  }

  #sinceMark(): Plain[] {
    const mark = this.#marks.pop();
    if (mark === undefined || mark > this.#stack.length) throw new DumpRefusal(say('it is damaged'));
    return this.#stack.splice(mark) as Plain[];
  }

  #put(place: number): void {
    const value = this.#stack.at(-1);
    if (value === undefined || value === MARK || place > this.#memo.length + DEEPEST)
      throw new DumpRefusal(say('it is damaged'));
    this.#memo[place] = value;
    if (isObject(value)) this.#places.set(value, place);
  }

  #get(place: number): void {
    const value = this.#memo[place];
    if (value === undefined || value === TAKEN) throw new DumpRefusal(say('it refers to what is not there'));
    this.#stack.push(value);
  }

  #append(items: readonly Plain[]): void {
    const list = this.#stack.at(-1);
    if (!Array.isArray(list)) throw new DumpRefusal(say('it is damaged'));
    for (const item of items) {
      const standIns = this.#takes(item, list);
      if (!standIns) {
        list.push(item);
        continue;
      }
      this.#forget(item, TAKEN);
      for (const [part, instead] of standIns) this.#forget(part, instead);
    }
  }

  /** Puts something else where a value was to be found again. */
  #forget(value: Plain, instead: Plain | typeof TAKEN): void {
    const place = isObject(value) ? this.#places.get(value) : undefined;
    if (!isObject(value) || place === undefined) return;
    this.#memo[place] = instead;
    this.#places.delete(value);
  }

  #set(pairs: readonly Plain[]): void {
    const dict = this.#stack.at(-1);
    if (!isDict(dict) || pairs.length % 2 === 1) throw new DumpRefusal(say('it is damaged'));
    for (let i = 0; i < pairs.length; i += 2) {
      const key = pairs[i];
      if (typeof key !== 'string' && typeof key !== 'number')
        throw new DumpRefusal(say('a key in it is no text'));
      dict[String(key)] = pairs[i + 1] ?? null;
    }
  }
}

const isObject = (value: Plain): value is Exclude<Plain, string | number | boolean | null> =>
  typeof value === 'object' && value !== null;

/** Whether a value is a dict. */
export function isDict(value: Held | undefined): value is Dict {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
  );
}
