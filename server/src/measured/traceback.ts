import type { LogLine } from './log-line';

/** A call of a Python traceback. */
export interface Frame {
  readonly file: string;
  /** From 1, as Python counts. */
  readonly line: number;
  readonly function: string;
  /** The statement, where it is shown. */
  readonly code?: string;
}

const PLAIN = /^\s{0,12}File "([^"]{1,500})", line (\d{1,8}), in (.{1,200})$/;
/** `rich`: `│ /path/model.py:312 in forward │`. */
const RICH = /^[│|]\s{0,4}(\/[^:│|]{1,400}\.py|[A-Z]:\\[^:│|]{1,400}\.py):(\d{1,8}) in ([\w<>.]{1,120})/;
const RICH_STATEMENT = /^[│|]\s{0,4}❱\s{0,4}\d{1,8}\s{0,4}│\s{0,40}(.{0,200}?)\s*[│|]?\s*$/;
/** Notebooks: `File ~/lib/model.py:312, in Model.forward(self, x)` and `/path/model.py in forward(self, x)`. */
const NOTEBOOK = /^File ([^\s:]{1,400}\.py):(\d{1,8}), in ([\w<>.]{1,120})/;
const BEGINS = /Traceback \(most recent call last\)/;

/** Deeper tracebacks are recursions: the outermost and the innermost calls say where they came from. */
const MOST_FRAMES = 160;

/** Collects the calls of one writer's newest traceback. */
export class TracebackReader {
  #frames: Frame[] = [];
  #open = false;

  add({ text }: LogLine): void {
    if (BEGINS.test(text)) {
      this.#frames = [];
      this.#open = false;
      return;
    }
    const found = PLAIN.exec(text) ?? RICH.exec(text) ?? NOTEBOOK.exec(text);
    if (found) {
      const [, file = '', line = '0', name = ''] = found;
      if (this.#frames.length >= MOST_FRAMES) this.#frames.splice(MOST_FRAMES / 2, 1);
      this.#frames.push({ file, line: Number(line), function: name.trim() });
      this.#open = true;
      return;
    }
    const last = this.#frames.at(-1);
    if (!this.#open || !last) return;
    const rich = RICH_STATEMENT.exec(text);
    if (rich) this.#say(last, rich[1] ?? '');
    else if (/^\s{2,20}\S/.test(text) && !/^[\s~^]*$/.test(text) && !text.startsWith('│'))
      this.#say(last, text.trim().slice(0, 240));
  }

  #say(last: Frame, code: string): void {
    this.#frames[this.#frames.length - 1] = { ...last, code };
    this.#open = false;
  }

  /** The calls so far, outermost first; the next traceback begins anew. */
  take(): readonly Frame[] {
    const frames = this.#frames;
    this.#frames = [];
    this.#open = false;
    return frames;
  }
}
