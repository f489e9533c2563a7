import { say } from '../wording/say';
import { ByteStream, DumpRefusal, type ReadBytes } from './byte-stream';
import type { Plain, Takes } from './plain-pickle';

/**
 * Reads JSON of any length piece by piece (RFC 8259), as `JSON.parse` cannot: a string of V8 ends at 512 MiB. Dicts have no
 * prototype.
 */

/** Containers in one another: a snapshot has six. */
const DEEPEST = 200;
const LONGEST_TEXT = 2 ** 24;
const LONGEST_NUMBER = 64;
/** Texts of a snapshot are few and are repeated millions of times: each of those that are short is kept once. */
const SHORT = 256;
const KEPT_TEXTS = 2 ** 16;

const LITERALS: readonly (readonly [text: string, value: Plain])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
];
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

const isSpace = (byte: number) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
const inNumber = (byte: number) =>
  (byte >= 0x30 && byte <= 0x39) ||
  byte === 0x2d ||
  byte === 0x2b ||
  byte === 0x2e ||
  byte === 0x65 ||
  byte === 0x45;

/** Reads one value of JSON. Throws `DumpRefusal` where it is none. */
export function readStreamedJson(read: ReadBytes, takes: Takes = () => undefined): Plain {
  const reader = new JsonReader(new ByteStream(read), takes);
  const value = reader.value(0);
  reader.end();
  return value;
}

class JsonReader {
  readonly #bytes: ByteStream;
  readonly #takes: Takes;
  readonly #decoder = new TextDecoder('utf-8');
  readonly #texts = new Map<number, { readonly bytes: Uint8Array; readonly text: string }>();
  #scratch = new Uint8Array(4096);

  constructor(bytes: ByteStream, takes: Takes) {
    this.#bytes = bytes;
    this.#takes = takes;
  }

  value(depth: number): Plain {
    if (depth > DEEPEST) throw new DumpRefusal(say('it nests without an end'));
    const first = this.#next();
    if (first === 0x7b) return this.#dict(depth);
    if (first === 0x5b) return this.#list(depth);
    if (first === QUOTE) return this.#text();
    return inNumber(first) ? this.#number() : this.#literal();
  }

  end(): void {
    if (this.#next() !== -1) throw new DumpRefusal(say('it is no JSON'));
  }

  /** The next byte that is no space. */
  #next(): number {
    let byte = this.#bytes.peek();
    while (isSpace(byte)) {
      this.#bytes.byte();
      byte = this.#bytes.peek();
    }
    return byte;
  }

  #expect(byte: number): void {
    const found = this.#next();
    if (found === -1) throw new DumpRefusal(say('it ends in the middle'));
    if (found !== byte) throw new DumpRefusal(say('it is no JSON'));
    this.#bytes.byte();
  }

  #dict(depth: number): Plain {
    const dict = Object.create(null) as { [key: string]: Plain };
    this.#bytes.byte();
    if (this.#closes(0x7d)) return dict;
    for (;;) {
      if (this.#next() !== QUOTE) this.#expect(QUOTE);
      const key = this.#text();
      this.#expect(0x3a);
      dict[key] = this.value(depth + 1);
      if (this.#closes(0x7d)) return dict;
      this.#expect(0x2c);
    }
  }

  #list(depth: number): Plain {
    const list: Plain[] = [];
    this.#bytes.byte();
    if (this.#closes(0x5d)) return list;
    for (;;) {
      const item = this.value(depth + 1);
      if (this.#takes(item, list) === undefined) list.push(item);
      if (this.#closes(0x5d)) return list;
      this.#expect(0x2c);
    }
  }

  #closes(byte: number): boolean {
    if (this.#next() !== byte) return false;
    this.#bytes.byte();
    return true;
  }

  #text(): string {
    this.#bytes.byte();
    let [length, hash, escaped] = [0, 0, false];
    for (;;) {
      const byte = this.#bytes.byte();
      if (byte === QUOTE) break;
      if (byte < 0x20) throw new DumpRefusal(say('it is no JSON'));
      length = this.#put(byte, length);
      hash = (Math.imul(hash, 31) + byte) | 0;
      if (byte !== BACKSLASH) continue;
      escaped = true;
      length = this.#put(this.#bytes.byte(), length);
    }
    const bytes = this.#scratch.subarray(0, length);
    if (escaped) return unescaped(this.#decoder.decode(bytes));
    if (length > SHORT) return this.#decoder.decode(bytes);
    const known = this.#texts.get(hash);
    if (known && same(known.bytes, bytes)) return known.text;
    const text = this.#decoder.decode(bytes);
    if (this.#texts.size < KEPT_TEXTS) this.#texts.set(hash, { bytes: bytes.slice(), text });
    return text;
  }

  #put(byte: number, length: number): number {
    if (length >= LONGEST_TEXT) throw new DumpRefusal(say('a text in it is too long'));
    if (length === this.#scratch.length) {
      const larger = new Uint8Array(2 * length);
      larger.set(this.#scratch);
      this.#scratch = larger;
    }
    this.#scratch[length] = byte;
    return length + 1;
  }

  #number(): number {
    let text = '';
    while (inNumber(this.#bytes.peek()) && text.length < LONGEST_NUMBER)
      text += String.fromCharCode(this.#bytes.byte());
    const value = Number(text);
    if (text === '' || !Number.isFinite(value)) throw new DumpRefusal(say('it is no JSON'));
    return value;
  }

  #literal(): Plain {
    const first = this.#bytes.peek();
    const found = LITERALS.find(([text]) => text.charCodeAt(0) === first);
    if (!found) throw new DumpRefusal(first === -1 ? say('it ends in the middle') : say('it is no JSON'));
    for (const letter of found[0])
      if (this.#bytes.byte() !== letter.charCodeAt(0)) throw new DumpRefusal(say('it is no JSON'));
    return found[1];
  }
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

function unescaped(text: string): string {
  return text.replace(/\\(?:u([0-9a-fA-F]{4})|([\s\S]))/g, (_, code: string | undefined, letter = '') => {
    const character = code === undefined ? ESCAPES[letter] : String.fromCharCode(Number.parseInt(code, 16));
    if (character === undefined) throw new DumpRefusal(say('it is no JSON'));
    return character;
  });
}
