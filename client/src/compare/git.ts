import { extensions, type Uri } from 'vscode';

/** As much of the API of VS Code's own Git extension as is needed (vscode: extensions/git/src/api/git.d.ts). */
interface GitExtension {
  getAPI(version: 1): GitApi;
}
interface GitApi {
  getRepository(uri: Uri): GitRepository | null;
}
interface GitRepository {
  show(ref: string, path: string): Promise<string>;
}

/** Text of a file at a commit; undefined where there is no repository or no such file in it. */
export async function textInGit(uri: Uri, ref = 'HEAD'): Promise<string | undefined> {
  const extension = extensions.getExtension<GitExtension>('vscode.git');
  if (!extension) return undefined;
  const { getAPI } = extension.isActive ? extension.exports : await extension.activate();
  const repository = getAPI.call(extension.exports, 1).getRepository(uri);
  return repository?.show(ref, uri.fsPath).catch(() => undefined);
}
