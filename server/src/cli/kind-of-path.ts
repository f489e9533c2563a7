import { stat } from 'node:fs/promises';
import path from 'node:path';

/** What lies at a path that somebody wrote; undefined where nothing does. */
export async function kindOf(
  written: string,
  folder = process.cwd(),
): Promise<'file' | 'folder' | undefined> {
  const entry = await stat(path.resolve(folder, written)).catch(() => undefined);
  return entry && (entry.isDirectory() ? 'folder' : 'file');
}
