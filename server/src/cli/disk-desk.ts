import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Desk } from '../agents/desk';
import { KeptWorkspaces } from '../agents/kept-workspaces';
import { Workspace } from '../workspace/analyze';
import { commandLineFacts, type RunOptions } from '../workspace/command-line-facts';
import { findConfigs } from '../workspace/config-files';
import { keptToFolders, liesInside } from '../workspace/confined-host';
import { DiskHost } from '../workspace/disk-host';
import { repositoryOf } from './git';
import { GitObjects } from './git-objects';
import { GitTreeHost } from './git-tree-host';
import { writeFiles } from './write-files';

/** Workspaces that are kept. */
const MOST_KEPT = 8;

/**
 * A folder of the disk as the tools of agents see it. What its configs name elsewhere stays closed but for the folders `also`:
 * a repository that nobody looked at may name any file, and agents tell what they read.
 */
export async function diskDesk(root: string, also: readonly string[] = []): Promise<Desk> {
  const folder = await realpath(root);
  const asUri = (place: string) => pathToFileURL(place + path.sep).href;
  const folders = [asUri(folder)];
  const readable = [
    ...folders,
    ...(await Promise.all(also.map(async (place) => asUri(await realpath(place))))),
  ];
  const host = keptToFolders(new DiskHost(folders), readable, 'agents');
  const kept = new KeptWorkspaces(MOST_KEPT);
  return {
    folders,
    offered: new Map(),
    workspace(stated: RunOptions) {
      return kept.of(stated, () => new Workspace(host, { commandLine: commandLineFacts(stated) }));
    },
    async atRevision(commit, stated, look) {
      const repository = await repositoryOf(folder);
      const objects = new GitObjects(repository);
      try {
        const tree = await GitTreeHost.at(repository, commit, objects);
        const host = keptToFolders(tree, readable, 'agents');
        return await look(new Workspace(host, { commandLine: commandLineFacts(stated) }));
      } finally {
        objects.close();
      }
    },
    candidates: async (place) =>
      (await findConfigs(fileURLToPath(place), () => undefined)).map((file) => pathToFileURL(file).href),
    isInside: (uri) => liesInside(uri, folders, host),
    async write(files) {
      await writeFiles(files);
      return true;
    },
  };
}
