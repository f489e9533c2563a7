import type { RunValues } from '../../server/src/run/fields';
import { Workspace } from '../../server/src/workspace/analyze';
import { MemoryHost } from '../../server/src/workspace/memory-host';
import type { CorpusFile } from './corpus-files';

/** What a person would say once for a workspace. */
export const SUPPLIED: RunValues = {
  'model.id': 'meta-llama/Llama-3.1-8B',
  'hardware.gpu': 'H100-SXM5-80GB',
  'hardware.gpus': 8,
};

/** Every repository is a workspace of its own: links between its files lead somewhere. */
export function workspacesOf(files: readonly CorpusFile[]): (repository: string) => Workspace {
  const texts = new Map<string, Record<string, string>>();
  for (const { repository, uri, text } of files) {
    const known = texts.get(repository) ?? {};
    known[uri] = text;
    texts.set(repository, known);
  }
  const workspaces = new Map<string, Workspace>();
  return (repository) => {
    const known = workspaces.get(repository);
    if (known) return known;
    const host = new MemoryHost(texts.get(repository) ?? {}, { folders: [`file:///${repository}`] });
    const workspace = new Workspace(host, { settings: () => SUPPLIED });
    workspaces.set(repository, workspace);
    return workspace;
  };
}
