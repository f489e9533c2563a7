import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { unzipSync } from 'fflate';

/** Unpacks a packaged extension as an editor would install it. Answers the extension's folder. */
export async function unpackVsix(vsix, folder) {
  await rm(folder, { recursive: true, force: true });
  const entries = unzipSync(await readFile(vsix));
  for (const [name, content] of Object.entries(entries)) {
    if (name.startsWith('extension/') && !name.endsWith('/')) {
      const target = path.join(folder, name);
      await mkdir(path.dirname(target), { recursive: true });
      await writeFile(target, content);
    }
  }
  return path.join(folder, 'extension');
}
