import { createReadStream } from 'node:fs';
import { LineSplitter } from '../measured/line-splitter';
import type { LogLine } from '../measured/log-line';

/** How far a reader is, and whether somebody still waits for it. */
export interface ReadingOptions {
  /** Receives the bytes so far, every few megabytes. */
  readonly progress?: (bytes: number) => void;
  /** Ends the reading: it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Reads a log as a stream, line by line; `-` is standard input. Rejects with the system's error where it cannot be read. */
export async function readLog(
  file: string,
  each: (line: LogLine) => void,
  { progress, signal }: ReadingOptions = {},
): Promise<void> {
  const splitter = new LineSplitter();
  const stream: AsyncIterable<Uint8Array> =
    file === '-' ? process.stdin : createReadStream(file, { highWaterMark: 2 ** 20 });
  let bytes = 0;
  let reported = 0;
  for await (const chunk of stream) {
    signal?.throwIfAborted();
    for (const line of splitter.push(chunk)) each(line);
    bytes += chunk.length;
    if (bytes - reported < 32 * 2 ** 20) continue;
    reported = bytes;
    progress?.(bytes);
  }
  for (const line of splitter.end()) each(line);
}
