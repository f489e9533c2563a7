import { resolvePath } from '../text/uri';
import { isConfigName, SKIPPED_FOLDERS } from './config-names';
import type { Host } from './host';

/** Of a tree that is asked for over a network: so many folders are looked into, the nearest first. */
const MOST_FOLDERS = 1000;

/** Files below a folder that may be configs, as the host lists them: for places that are on no disk. In order of their names. */
export async function listedConfigs(
  root: string,
  host: Pick<Host, 'list' | 'listFolders'>,
): Promise<string[]> {
  const found: string[] = [];
  let looked = 0;
  let level = [root];
  while (level.length > 0 && looked < MOST_FOLDERS) {
    const now = level.slice(0, MOST_FOLDERS - looked);
    looked += now.length;
    // All of a depth at once: the editor is asked once for each.
    const listed = await Promise.all(
      now.map(async (folder) => {
        const at = (name: string) => resolvePath(folder, `./${name}`) ?? [];
        const [files = [], folders = []] = await Promise.all([
          host.list?.(folder),
          host.listFolders?.(folder),
        ]);
        return {
          files: files.filter(isConfigName).flatMap(at),
          folders: folders.filter((name) => !SKIPPED_FOLDERS.has(name)).flatMap(at),
        };
      }),
    );
    found.push(...listed.flatMap(({ files }) => files));
    level = listed.flatMap(({ folders }) => folders);
  }
  return found.sort();
}
