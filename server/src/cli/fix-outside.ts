import { pathToFileURL } from 'node:url';
import type { WrittenFile } from '../advice/write/write';
import { isInside, parentUri, pathOfUri } from '../text/uri';
import { DiskHost } from '../workspace/disk-host';
import { repositoryAround } from '../workspace/repository-root';

/** Files that a fix would change and that the command was not given, with the folder that it was. */
export interface OutsideFiles {
  readonly folder: string;
  readonly uris: ReadonlySet<string>;
}

/**
 * Which files a fix may write: those of the folder where the command was started if it holds the config, else of the config's own
 * folder, or of the repository around either. The others are somebody else's: they are named, and left as they are.
 */
export async function outsideFiles(
  uri: string,
  files: readonly WrittenFile[],
  folder: string,
): Promise<OutsideFiles> {
  const started = pathToFileURL(folder).href;
  const own = isInside(uri, [started]) ? started : (parentUri(uri) ?? started);
  const root = (await repositoryAround(own, new DiskHost([]))) ?? own;
  const tree = root.replace(/\/$/, '');
  const others = files.filter((file) => !isInside(file.uri, [tree]));
  return { folder: pathOfUri(tree), uris: new Set(others.map((file) => file.uri)) };
}
