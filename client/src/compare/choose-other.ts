import { l10n, Uri, window } from 'vscode';
import type { CompareParams } from '../../../server/src/features/protocol';
import { textInGit } from './git';

/** What a config is compared with. */
export interface Other {
  readonly name: string;
  readonly config: CompareParams['other'];
}

/** The other config: the file's own last commit, or a file that the person picks. Undefined where nothing was picked. */
export async function chooseOther(uri: Uri, how: 'git' | 'file'): Promise<Other | undefined> {
  if (how === 'git') {
    const text = await textInGit(uri);
    if (text === undefined) {
      throw new Error(l10n.t('Git has no committed version of this file.'));
    }
    return { name: 'HEAD', config: { text } };
  }
  const [picked] =
    (await window.showOpenDialog({
      title: l10n.t('Config to compare with'),
      openLabel: l10n.t('Compare'),
      canSelectMany: false,
      defaultUri: Uri.joinPath(uri, '..'),
    })) ?? [];
  if (picked === undefined) return undefined;
  return { name: picked.path.split('/').pop() ?? picked.path, config: { uri: picked.toString() } };
}
