import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Desk } from '../agents/desk';
import { Workspace } from '../workspace/analyze';
import { commandLineFacts, type RunOptions } from '../workspace/command-line-facts';
import { findConfigs } from '../workspace/config-files';
import { DiskHost } from '../workspace/disk-host';
import { repositoryOf } from './git';
import { GitTreeHost } from './git-tree-host';
import { writeFiles } from './write-files';

/** Workspaces that are kept: agents ask again and again about the same GPU. */
const MOST_KEPT = 8;

/** A folder of the disk as the tools of agents see it. */
export async function diskDesk(root: string): Promise<Desk> {
  const folder = await realpath(root);
  const folders = [pathToFileURL(folder + path.sep).href];
  const kept = new Map<string, Workspace>();
  return {
    folders,
    offered: new Map(),
    workspace(stated: RunOptions) {
      const key = JSON.stringify(stated);
      const facts = commandLineFacts(stated);
      const known = kept.get(key) ?? new Workspace(new DiskHost(folders), { commandLine: facts });
      // The person may have edited a file since the last question.
      known.invalidateAll();
      kept.delete(key);
      kept.set(key, known);
      for (const old of [...kept.keys()].slice(0, -MOST_KEPT)) kept.delete(old);
      return known;
    },
    async atRevision(commit, stated, look) {
      const host = await GitTreeHost.at(await repositoryOf(folder), commit);
      try {
        return await look(new Workspace(host, { commandLine: commandLineFacts(stated) }));
      } finally {
        host.close();
      }
    },
    candidates: async (place) =>
      (await findConfigs(fileURLToPath(place), () => undefined)).map((file) => pathToFileURL(file).href),
    async isInside(uri) {
      const inside = path.relative(folder, await nearestReal(fileURLToPath(uri)));
      return inside !== '..' && !inside.startsWith(`..${path.sep}`) && !path.isAbsolute(inside);
    },
    async write(files) {
      await writeFiles(files);
      return true;
    },
  };
}

/** The real place of a path, or of the nearest folder above it that exists. */
async function nearestReal(file: string): Promise<string> {
  for (let place = file; ; place = path.dirname(place)) {
    const real = await realpath(place).catch(() => undefined);
    if (real !== undefined) return path.join(real, path.relative(place, file));
    if (path.dirname(place) === place) return file;
  }
}
