import { isInside, parentUri } from '../text/uri';
import type { Confinement, Host } from './host';
import { hubCache } from './hub-cache';

type Reading = Pick<Host, 'readText' | 'exists' | 'list' | 'listFolders'>;

/**
 * A disk of which only the given folders and the cache of models are read: what an unknown repository names in its configs
 * (`../../etc/passwd`) stays closed, by links that lie in it, too.
 */
export function confinedHost(disk: Host, folders: readonly string[]): Reading {
  const hub = hubCache(disk.environment, disk.home);
  const open = hub === undefined ? folders : [...folders, hub];
  const inside = (uri: string) => liesInside(uri, open, disk);
  return {
    readText: async (uri) => ((await inside(uri)) ? disk.readText(uri) : undefined),
    exists: async (uri) => (await inside(uri)) && disk.exists(uri),
    list: async (uri) => ((await inside(uri)) ? disk.list?.(uri) : undefined),
    listFolders: async (uri) => ((await inside(uri)) ? disk.listFolders?.(uri) : undefined),
  };
}

/** A whole host that keeps to its folders, and names why. */
export function keptToFolders(disk: Host, folders: readonly string[], confined: Confinement): Host {
  return {
    ...confinedHost(disk, folders),
    realUri: async (uri) => disk.realUri?.(uri),
    confined,
    folders,
    environment: disk.environment,
    home: disk.home,
  };
}

/** Whether a place lies in one of the folders by its name, and its links followed. What is not there lies where its folder does. */
export async function liesInside(
  uri: string,
  folders: readonly string[],
  host: Pick<Host, 'realUri'>,
): Promise<boolean> {
  const named = folders.filter((folder) => isInside(uri, [folder]));
  if (named.length === 0) return false;
  const realOf = async (folder: string) => (await host.realUri?.(folder)) ?? folder;
  for (let place: string | undefined = uri; place !== undefined; place = parentUri(place)) {
    // One of the folders itself, whatever it leads to.
    if (named.includes(place)) return true;
    const target: string | undefined = await host.realUri?.(place);
    if (target === undefined) continue;
    if (isInside(target, await Promise.all(named.map(realOf)))) return true;
    // A link may lead from one folder to another.
    const others = folders.filter((folder) => !named.includes(folder));
    return isInside(target, await Promise.all(others.map(realOf)));
  }
  return true;
}
