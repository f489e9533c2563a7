import { withChanges } from '../../memo/on-demand';
import { compareVerdicts } from '../../results/verdict-order';
import type { Location } from '../../text/place';
import { lineOfRoot } from '../../text/run-root';
import { fileName, relativePath } from '../../text/uri';
import type { Analysis, RunOption } from '../analysis';
import type { FullReading, TrackedFiles } from '../file-cache';
import { rootOf } from '../launch-readings';
import { type FollowedLinks, followLinks } from '../links';
import { findRuns, type RunFiles, type RunsOfFile } from '../runs';
import { verdictSeverity } from '../verdict-severity';
import type { Assembled } from './assembled';
import { type AssemblyOptions, type Collected, collect } from './collect';
import { judge } from './judge';
import { type Known, know } from './know';
import { type OtherWay, otherWays, runOnWay } from './other-ways';
import { read } from './read';
import { resolve } from './resolve';
import { type SettledRun, settle } from './settle';

/** Worst first: what does not fit, then what is tight, by how full the GPU gets; last what runs on CPUs and takes nothing of it. */
function worse(a: Analysis, b: Analysis): number {
  const verdict = ({ estimate }: Analysis) => estimate?.verdict ?? 'unknown';
  const share = ({ estimate }: Analysis) =>
    estimate ? estimate.peak.processBytes / Math.max(1, estimate.capacityBytes) : 0;
  const onCpu = ({ unread = [] }: Analysis) => Number(unread.some((one) => one.onCpu));
  return onCpu(a) - onCpu(b) || compareVerdicts(verdict(b), verdict(a)) || share(b) - share(a);
}

function optionOf(root: string, analysis: Analysis, folders: readonly string[]): RunOption {
  const { estimate } = analysis;
  const inside = folders.flatMap((folder) => relativePath(folder, root) ?? []);
  const name = inside.sort((a, b) => a.length - b.length)[0] ?? fileName(root);
  const line = lineOfRoot(root);
  return {
    root,
    ...(line === undefined ? { name } : { name: `${name}:${line}`, line }),
    verdict: estimate?.verdict ?? 'unknown',
    /** Problems are looked for when somebody asks. */
    get severity() {
      return verdictSeverity(analysis);
    },
    peakBytes: estimate?.peak.processBytes,
    capacityBytes: estimate?.capacityBytes,
  };
}

/**
 * Joins all that is known about one config into its analysis. A file that several runs use is looked at in each of them:
 * the one that the user chose is shown, else the worst. `within` are the runs of a file that shows no family by itself.
 */
export async function assemble(
  config: FullReading,
  files: TrackedFiles,
  options: AssemblyOptions,
  within?: RunsOfFile,
): Promise<Analysis> {
  const followed = await followLinks(config, files);
  const { runs, uses } = within ?? (await findRuns(config, files));
  const usedBy = uses.map((use): Location => ({ uri: use.config.uri, range: use.link.range }));
  const all: { root: string; analysis: Analysis }[] = [];
  for (const run of runs) {
    all.push({ root: rootOf(run.root), analysis: await assembleIn(config, run, followed, files, options) });
  }
  all.sort((a, b) => worse(a.analysis, b.analysis));
  const wanted = options.chosenRun?.(config.uri);
  const shown = all.find(({ root }) => root === wanted) ?? all[0];
  if (!shown) throw new Error('A file is part of no run.');
  if (usedBy.length === 0) return shown.analysis;
  return withChanges(shown.analysis, {
    runs: all.map(({ root, analysis }) => optionOf(root, analysis, files.folders)),
    run: shown.root,
    usedBy,
  });
}

/** The analysis of a config as part of one run, phase by phase. */
async function assembleIn(
  config: FullReading,
  runFiles: RunFiles,
  followed: FollowedLinks,
  files: TrackedFiles,
  options: AssemblyOptions,
): Promise<Analysis> {
  const collected = await collect(config, runFiles, followed, files, options);
  const settled = settle(collected);
  const assembled = await assembledOf(collected, settled, files, options);
  const ways: OtherWay[] = [];
  for (const way of otherWays(assembled)) {
    const found = await know(way.settled.joined.resolution, way.collected, files, options);
    const input = runOnWay(way, found);
    if (input) ways.push({ condition: way.condition, input });
  }
  return judge(assembled, options.estimate, ways);
}

/**
 * The files read with what they name. The card that the run has may settle a condition by which they name another model than without it:
 * that one is looked up, and they are read once more.
 */
async function assembledOf(
  collected: Collected,
  settled: SettledRun,
  files: TrackedFiles,
  options: AssemblyOptions,
): Promise<Assembled> {
  const joined = (known: Known): Assembled => {
    const again = read(collected, known);
    return { collected, known, read: again, resolved: resolve(collected, known, again, settled) };
  };
  const assembled = joined(await know(settled.joined.resolution, collected, files, options));
  const { resolution } = assembled.resolved;
  const named = assembled.known.values;
  const isOther = (['model.id', 'model.path'] as const).some(
    (field) => resolution.values[field] !== named[field],
  );
  return isOther ? joined(await know(resolution, collected, files, options)) : assembled;
}
