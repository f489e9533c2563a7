import assert from 'node:assert/strict';
import { Workspace, type WorkspaceOptions } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

export const ROOT = 'file:///repo';

/** A workspace of a few files in memory, by their paths. */
export function smallWorkspace(files: Readonly<Record<string, string>>, options: WorkspaceOptions = {}) {
  const texts = Object.entries(files).map(([path, text]) => [`${ROOT}/${path}`, text]);
  const host = new MemoryHost(Object.fromEntries(texts), { folders: [ROOT] });
  const workspace = new Workspace(host, options);
  const analyze = async (path: string) => {
    const analysis = await workspace.analyze(`${ROOT}/${path}`);
    assert.ok(analysis, `no analysis of ${path}`);
    return analysis;
  };
  return { host, workspace, analyze };
}
