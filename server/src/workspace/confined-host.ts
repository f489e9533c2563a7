import { isInside } from '../text/uri';
import type { Host } from './host';
import { hubCache } from './hub-cache';

type Reading = Pick<Host, 'readText' | 'exists' | 'list' | 'listFolders'>;

/**
 * A disk of which only the given folders and the cache of models are read: what an unknown repository names in its configs
 * (`../../etc/passwd`) stays closed, by links that lie in it, too.
 */
export function confinedHost(disk: Host, folders: readonly string[]): Reading {
  const hub = hubCache(disk.environment, disk.home);
  const open = hub === undefined ? folders : [...folders, hub];
  /** The folders as the disk has them, where they are reached over links themselves. */
  let real: Promise<readonly string[]> | undefined;
  const inside = async (uri: string): Promise<boolean> => {
    if (!isInside(uri, open)) return false;
    const target = await disk.realUri?.(uri);
    // What is not there can be asked about; it has no content.
    if (target === undefined) return true;
    real ??= Promise.all(open.map(async (folder) => (await disk.realUri?.(folder)) ?? folder));
    return isInside(target, await real);
  };
  return {
    readText: async (uri) => ((await inside(uri)) ? disk.readText(uri) : undefined),
    exists: async (uri) => (await inside(uri)) && disk.exists(uri),
    list: async (uri) => ((await inside(uri)) ? disk.list?.(uri) : undefined),
    listFolders: async (uri) => ((await inside(uri)) ? disk.listFolders?.(uri) : undefined),
  };
}
