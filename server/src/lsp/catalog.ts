import { catalogOf } from '../features/catalog';
import type { Catalog } from '../features/catalog-protocol';
import type { Host } from '../workspace/host';
import { hubCache } from '../workspace/hub-cache';
import type { LocalMachine } from './runtime';

/** What a person can choose from. The driver is asked only where that is wanted and allowed. */
export async function readCatalog(
  host: Host,
  mayDetect: boolean,
  machine: LocalMachine | undefined,
): Promise<Catalog> {
  const cache = hubCache(host.environment, host.home);
  const folders = cache === undefined ? [] : ((await host.listFolders?.(cache)) ?? []);
  return catalogOf(folders, mayDetect ? await machine?.detectGpus() : undefined);
}
