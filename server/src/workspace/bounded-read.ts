import { closeSync, openSync, readSync, type Stats } from 'node:fs';
import { constants, open, stat } from 'node:fs/promises';

/** How long a file may take to answer: one on a server that is gone never does. Milliseconds. */
const PATIENCE = 5000;
const CHUNK = 64 * 1024;

/** An answer of the disk; undefined where it does not come in time. */
export async function inTime<T>(answer: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), PATIENCE);
    timer.unref();
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The bytes of a plain file; undefined where there is none, where it holds more than `most` bytes, or where it does not answer
 * in time. Files of the kernel say that they are empty and go on for ever: what is read counts, not what is stated.
 */
export function readBytes(path: string, most: number): Promise<Buffer | undefined> {
  return inTime(read(path, most));
}

async function read(path: string, most: number): Promise<Buffer | undefined> {
  try {
    // Devices do something when they are opened.
    const before = await stat(path);
    if (!before.isFile() || before.size > most) return undefined;
    // A pipe is opened without waiting for whoever writes to it.
    const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const entry = await file.stat();
      if (!entry.isFile() || entry.size > most) return undefined;
      const chunks: Buffer[] = [];
      let length = 0;
      for (;;) {
        // One more than it states, to see its end.
        const wanted = Math.max(1, Math.min(most + 1, length === 0 ? entry.size + 1 : CHUNK));
        const { bytesRead, buffer } = await file.read(Buffer.alloc(wanted), 0, wanted, null);
        if (bytesRead === 0) return chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
        length += bytesRead;
        if (length > most) return undefined;
        chunks.push(buffer.subarray(0, bytesRead));
        if (bytesRead < wanted && length === entry.size) return Buffer.concat(chunks);
      }
    } finally {
      await file.close();
    }
  } catch {
    return undefined;
  }
}

/** The same as text in UTF-8. */
export async function readFileText(path: string, most: number): Promise<string | undefined> {
  return (await readBytes(path, most))?.toString('utf8');
}

const chunk = Buffer.allocUnsafe(CHUNK);

/**
 * As `readFileText`, while everything else waits: for a plain file of a disk that answers. `entry` is what stands in its folder, and
 * a link that took its place is not followed.
 */
export function readFileTextAtOnce(path: string, most: number, entry: Stats): string | undefined {
  const started = performance.now();
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0));
    const chunks: Buffer[] = [];
    for (let length = 0; length <= most && performance.now() - started < PATIENCE; ) {
      const count = readSync(file, chunk, 0, CHUNK, null);
      if (count === entry.size && length === 0) return chunk.toString('utf8', 0, count);
      if (count === 0) return Buffer.concat(chunks).toString('utf8');
      length += count;
      chunks.push(Buffer.from(chunk.subarray(0, count)));
    }
    return undefined;
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
