import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';

/** Texts that are kept for whoever asks for the same object again, together. Characters. */
const MOST_CHARACTERS = 64 * 2 ** 20;
const NEWLINE = 10;

interface Waiting {
  readonly resolve: (text: string) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Texts of the objects of a repository, read by one process of git. Two trees that hold the same file have one object of it,
 * which is read once. Rejects for an object that is not there.
 */
export class GitObjects {
  readonly #root: string;
  #child: ChildProcessWithoutNullStreams | undefined;
  /** In the order in which git was asked: it answers in that order. */
  readonly #waiting: Waiting[] = [];
  /** Objects that were asked for, the latest last. */
  readonly #known = new Map<string, Promise<string>>();
  #characters = 0;
  /** Ids that git is asked for with the next write. */
  #asked: string[] = [];
  /** What came of the answer that is not whole yet. */
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** Bytes that it takes to go on: the end of a head, or of a content. */
  #wanted = 1;

  constructor(root: string) {
    this.#root = root;
  }

  /** The text of an object. `next`: objects that are likely asked for after it, which come with the same answer of git. */
  read(id: string, next: () => readonly string[] = () => []): Promise<string> {
    const known = this.#known.get(id);
    if (known) return known;
    const text = this.#ask(id);
    for (const other of next()) if (!this.#known.has(other)) this.#ask(other).catch(() => undefined);
    return text;
  }

  close(): void {
    this.#child?.stdin.end();
    this.#child = undefined;
  }

  #ask(id: string): Promise<string> {
    const text = new Promise<string>((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
    });
    // One write for all that is asked in one go: a write costs as much as a hundred short texts.
    if (this.#asked.push(id) === 1) queueMicrotask(() => this.#write());
    this.#known.set(id, text);
    text.then(
      ({ length }) => this.#count(length),
      () => this.#known.delete(id),
    );
    return text;
  }

  #write(): void {
    const ids = this.#asked;
    this.#asked = [];
    this.#started().stdin.write(`${ids.join('\n')}\n`);
  }

  /** All are forgotten where they are too many: they can be read again. */
  #count(characters: number): void {
    this.#characters += characters;
    if (this.#characters <= MOST_CHARACTERS) return;
    this.#characters = 0;
    this.#known.clear();
  }

  #started(): ChildProcessWithoutNullStreams {
    if (this.#child) return this.#child;
    const child = spawn('git', ['-C', this.#root, 'cat-file', '--batch']);
    child.stdout.on('data', (data: Buffer) => {
      this.#chunks.push(data);
      this.#bytes += data.length;
      if (this.#bytes >= this.#wanted) this.#take();
    });
    const fail = () => {
      for (const { reject } of this.#waiting.splice(0)) reject(new Error('git cat-file ended'));
    };
    child.stdin.on('error', fail);
    child.on('error', fail);
    child.on('close', fail);
    this.#child = child;
    return child;
  }

  /** Answers are `<id> blob <bytes>\n<content>\n`, or `<id> missing\n`. */
  #take(): void {
    const all =
      this.#chunks.length === 1 ? (this.#chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(this.#chunks);
    let start = 0;
    for (;;) {
      const end = all.indexOf(NEWLINE, start);
      this.#wanted = all.length - start + 1;
      if (end < 0) break;
      const [, , size] = all.toString('latin1', start, end).split(' ');
      const bytes = size === undefined ? -1 : Number(size);
      const after = end + 1 + bytes + 1;
      this.#wanted = after - start;
      if (all.length < after) break;
      const waiting = this.#waiting.shift();
      if (bytes < 0) waiting?.reject(new Error('no such object'));
      else waiting?.resolve(all.toString('utf8', end + 1, end + 1 + bytes).replace(/^\ufeff/, ''));
      start = after;
    }
    this.#chunks = start === all.length ? [] : [all.subarray(start)];
    this.#bytes = all.length - start;
  }
}
