import { CancellationTokenSource, l10n, type QuickPickItem, QuickPickItemKind, Uri, window } from 'vscode';
import type { CompareParams, KnownConfigs } from '../../../server/src/shared/protocol';
import type { ComparedWith } from '../../webview/messages';
import { knownConfigLabel, knownConfigText } from '../known-configs';
import type { LanguageServer } from '../language-server';
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
  server: Pick<LanguageServer, 'configs' | 'foundConfigs'>,
): Promise<Other | undefined> {
  if (choice.with === 'releases') {
    const name = l10n.t('{0} under the newest releases', uri.path.split('/').pop() ?? uri.path);
    return { name, config: { releases: 'newest' }, choice, isAfter: true };
  }
  if (choice.with === 'file') {
    const picked = choice.uri === undefined ? await pickConfig(uri, server) : Uri.parse(choice.uri);
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

interface ConfigItem extends QuickPickItem {
  readonly uri?: string;
}

/** A config of the workspace, with how it comes out; a file anywhere last. */
async function pickConfig(
  uri: Uri,
  server: Pick<LanguageServer, 'configs' | 'foundConfigs'>,
): Promise<Uri | undefined> {
  const source = new CancellationTokenSource();
  const browse: ConfigItem = { label: `$(folder-opened) ${l10n.t('Browse...')}` };
  const itemsOf = (found: KnownConfigs | undefined): ConfigItem[] => [
    ...(found?.configs ?? [])
      .filter((config) => config.uri !== uri.toString())
      .map((config) => ({
        label: knownConfigLabel(config),
        description: knownConfigText(config),
        uri: config.uri,
      })),
    browse,
  ];
  const list = window.createQuickPick<ConfigItem>();
  list.title = l10n.t('Config to compare with');
  list.matchOnDescription = true;
  // What was found before stands there at once, and the way to any file does always.
  list.items = itemsOf(server.foundConfigs);
  list.busy = true;
  list.keepScrollPosition = true;
  const picked = await new Promise<ConfigItem | undefined>((resolve) => {
    list.onDidAccept(() => resolve(list.activeItems[0]));
    list.onDidHide(() => resolve(undefined));
    list.show();
    void server
      .configs(source.token, true)
      .then(
        (found) => {
          if (source.token.isCancellationRequested) return;
          const active = list.activeItems[0]?.uri;
          list.items = itemsOf(found);
          const same = list.items.find((item) => active !== undefined && item.uri === active);
          if (same) list.activeItems = [same];
        },
        () => undefined,
      )
      .finally(() => {
        if (!source.token.isCancellationRequested) list.busy = false;
      });
  });
  source.cancel();
  list.dispose();
  if (!picked) return undefined;
  return picked.uri === undefined ? browseFor(uri) : Uri.parse(picked.uri);
}

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
