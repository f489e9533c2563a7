import type { Desk } from '../agents/desk';
import { KeptWorkspaces } from '../agents/kept-workspaces';
import { Workspace, type WorkspaceOptions } from '../workspace/analyze';
import { commandLineFacts, type RunOptions } from '../workspace/command-line-facts';
import { liesInside } from '../workspace/confined-host';
import { listedConfigs } from '../workspace/listed-configs';
import type { EditorHost } from './open-files';
import type { LocalMachine } from './runtime';

/** Workspaces for what an agent stated beside the files; their texts are the editor's. */
const MOST_KEPT = 4;

interface Parts {
  readonly options: WorkspaceOptions;
  readonly machine: LocalMachine | undefined;
  readonly write: Desk['write'];
}

/** The folders of an editor as tools of agents see them: unsaved texts, settings, and changes that the editor carries out. */
export function editorDesk(host: EditorHost, own: Workspace, { options, machine, write }: Parts): Desk {
  const kept = new KeptWorkspaces(MOST_KEPT);
  return {
    get folders() {
      return host.opened;
    },
    offered: new Map(),
    workspace(stated: RunOptions) {
      const facts = commandLineFacts(stated);
      if (facts.length === 0) return own;
      return kept.of(stated, () => new Workspace(host, { ...options, commandLine: facts }));
    },
    candidates: async (folder) =>
      machine && folder.startsWith('file:') ? machine.configsBelow(folder) : listedConfigs(folder, host),
    isInside: (uri) => liesInside(uri, host.opened, host),
    write,
  };
}
