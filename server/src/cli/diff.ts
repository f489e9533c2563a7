import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { canonicalUri, parentUri } from '../text/uri';
import { say } from '../wording/say';
import { Workspace, type WorkspaceOptions } from '../workspace/analyze';
import { commandLineFacts } from '../workspace/command-line-facts';
import { findConfigs } from '../workspace/config-files';
import { DiskHost } from '../workspace/disk-host';
import type { Host } from '../workspace/host';
import { UsageError } from '../workspace/usage-error';
import { type DiffReportOptions, reportDiff } from './diff-report';
import { git, repositoryOf, revision } from './git';
import { GitObjects } from './git-objects';
import { GitTreeHost } from './git-tree-host';
import type { Output } from './output';
import { diffRuns, type Side, type TreeDiff } from './run-diff';
import { TurningHost } from './turning-host';

/** `oomlint diff BASE..HEAD`: runs that come out otherwise after a change, in one process for both trees. */
export async function diff(range: string, options: DiffReportOptions, output: Output): Promise<number> {
  const folder = process.cwd();
  const root = await repositoryOf(folder);
  const { base, head } = await endsOf(root, range);
  const objects = new GitObjects(root);
  try {
    const [before, after, { changed, renamed }] = await Promise.all([
      GitTreeHost.at(root, base, objects),
      head === undefined ? undefined : GitTreeHost.at(root, head, objects),
      differing(root, base, head),
    ]);
    const found = after
      ? await diffCommits(before, after, changed, renamed, options)
      : await diffRuns(treeSide(before, options), await diskSide(root, options), changed, renamed);
    return await reportDiff(found, { folder, base, head, at: await dateOf(root, head) }, options, output);
  } finally {
    objects.close();
  }
}

/** `a..b`, `a...b` (from where b branched off), or `a` alone: up to the files on the disk. Full names of commits. */
async function endsOf(root: string, range: string): Promise<{ base: string; head?: string }> {
  const [, first = '', dots, last = ''] = /^(.*?)(?:(\.{2,3})(.*))?$/s.exec(range) ?? [];
  const commit = async (name: string) => {
    const full = `${revision(name || 'HEAD')}^{commit}`;
    const found = await git(root, ['rev-parse', '--verify', '--quiet', '--end-of-options', full]).catch(
      () => '',
    );
    if (String(found) === '') throw new UsageError(say('"{0}" is no commit.', name));
    return String(found).trim();
  };
  const base = await commit(first);
  if (dots === undefined) return { base };
  const head = await commit(last);
  return dots === '...'
    ? { base: String(await git(root, ['merge-base', base, head])).trim(), head }
    : { base, head };
}

async function dateOf(root: string, head: string | undefined): Promise<string> {
  if (head === undefined) return new Date().toISOString();
  const seconds = Number(await git(root, ['show', '-s', '--format=%ct', head, '--']));
  return new Date(seconds * 1000).toISOString();
}

/** Files that differ, and where renamed ones were before. */
async function differing(root: string, base: string, head: string | undefined) {
  const uri = (name: string) => canonicalUri(pathToFileURL(path.join(root, name)).href);
  const ends = head === undefined ? [base] : [base, head];
  const words = String(await git(root, ['diff', '--name-status', '-M', '-z', ...ends, '--'])).split('\0');
  const changed = new Set<string>();
  const renamed = new Map<string, string>();
  for (let i = 0; i + 1 < words.length; ) {
    const status = words[i++] ?? '';
    const name = uri(words[i++] ?? '');
    changed.add(name);
    if (!/^[RC]/.test(status)) continue;
    const now = uri(words[i++] ?? '');
    changed.add(now);
    if (status.startsWith('R')) renamed.set(now, name);
  }
  if (head === undefined) {
    const fresh = await git(root, ['ls-files', '--others', '--exclude-standard', '-z']);
    for (const name of String(fresh).split('\0').filter(Boolean)) changed.add(uri(name));
  }
  return { changed, renamed };
}

function workspaceOn(host: Host, options: DiffReportOptions): Workspace {
  const facts: WorkspaceOptions = {
    commandLine: commandLineFacts(options),
    // What files depend on is asked when all of them are read.
    isOpen: () => true,
  };
  return new Workspace(host, facts);
}

function treeSide(tree: GitTreeHost, options: DiffReportOptions): Side {
  return { workspace: workspaceOn(tree, options), candidates: tree.candidates };
}

/** Two commits, in one workspace that turns from the first to the second. */
function diffCommits(
  before: GitTreeHost,
  after: GitTreeHost,
  changed: ReadonlySet<string>,
  renamed: ReadonlyMap<string, string>,
  options: DiffReportOptions,
): Promise<TreeDiff> {
  const host = new TurningHost(before, after);
  const workspace = workspaceOn(host, options);
  const turn = () => {
    host.turn();
    for (const uri of withFolders(changed, before.folders[0] ?? '')) workspace.invalidate(uri);
  };
  const sideOf = ({ candidates }: GitTreeHost): Side => ({ workspace, candidates });
  return diffRuns(sideOf(before), sideOf(after), changed, renamed, { turn });
}

/** Files, and the folders above them up to the root: a folder comes and goes with what it holds. */
function withFolders(files: ReadonlySet<string>, root: string): ReadonlySet<string> {
  const found = new Set(files);
  for (const file of files)
    for (
      let folder = parentUri(file);
      folder?.startsWith(root) && !found.has(folder);
      folder = parentUri(folder)
    )
      found.add(folder);
  return found;
}

async function diskSide(root: string, options: DiffReportOptions): Promise<Side> {
  const files = await findConfigs(root, () => undefined);
  const host = new DiskHost([pathToFileURL(root + path.sep).href]);
  return {
    workspace: workspaceOn(host, options),
    candidates: files.map((file) => canonicalUri(pathToFileURL(file).href)),
  };
}
