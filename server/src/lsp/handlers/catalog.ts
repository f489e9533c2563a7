import type { CancellationToken } from 'vscode-languageserver';
import { CATALOG_REQUEST, type Catalog, type CatalogParams } from '../../features/catalog-protocol';
import type { Connected } from './connected';

/** What a person can choose from, and what is on this machine. */
export function onCatalog(server: Connected): void {
  const { connection, host, runner, settings } = server;
  connection.onRequest(CATALOG_REQUEST, (_: CatalogParams, token: CancellationToken) =>
    runner.request<Catalog | null>('Catalog', null, token, async () => {
      const { readCatalog } = await import('../catalog');
      const [folder = ''] = host.opened;
      const mayDetect = server.client.trusted && (await settings.of(folder)).detectGpu;
      return readCatalog(host, mayDetect, server.machine);
    }),
  );
}
