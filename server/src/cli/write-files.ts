import { rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { WrittenFile } from '../advice/write/write';
import { writeEdited } from './write-edited';

/** Writes a change of several files. Where one cannot be written, those in front of it are put back, and it rejects. */
export async function writeFiles(files: readonly WrittenFile[]): Promise<void> {
  const done: WrittenFile[] = [];
  try {
    for (const file of files) {
      const { uri, before, after, create } = file;
      if (create) await writeFile(fileURLToPath(uri), after, { flag: 'wx' });
      else await writeEdited(fileURLToPath(uri), before, after);
      done.push(file);
    }
  } catch (error) {
    for (const { uri, before, after, create } of done.reverse()) {
      if (create) await rm(fileURLToPath(uri));
      else await writeEdited(fileURLToPath(uri), after, before);
    }
    throw error;
  }
}
