import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Desk } from '../agents/desk';
import { KeptWorkspaces } from '../agents/kept-workspaces';
import { Workspace, type WorkspaceOptions } from '../workspace/analyze';
import { commandLineFacts, type RunOptions } from '../workspace/command-line-facts';
import { findConfigs } from '../workspace/config-files';
import { liesInside } from '../workspace/confined-host';
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
  const kept = new KeptWorkspaces(MOST_KEPT);
  return {
    get folders() {
      return host.folders;
    },
    offered: new Map(),
    workspace(stated: RunOptions) {
      const facts = commandLineFacts(stated);
      if (facts.length === 0) return own;
      return kept.of(stated, () => new Workspace(host, { ...options, commandLine: facts }));
    },
    // Folders that lie on no disk are not searched: their files are named.
    candidates: async (folder) =>
      folder.startsWith('file:')
        ? (await findConfigs(fileURLToPath(folder), () => undefined)).map((file) => pathToFileURL(file).href)
        : [],
    isInside: (uri) => liesInside(uri, host.folders, host),
    write,
  };
}
