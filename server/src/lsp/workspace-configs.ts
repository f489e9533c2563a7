import type { KnownConfig, KnownConfigs } from '../features/workspace-protocol';
import { fieldLabel } from '../run/field-labels';
import { canonicalUri, relativePath } from '../text/uri';
import { type Analysis, isPart } from '../workspace/analysis';
import type { Workspace } from '../workspace/analyze';
import { listedConfigs } from '../workspace/listed-configs';
import { verdictSeverity } from '../workspace/verdict-severity';
import type { EditorHost } from './open-files';
import type { LocalMachine } from './runtime';

/** Configs that are listed; a repository of examples has hundreds. */
const MOST_LISTED = 200;

/**
 * The training configs of the workspace's folders, each run once: what another config starts is reported with that. After every file others
 * get their turn, so that no key that is typed meanwhile waits for more than one analysis.
 */
export async function workspaceConfigs(
  workspace: Workspace,
  host: EditorHost,
  machine: LocalMachine | undefined,
  isCancelled: () => boolean,
): Promise<KnownConfigs> {
  const configs: KnownConfig[] = [];
  let more = 0;
  for (const folder of host.opened) {
    const onDisk = machine && folder.startsWith('file:');
    for (const uri of await (onDisk ? machine.configsBelow(folder) : listedConfigs(folder, host))) {
      await new Promise<void>((resolve) => setTimeout(resolve));
      if (isCancelled()) return { configs, more };
      if (!(await workspace.isWorthChecking(uri))) continue;
      const analysis = await workspace.analyze(uri);
      if (!analysis || isPart(analysis)) continue;
      if (configs.length < MOST_LISTED) configs.push(knownConfig(analysis, folder));
      else more++;
    }
  }
  return { configs, more };
}

function knownConfig(analysis: Analysis, folder: string): KnownConfig {
  const { uri, dialect, estimate, resolved, model, accelerator, files } = analysis;
  return {
    uri,
    name: relativePath(folder, uri) ?? uri,
    family: dialect.name,
    model: model?.id ?? resolved.values['model.id'],
    gpu: accelerator?.name ?? resolved.values['hardware.gpu'],
    verdict: estimate?.verdict ?? 'unknown',
    severity: verdictSeverity(analysis),
    ...(estimate && { peakBytes: estimate.peak.processBytes, capacityBytes: estimate.capacityBytes }),
    missing: resolved.unknown.map(({ field }) => fieldLabel(field)),
    files: files.filter((other) => canonicalUri(other) !== canonicalUri(uri)),
  };
}
