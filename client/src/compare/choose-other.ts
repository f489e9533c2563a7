import { l10n, type QuickPickItem, QuickPickItemKind, Uri, window } from 'vscode';
import type { CompareParams } from '../../../server/src/shared/protocol';
import type { ComparedWith } from '../../webview/messages';
import { type ConfigLists, pickConfig } from '../pick-config';
import { textInGit, versionsInGit } from './git';

/** What a config is compared with. */
export interface Other {
  readonly name: string;
  readonly config: CompareParams['other'];
  /** It is what the file would become, not what it is held against. */
  readonly isAfter?: boolean;
  /** What finds it again. */
  readonly choice: ComparedWith;
}

/** The other config: the same one under other releases, a version of the file in git, a known config, or one that the person picks. Undefined where nothing was. */
export async function chooseOther(
  uri: Uri,
  choice: ComparedWith,
  server: ConfigLists,
): Promise<Other | undefined> {
  if (choice.with === 'releases') {
    const name = l10n.t('{0} under the newest releases', uri.path.split('/').pop() ?? uri.path);
    return { name, config: { releases: 'newest' }, choice, isAfter: true };
  }
  if (choice.with === 'file') {
    const picked = choice.uri === undefined ? await pickOther(uri, server) : Uri.parse(choice.uri);
    if (picked === undefined) return undefined;
    const name = picked.path.split('/').pop() ?? picked.path;
    const other = picked.toString();
    return { name, config: { uri: other }, choice: { with: 'file', uri: other } };
  }
  const ref = choice.with === 'git' ? 'HEAD' : (choice.ref ?? (await pickVersion(uri)));
  if (ref === undefined) return undefined;
  const text = await textInGit(uri, ref);
  if (text === undefined)
    throw new Error(
      choice.with === 'git'
        ? l10n.t('Git has no committed version of this file.')
        : l10n.t('Git has no version of this file at {0}.', ref),
    );
  return {
    name: /^[0-9a-f]{40}$/.test(ref) ? ref.slice(0, 8) : ref,
    config: { text },
    choice: choice.with === 'git' ? choice : { with: 'commit', ref },
  };
}

interface VersionItem extends QuickPickItem {
  readonly ref?: string;
}

/** Commits that changed the file, newest first, then branches and tags. */
async function pickVersion(uri: Uri): Promise<string | undefined> {
  const versions = await versionsInGit(uri);
  if (!versions) throw new Error(l10n.t('Git has no committed version of this file.'));
  const { commits, refs } = versions;
  const part = (label: string): VersionItem => ({ label, kind: QuickPickItemKind.Separator });
  const items: VersionItem[] = [
    part(l10n.t('Commits of this file')),
    ...commits.map(({ hash, message, date }) => ({
      label: `$(git-commit) ${message.split('\n', 1)[0] ?? ''}`,
      description: [hash.slice(0, 8), date?.toLocaleDateString()].filter(Boolean).join(', '),
      ref: hash,
    })),
    part(l10n.t('Branches and tags')),
    ...refs.map(({ name, kind }) => ({
      label: `$(${kind === 'tag' ? 'tag' : 'git-branch'}) ${name}`,
      ref: name,
    })),
  ];
  const picked = await window.showQuickPick<VersionItem>(items, {
    title: l10n.t('Compare with Version'),
    matchOnDescription: true,
  });
  return picked?.ref;
}

/** Another config of the workspace, or a file anywhere. */
const pickOther = (uri: Uri, server: ConfigLists): Promise<Uri | undefined> =>
  pickConfig(l10n.t('Config to compare with'), server, () => browseFor(uri), uri);

async function browseFor(uri: Uri): Promise<Uri | undefined> {
  const [picked] =
    (await window.showOpenDialog({
      title: l10n.t('Config to compare with'),
      openLabel: l10n.t('Compare'),
      canSelectMany: false,
      defaultUri: Uri.joinPath(uri, '..'),
    })) ?? [];
  return picked;
}
