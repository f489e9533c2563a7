import { type LogLine, logLines } from './log-line';

/** What a line keeps of a longer one. */
const LONGEST = 65_536;

/** Cuts a stream of bytes into lines. Keeps no more than one line, and of an endless one only its beginning. */
export class LineSplitter {
  readonly #decoder = new TextDecoder('utf-8');
  #rest = '';
  #dropping = false;
  #number = 0;

  /** Lines that a piece of the stream completes. */
  push(bytes: Uint8Array): LogLine[] {
    return this.#split(this.#decoder.decode(bytes, { stream: true }));
  }

  /** What stands behind the last line break. */
  end(): LogLine[] {
    const lines = this.#split(this.#decoder.decode());
    if (this.#rest !== '') lines.push(...logLines(this.#rest, this.#number++));
    this.#rest = '';
    return lines;
  }

  #split(text: string): LogLine[] {
    const lines: LogLine[] = [];
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      const last = text[end - 1] === '\r' ? end - 1 : end;
      const raw = this.#rest + (this.#dropping ? '' : text.slice(start, Math.max(start, last)));
      lines.push(...logLines(raw, this.#number++));
      this.#rest = '';
      this.#dropping = false;
      start = end + 1;
    }
    if (this.#dropping) return lines;
    this.#rest += text.slice(start);
    if (this.#rest.length > LONGEST) {
      this.#rest = this.#rest.slice(0, LONGEST);
      this.#dropping = true;
    }
    return lines;
  }
}
