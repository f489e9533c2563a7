import { constants, open } from 'node:fs/promises';
import { inTime } from './bounded-read';

/** Bytes of the number that a file of safetensors begins with: how long its header is. https://huggingface.co/docs/safetensors */
const LENGTH_BYTES = 8;

/**
 * The header of a file of safetensors, JSON of names, types and shapes: of gigabytes of weights nothing else is read. Undefined where the
 * file is none, such as a pointer of Git LFS, and where the header holds more than `most` bytes.
 */
export function readSafetensorsHeader(path: string, most: number): Promise<string | undefined> {
  return inTime(read(path, most));
}

async function read(path: string, most: number): Promise<string | undefined> {
  try {
    const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      if (!(await file.stat()).isFile()) return undefined;
      const start = await file.read(Buffer.alloc(LENGTH_BYTES), 0, LENGTH_BYTES, 0);
      if (start.bytesRead < LENGTH_BYTES) return undefined;
      const length = start.buffer.readBigUInt64LE();
      if (length > BigInt(most)) return undefined;
      const header = Buffer.alloc(Number(length));
      const { bytesRead } = await file.read(header, 0, header.length, LENGTH_BYTES);
      return bytesRead === header.length ? header.toString('utf8') : undefined;
    } finally {
      await file.close();
    }
  } catch {
    return undefined;
  }
}
