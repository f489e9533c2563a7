import { foldersUpward } from '../text/uri';
import type { Host } from './host';

/** Root of the repository that a folder lies in, as a URI with a slash at the end; undefined outside of one. */
export async function repositoryAround(
  folder: string,
  host: Pick<Host, 'exists'>,
): Promise<string | undefined> {
  for (const around of foldersUpward(`${folder.replace(/\/$/, '')}/.git`)) {
    const root = around.replace(/\/$/, '');
    if (await host.exists(`${root}/.git`)) return `${root}/`;
  }
  return undefined;
}
