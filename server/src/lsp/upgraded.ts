import { KeptWorkspaces } from '../agents/kept-workspaces';
import type { Analysis } from '../workspace/analysis';
import { Workspace, type WorkspaceOptions } from '../workspace/analyze';
import type { Host } from '../workspace/host';
import { newestReleaseFacts } from '../workspace/newest-releases';

/** Analyses of files as they would be under the newest releases of the packages that count. */
export function underNewestReleases(
  host: Host,
  options: WorkspaceOptions,
): (uri: string) => Promise<Analysis | undefined> {
  const kept = new KeptWorkspaces(1);
  const make = () => new Workspace(host, { ...options, commandLine: newestReleaseFacts() });
  return (uri) => kept.of({}, make).analyze(uri);
}
