import { existsSync } from 'node:fs';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { DumpRefusal } from '../measured/byte-stream';
import type { MemorySnapshot } from '../measured/memory-snapshot';
import { formatBytes } from '../wording/figures';
import { say, spokenTag } from '../wording/say';
import type { ReadingOptions } from './log-stream';

/** What the thread is to read, and whose language it speaks. */
export interface SnapshotTask {
  readonly file: string;
  readonly language: string;
}

/** What the thread tells. */
export type SnapshotReport =
  | { readonly kind: 'progress'; readonly bytes: number }
  | { readonly kind: 'done'; readonly snapshots: readonly MemorySnapshot[] }
  | { readonly kind: 'failed'; readonly reason: string };

/** Heap of the thread: a snapshot of 1 GB takes a fifth of it, and one that is made to fill it ends alone. */
const MOST_HEAP_MIB = 1024;

/** Beside this file: a module of its own where the server is bundled, the source where tests load it as it stands. */
function workerFile(): string {
  const places = ['.mjs', '.js', '.ts'].map((ending) => path.join(__dirname, `snapshot-worker${ending}`));
  return places.find((place) => existsSync(place)) ?? places[0] ?? '';
}

/**
 * Snapshots of a file, read in a thread of its own. Rejects with `DumpRefusal` where it is none, and with the signal's reason
 * where that ends it.
 */
export function readSnapshotFile(
  file: string,
  { progress, signal }: ReadingOptions = {},
): Promise<readonly MemorySnapshot[]> {
  signal?.throwIfAborted();
  const workerData: SnapshotTask = { file, language: spokenTag() };
  const resourceLimits = { maxOldGenerationSizeMb: MOST_HEAP_MIB };
  const worker = new Worker(workerFile(), { workerData, resourceLimits });
  const { promise, resolve, reject } = deferred<readonly MemorySnapshot[]>();
  const stop = () => reject(signal?.reason);
  signal?.addEventListener('abort', stop);
  worker.on('message', (report: SnapshotReport) => {
    if (report.kind === 'progress') progress?.(report.bytes);
    else if (report.kind === 'done') resolve(report.snapshots);
    else reject(new DumpRefusal(report.reason));
  });
  worker.on('error', (error: NodeJS.ErrnoException) =>
    reject(
      error.code === 'ERR_WORKER_OUT_OF_MEMORY'
        ? new DumpRefusal(say('it takes more than {0} to read', formatBytes(MOST_HEAP_MIB * 2 ** 20)))
        : error,
    ),
  );
  worker.on('exit', (code) => reject(new DumpRefusal(say('reading it ended with code {0}', String(code)))));
  return promise.finally(() => {
    signal?.removeEventListener('abort', stop);
    void worker.terminate();
  });
}

interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
}

/** `Promise.withResolvers` of Node 22. */
function deferred<T>(): Deferred<T> {
  let [resolve, reject]: [(value: T) => void, (reason: unknown) => void] = [() => {}, () => {}];
  const promise = new Promise<T>((done, failed) => {
    resolve = done;
    reject = failed;
  });
  return { promise, resolve, reject };
}
