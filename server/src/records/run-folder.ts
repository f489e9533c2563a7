import { open, readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { scalarsOf } from '../measured/event-file';
import { LogFiguresReader } from '../measured/log-figures';
import { logLines } from '../measured/log-line';
import type { MeasuredFacts, Series } from '../measured/measurement';
import type { MemorySnapshot } from '../measured/memory-snapshot';
import { type OutOfMemoryLog, OutOfMemoryReader } from '../measured/out-of-memory';
import { type ReadingOptions, readLog } from './log-stream';
import { readSnapshotFile } from './snapshot-file';

/** What the files of a run left. */
export interface RunRecord {
  readonly files: readonly string[];
  readonly series: readonly Series[];
  readonly facts: MeasuredFacts;
  readonly retries: number;
  readonly log: OutOfMemoryLog;
  readonly snapshots: readonly MemorySnapshot[];
  /** Files that could not be read, with the reason. */
  readonly unread: readonly { readonly file: string; readonly reason: string }[];
}

/** Names of files that hold figures. */
const LOG =
  /\.(?:log|txt|out|err|jsonl)$|^(?:output|stdout|stderr)|^(?:trainer_state|all_results|train_results|wandb-summary|trainer_log)\.json|^logging\.jsonl$/i;
const EVENTS = /^events\.out\.tfevents\./;
const SNAPSHOT = /\.(?:pickle|pkl)$|snapshot.*\.json$/i;
const METADATA = 'wandb-metadata.json';
const DEEPEST = 5;
const MOST_FILES = 200;
/** TensorBoard files are read whole. */
const LARGEST_EVENTS = 2 ** 28;

/** Files of a run that may hold figures: the file itself, or those in a folder and in the folders in it. */
export async function recordFiles(place: string, snapshots = true): Promise<string[]> {
  if (!(await stat(place)).isDirectory()) return [place];
  const found: string[] = [];
  const names = snapshots ? [LOG, EVENTS, SNAPSHOT] : [LOG, EVENTS];
  const look = async (folder: string, depth: number): Promise<void> => {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    for (const entry of entries.sort((a, b) => a.name.localeCompare(b.name))) {
      if (found.length >= MOST_FILES) return;
      const full = path.join(folder, entry.name);
      if (
        entry.isDirectory() &&
        depth < DEEPEST &&
        !entry.name.startsWith('.') &&
        entry.name !== 'node_modules'
      )
        await look(full, depth + 1);
      else if (entry.isFile() && names.some((name) => name.test(entry.name))) found.push(full);
      else if (entry.isFile() && entry.name === METADATA) found.push(full);
    }
  };
  await look(place, 0);
  return found;
}

/** As of a log, with the file that is read. */
export interface RecordOptions extends Omit<ReadingOptions, 'progress'> {
  readonly progress?: (bytes: number, file: string) => void;
  /** False: memory snapshots of a folder are passed over. They take seconds to read, and pickles may be anything. */
  readonly snapshots?: boolean;
}

/** Reads what a run left, file by file. Rejects with the system's error where there is no such file or folder. */
export async function readRunRecord(place: string, options: RecordOptions = {}): Promise<RunRecord> {
  const files = await recordFiles(place, options.snapshots);
  const { signal } = options;
  let before = 0;
  const figures = new LogFiguresReader();
  const messages = new OutOfMemoryReader();
  const snapshots: MemorySnapshot[] = [];
  const unread: { file: string; reason: string }[] = [];
  let facts: MeasuredFacts = {};
  const commands: string[] = [];
  for (const file of files) {
    signal?.throwIfAborted();
    const { size } = await stat(file).catch(() => ({ size: 0 }));
    const progress = (bytes: number) => options.progress?.(before + bytes, file);
    progress(0);
    const name = path.basename(file);
    try {
      if (EVENTS.test(name)) await readEvents(file, figures);
      else if (name === METADATA) {
        const metadata = await metadataOf(file);
        facts = { ...facts, ...metadata.facts };
        if (metadata.command !== undefined) commands.push(metadata.command);
      } else if (SNAPSHOT.test(name) || (files.length === 1 && (await isSnapshot(file))))
        snapshots.push(...(await readSnapshotFile(file, { progress, ...(signal ? { signal } : {}) })));
      else
        await readLog(
          file,
          (line) => {
            figures.add(line);
            messages.add(line);
          },
          { progress, ...(signal ? { signal } : {}) },
        );
    } catch (error) {
      signal?.throwIfAborted();
      unread.push({ file, reason: error instanceof Error ? error.message : String(error) });
    }
    before += size;
  }
  const read = figures.finish();
  const log = messages.finish();
  return {
    files,
    series: read.series,
    facts: { ...read.facts, ...facts },
    retries: read.retries,
    log: { ...log, commands: [...log.commands, ...commands.map((text) => ({ line: 0, text }))] },
    snapshots,
    unread,
  };
}

/** Scalars go in as the lines that a log of the same metrics would have. */
async function readEvents(file: string, figures: LogFiguresReader): Promise<void> {
  const { size } = await stat(file);
  if (size > LARGEST_EVENTS) throw new Error(`${size} B`);
  let number = 0;
  for (const { tag, step, value } of scalarsOf(new Uint8Array(await readFile(file)))) {
    if (!/mem/i.test(tag)) continue;
    for (const line of logLines(JSON.stringify({ step, [tag]: value }), number++)) figures.add(line);
  }
}

interface Metadata {
  readonly gpu_nvidia?: unknown;
  readonly gpu_count?: unknown;
  readonly program?: unknown;
  readonly args?: unknown;
}

/**
 * `wandb-metadata.json`: the card and its memory, and the command. How many processes were started it does not hold, so the
 * command counts on machines with one card alone.
 */
async function metadataOf(file: string): Promise<{ facts: MeasuredFacts; command?: string }> {
  const data: unknown = JSON.parse(await readFile(file, 'utf8'));
  if (typeof data !== 'object' || data === null) return { facts: {} };
  const { gpu_nvidia: cards, gpu_count: count, program, args }: Metadata = data;
  const [first] = (Array.isArray(cards) ? cards : []) as readonly {
    readonly name?: unknown;
    readonly memoryTotal?: unknown;
  }[];
  const capacity = Number(first?.memoryTotal);
  const words = Array.isArray(args) ? args.filter((one) => typeof one === 'string') : [];
  const isWhole = typeof program === 'string' && count === 1 && words.length > 0;
  return {
    facts: {
      ...(typeof first?.name === 'string' ? { gpu: first.name } : {}),
      ...(Number.isSafeInteger(capacity) && capacity > 0 ? { capacityBytes: capacity } : {}),
    },
    ...(isWhole ? { command: ['python', program, ...words.map(quoted)].join(' ') } : {}),
  };
}

/** As a shell reads it as one word. */
const quoted = (word: string) =>
  /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** What the dump of a snapshot begins with, as a pickle or as JSON: one that a person names may have any name. */
async function isSnapshot(file: string): Promise<boolean> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(256), 0, 256, 0);
    if (bytesRead >= 2 && buffer[0] === 0x80 && (buffer[1] ?? 9) <= 5) return true;
    return /^\s{0,64}\{\s{0,64}"(?:segments|device_traces)"/.test(buffer.toString('latin1', 0, bytesRead));
  } finally {
    await handle.close();
  }
}
