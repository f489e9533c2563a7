import { stat } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { newestReleases, VERSIONED_PACKAGES, versionStatements } from '../environment/versions';
import type { Problem } from '../text/problem';
import { canonicalUri } from '../text/uri';
import { say } from '../wording/say';
import { Workspace } from '../workspace/analyze';
import { commandLineFacts } from '../workspace/command-line-facts';
import { findConfigs } from '../workspace/config-files';
import { DiskHost } from '../workspace/disk-host';
import { UsageError } from '../workspace/usage-error';
import { type DiffReportOptions, reportDiff } from './diff-report';
import type { Output } from './output';
import { projectsOf } from './projects';
import { diffRuns, type RunDiff, type Side, type TreeDiff } from './run-diff';

export interface UpgradeOptions extends DiffReportOptions {
  /** `PACKAGE=VERSION`; the newest releases of all packages where none is asked for. */
  readonly to?: readonly string[];
}

/** `oomlint upgrade`: runs that come out otherwise under other versions of the packages, each held to how it is now. */
export async function upgrade(
  paths: readonly string[],
  options: UpgradeOptions,
  output: Output,
): Promise<number> {
  const folder = process.cwd();
  const versions = versionsOf(options.to);
  const files = await filesOf(paths, folder, output);
  const stated = versionStatements(versions);
  const { folders, apart } = await projectsOf(folder, paths);
  const side = (set: readonly string[]): Side => ({
    workspace: new Workspace(new DiskHost(folders, apart), {
      commandLine: commandLineFacts({ ...options, set: [...(options.set ?? []), ...set] }),
      isOpen: () => true,
    }),
    candidates: files,
  });
  const found = withoutSurer(await diffRuns(side([]), side(stated), new Set(files), new Map()));
  return reportDiff(found, { folder, versions, at: new Date().toISOString() }, options, output);
}

/** Versions by package, of what is asked for. */
function versionsOf(asked: readonly string[] | undefined): Readonly<Record<string, string>> {
  if (asked === undefined) return newestReleases();
  return Object.fromEntries(
    asked.map((word) => {
      const [, name = '', version = ''] = /^\s*([\w.-]+)\s*==?\s*v?(\d[\w.+-]*)\s*$/.exec(word) ?? [];
      if (version === '') throw new UsageError(`--to: ${say('"{0}" is not PACKAGE=VERSION.', word)}`);
      if (!VERSIONED_PACKAGES.some((known) => known === name))
        throw new UsageError(
          `--to: ${say('{0} is not among the packages whose versions count: {1}.', name, VERSIONED_PACKAGES.join(', '))}`,
        );
      return [name, version];
    }),
  );
}

/** Configs that are named and those below folders that are named. */
async function filesOf(paths: readonly string[], folder: string, output: Output): Promise<string[]> {
  const found = new Set<string>();
  const complain = (what: string) => output.writeError(`oomlint: ${say('{0} cannot be read.', what)}\n`);
  for (const given of paths) {
    const full = path.resolve(folder, given);
    const entry = await stat(full).catch(() => undefined);
    if (!entry) throw new UsageError(say('{0} cannot be read.', given));
    for (const file of entry.isDirectory() ? await findConfigs(full, complain) : [full])
      found.add(canonicalUri(pathToFileURL(file).href));
  }
  return [...found];
}

/** Without problems that only became more or less sure, as the version is known on one side alone. */
function withoutSurer(diff: TreeDiff): TreeDiff {
  const place = ({ code, range }: Problem) => `${code} ${range.start.line}:${range.start.character}`;
  const runs: RunDiff[] = [];
  let equal = diff.equal;
  for (const run of diff.runs) {
    const gone = new Set(run.goneProblems.map(place));
    const fresh = new Set(run.newProblems.map(place));
    const newProblems = run.newProblems.filter((problem) => !gone.has(place(problem)));
    const goneProblems = run.goneProblems.filter((problem) => !fresh.has(place(problem)));
    const same =
      newProblems.length + goneProblems.length === 0 &&
      run.before?.verdict === run.after?.verdict &&
      run.before?.peak?.processBytes === run.after?.peak?.processBytes &&
      run.before?.stepSeconds === run.after?.stepSeconds &&
      run.before?.costUsd === run.after?.costUsd;
    if (same) equal++;
    else runs.push({ ...run, newProblems, goneProblems });
  }
  return { ...diff, runs, equal };
}
