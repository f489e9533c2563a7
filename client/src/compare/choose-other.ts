import { l10n, Uri, window } from 'vscode';
import type { CompareParams } from '../../../server/src/shared/protocol';
import type { ComparedWith } from '../../webview/messages';
import { textInGit } from './git';

/** What a config is compared with. */
export interface Other {
  readonly name: string;
  readonly config: CompareParams['other'];
  /** What finds it again. */
  readonly choice: ComparedWith;
}

/** The other config: the file's own last commit, a known file, or one that the person picks. Undefined where nothing was. */
export async function chooseOther(uri: Uri, choice: ComparedWith): Promise<Other | undefined> {
  if (choice.with === 'git') {
    const text = await textInGit(uri);
    if (text === undefined) {
      throw new Error(l10n.t('Git has no committed version of this file.'));
    }
    return { name: 'HEAD', config: { text }, choice };
  }
  const picked = choice.uri === undefined ? await pickConfig(uri) : Uri.parse(choice.uri);
  if (picked === undefined) return undefined;
  const name = picked.path.split('/').pop() ?? picked.path;
  const other = picked.toString();
  return { name, config: { uri: other }, choice: { with: 'file', uri: other } };
}

async function pickConfig(uri: Uri): Promise<Uri | undefined> {
  const [picked] =
    (await window.showOpenDialog({
      title: l10n.t('Config to compare with'),
      openLabel: l10n.t('Compare'),
      canSelectMany: false,
      defaultUri: Uri.joinPath(uri, '..'),
    })) ?? [];
  return picked;
}
