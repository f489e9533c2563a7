import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Desk } from '../agents/desk';
import { isInside, parentUri } from '../text/uri';
import { Workspace, type WorkspaceOptions } from '../workspace/analyze';
import { commandLineFacts, type RunOptions } from '../workspace/command-line-facts';
import { findConfigs } from '../workspace/config-files';
import type { Host } from '../workspace/host';

/** Workspaces for what an agent said beside the files; their texts are the editor's. */
const MOST_KEPT = 4;

/** The folders of an editor as tools of agents see them: unsaved texts, settings, and changes that the editor carries out. */
export function editorDesk(
  host: Host,
  own: Workspace,
  options: WorkspaceOptions,
  write: Desk['write'],
): Desk {
  const kept = new Map<string, Workspace>();
  return {
    get folders() {
      return host.folders;
    },
    offered: new Map(),
    workspace(stated: RunOptions) {
      const facts = commandLineFacts(stated);
      if (facts.length === 0) return own;
      const key = JSON.stringify(stated);
      const known = kept.get(key) ?? new Workspace(host, { ...options, commandLine: facts });
      known.invalidateAll();
      kept.delete(key);
      kept.set(key, known);
      for (const old of [...kept.keys()].slice(0, -MOST_KEPT)) kept.delete(old);
      return known;
    },
    // Folders that lie on no disk are not searched: their files are named.
    candidates: async (folder) =>
      folder.startsWith('file:')
        ? (await findConfigs(fileURLToPath(folder), () => undefined)).map((file) => pathToFileURL(file).href)
        : [],
    async isInside(uri) {
      const real = async (place: string) => (await host.realUri?.(place)) ?? place;
      const folders = await Promise.all(host.folders.map(real));
      // What is not there yet lies where its folder does.
      for (let place: string | undefined = uri; place !== undefined; place = parentUri(place)) {
        const target: string | undefined = await host.realUri?.(place);
        if (target !== undefined) return isInside(target, folders);
      }
      return isInside(uri, host.folders);
    },
    write,
  };
}
