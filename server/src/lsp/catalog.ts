import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { catalogOf } from '../features/catalog';
import type { Catalog } from '../features/catalog-protocol';
import { detectGpus } from '../hardware/detect';
import type { Host } from '../workspace/host';
import { hubCache } from '../workspace/hub-cache';

/** What a person can choose from. The driver is asked only where that is wanted and allowed. */
export async function readCatalog(host: Host, mayDetect: boolean): Promise<Catalog> {
  const cache = hubCache(host.environment, host.home);
  const folders = cache?.startsWith('file:') ? await readdir(fileURLToPath(cache)).catch(() => []) : [];
  return catalogOf(folders, mayDetect ? await detectGpus() : undefined);
}
