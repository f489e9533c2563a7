import type { LogLine } from './log-line';
import { type OtherKind, type OtherMessage, readOtherMessage } from './other-message';
import { isWhole, readTorchMessage, TORCH_MESSAGE, type TorchMessage } from './torch-message';
import { type Frame, TracebackReader } from './traceback';

/** A moment at which memory ran out, as a log tells of it. */
export interface OutOfMemory {
  readonly kind: 'torch' | OtherKind;
  /** Line of the message, from 0. */
  readonly line: number;
  /** Global rank that stated it, where the log tells. */
  readonly rank?: number;
  /** The sentence as it stands, on one line. */
  readonly message: string;
  readonly torch?: TorchMessage;
  readonly other?: OtherMessage;
  /** Calls of the traceback, outermost first. */
  readonly frames: readonly Frame[];
}

/** What a log states of memory that ran out. */
export interface OutOfMemoryLog {
  readonly found: readonly OutOfMemory[];
  /** Further ones that are not kept. */
  readonly more: number;
  /** `PYTORCH_CUDA_ALLOC_CONF` and the like, as the log states it. */
  readonly allocatorSettings?: string;
  /** Commands that start programs, in the order of the log. */
  readonly commands: readonly { readonly line: number; readonly text: string }[];
}

const MOST_FOUND = 64;
const MOST_COMMANDS = 16;
/** Lines that one broken message may go over. */
const MOST_LINES = 8;
/** Workers that write at once. */
const MOST_WRITERS = 512;

const SETTINGS = /\bPYTORCH_(?:CUDA_|HIP_)?ALLOC_CONF['"]?\s?[=:]\s?['"]?([a-z_]{1,40}:[\w:,.[\]>-]{1,200})/;
/** A word that every command has, to pass over other lines at once. */
const STARTS =
  /torchrun|accelerate launch|deepspeed|axolotl|llamafactory|swift |megatron |tune run|litgpt|composer|python/;
const COMMAND =
  /(?:^|[\s+$#>=])((?:[A-Z][A-Z0-9_]{0,60}=\S{0,200} ){0,20}(?:\/\S{1,200}\/)?(?:torchrun|accelerate launch|deepspeed|axolotl train|llamafactory-cli train|swift (?:sft|pt|rlhf)|megatron (?:sft|pt)|tune run|litgpt \w|ns-train|composer|python3?(?:\.\d{1,2})? (?:-u )?(?:-m )?\S{1,300}) .{1,8000})$/;

interface Writer {
  readonly traceback: TracebackReader;
  open?: { readonly line: LogLine; text: string; left: number };
}

/** Reads a log line by line; what it keeps does not grow with the log. */
export class OutOfMemoryReader {
  readonly #writers = new Map<string, Writer>();
  readonly #found: OutOfMemory[] = [];
  readonly #commands: { line: number; text: string }[] = [];
  #more = 0;
  #settings: string | undefined;

  add(line: LogLine): void {
    const writer = this.#writerOf(line.writer);
    if (writer.open) {
      if (this.#continues(writer, line)) return;
      this.#close(writer);
    }
    if (TORCH_MESSAGE.test(line.text)) {
      writer.open = { line, text: line.text, left: MOST_LINES };
      if (isWhole(line.text)) this.#close(writer);
      return;
    }
    const other = readOtherMessage(line.text);
    if (other) this.#keep(line, writer, { kind: other.kind, other });
    else this.#surroundings(line, writer);
  }

  finish(): OutOfMemoryLog {
    for (const writer of this.#writers.values()) this.#close(writer);
    return {
      found: [...this.#found].sort((a, b) => a.line - b.line),
      more: this.#more,
      ...(this.#settings ? { allocatorSettings: this.#settings } : {}),
      commands: this.#commands,
    };
  }

  #writerOf(name: string): Writer {
    let writer = this.#writers.get(name);
    if (!writer) {
      if (this.#writers.size >= MOST_WRITERS) {
        const [oldest = ''] = this.#writers.keys();
        const gone = this.#writers.get(oldest);
        if (gone) this.#close(gone);
        this.#writers.delete(oldest);
      }
      writer = { traceback: new TracebackReader() };
      this.#writers.set(name, writer);
    }
    return writer;
  }

  /** Whether a line goes on with the message before it, which the log or whoever pasted it broke. */
  #continues(writer: Writer, { text }: LogLine): boolean {
    const { open } = writer;
    if (!open || open.left-- <= 0 || text.trim() === '') return false;
    if (/^\s*File "|Traceback|^\[?\d{4}-\d\d-\d\d|\d+%\|/.test(text) || TORCH_MESSAGE.test(text))
      return false;
    const joined = `${open.text} ${text.replace(/^[│|>\s]+|[│|\s]+$/g, '')}`;
    // Only what adds a figure or ends a sentence is part of it.
    if (!/Tried to allocate/.test(open.text) && !/Tried to allocate/.test(joined)) return false;
    open.text = joined;
    if (isWhole(joined)) this.#close(writer);
    return true;
  }

  #close(writer: Writer): void {
    const { open } = writer;
    writer.open = undefined;
    if (!open) return;
    const torch = readTorchMessage(open.text);
    if (torch) this.#keep(open.line, writer, { kind: 'torch', torch }, open.text);
    else {
      // `CUDA out of memory` in prose, or a message without figures.
      const raised = /(?:Error|Exception)\b.{0,80}out of memory/.test(open.text);
      if (raised) this.#keep(open.line, writer, { kind: 'driver', other: { kind: 'driver', certain: true } });
    }
  }

  #keep(
    line: LogLine,
    writer: Writer,
    what: Pick<OutOfMemory, 'kind' | 'torch' | 'other'>,
    text = line.text,
  ): void {
    const message = text.replace(/\s+/g, ' ').trim().slice(0, 1600);
    const frames = writer.traceback.take();
    const again = this.#found.find((old) => old.message === message && old.rank === line.rank);
    if (again && frames.length === 0) return;
    if (this.#found.length >= MOST_FOUND) {
      this.#more++;
      return;
    }
    const rank = line.rank === undefined ? {} : { rank: line.rank };
    this.#found.push({ ...what, ...rank, line: line.number, message, frames });
  }

  #surroundings(line: LogLine, writer: Writer): void {
    writer.traceback.add(line);
    const { text } = line;
    if (text.includes('ALLOC_CONF')) this.#settings = SETTINGS.exec(text)?.[1] ?? this.#settings;
    const command = this.#commands.length < MOST_COMMANDS && STARTS.test(text) ? COMMAND.exec(text) : null;
    if (command) this.#commands.push({ line: line.number, text: (command[1] ?? '').trim() });
  }
}
