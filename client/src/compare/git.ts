import { type Disposable, type Event, extensions, type Uri } from 'vscode';

/** As much of the API of VS Code's own Git extension as is needed (vscode: extensions/git/src/api/git.d.ts). */
interface GitExtension {
  getAPI(version: 1): GitApi;
}
interface GitApi {
  getRepository(uri: Uri): GitRepository | null;
  toGitUri(uri: Uri, ref: string): Uri;
}
interface GitRepository {
  readonly rootUri: Uri;
  readonly state: { readonly HEAD?: { readonly commit?: string }; readonly onDidChange: Event<void> };
  show(ref: string, path: string): Promise<string>;
  log(options: { readonly maxEntries: number; readonly path: string }): Promise<readonly GitCommit[]>;
  getRefs(query: { readonly sort: 'committerdate' }): Promise<readonly GitRef[]>;
}
interface GitCommit {
  readonly hash: string;
  readonly message: string;
  readonly authorDate?: Date;
}
interface GitRef {
  /** `RefType`: head, head of a remote, tag. */
  readonly type: 0 | 1 | 2;
  readonly name?: string;
}

/** What a file can be compared with. */
interface GitVersions {
  readonly commits: readonly { readonly hash: string; readonly message: string; readonly date?: Date }[];
  readonly refs: readonly { readonly name: string; readonly kind: 'branch' | 'tag' }[];
}

/** Commits of a file that are listed, newest first. */
const MOST_COMMITS = 50;

/** Text of a file at a commit; undefined where there is no repository or no such file in it. */
export async function textInGit(uri: Uri, ref = 'HEAD'): Promise<string | undefined> {
  const repository = await repositoryOf(uri);
  return repository?.show(ref, uri.fsPath).catch(() => undefined);
}

/** The last commit of the repository that holds a file; undefined where there is none. */
export async function headOf(uri: Uri): Promise<string | undefined> {
  return (await repositoryOf(uri))?.state.HEAD?.commit;
}

/** Calls when the repository of a file changes: a commit, a checkout, a file. Undefined where it has none. */
export async function onRepositoryOf(uri: Uri, call: () => void): Promise<ListenedRepository | undefined> {
  const repository = await repositoryOf(uri);
  return repository
    ? { root: repository.rootUri.toString(), listening: repository.state.onDidChange(call) }
    : undefined;
}

/** A repository that somebody listens to. */
interface ListenedRepository {
  readonly root: string;
  readonly listening: Disposable;
}

/** Commits that changed a file, branches and tags; undefined where there is no repository. */
export async function versionsInGit(uri: Uri): Promise<GitVersions | undefined> {
  const repository = await repositoryOf(uri);
  if (!repository) return undefined;
  const [commits, refs] = await Promise.all([
    repository.log({ maxEntries: MOST_COMMITS, path: uri.fsPath }).catch(() => []),
    repository.getRefs({ sort: 'committerdate' }).catch(() => []),
  ]);
  return {
    commits: commits.map(({ hash, message, authorDate }) => ({ hash, message, date: authorDate })),
    refs: refs.flatMap(({ name, type }) => (name ? [{ name, kind: type === 2 ? 'tag' : 'branch' }] : [])),
  };
}

/** The address under which the editor shows a file as it was last committed; undefined where there is no git. */
export async function committed(uri: Uri): Promise<Uri | undefined> {
  return (await gitApi())?.toGitUri(uri, 'HEAD');
}

async function repositoryOf(uri: Uri): Promise<GitRepository | null | undefined> {
  return (await gitApi())?.getRepository(uri);
}

async function gitApi(): Promise<GitApi | undefined> {
  const extension = extensions.getExtension<GitExtension>('vscode.git');
  if (!extension) return undefined;
  const { getAPI } = extension.isActive ? extension.exports : await extension.activate();
  return getAPI.call(extension.exports, 1);
}
