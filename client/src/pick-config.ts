import { CancellationTokenSource, l10n, type QuickPickItem, Uri, window } from 'vscode';
import type { KnownConfigs } from '../../server/src/shared/protocol';
import { knownConfigLabel, knownConfigText } from './known-configs';
import type { LanguageServer } from './language-server';

interface ConfigItem extends QuickPickItem {
  readonly uri?: string;
}

export type ConfigLists = Pick<LanguageServer, 'configs' | 'foundConfigs'>;

/** A config of the workspace, with how it comes out, but `but`; `browse` for a file anywhere is last. */
export async function pickConfig(
  title: string,
  server: ConfigLists,
  browse: () => Promise<Uri | undefined>,
  but?: Uri,
): Promise<Uri | undefined> {
  const source = new CancellationTokenSource();
  const anywhere: ConfigItem = { label: `$(folder-opened) ${l10n.t('Browse...')}` };
  const itemsOf = (found: KnownConfigs | undefined): ConfigItem[] => [
    ...(found?.configs ?? [])
      .filter((config) => config.uri !== but?.toString())
      .map((config) => ({
        label: knownConfigLabel(config),
        description: knownConfigText(config),
        uri: config.uri,
      })),
    anywhere,
  ];
  const list = window.createQuickPick<ConfigItem>();
  list.title = title;
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
  return picked.uri === undefined ? browse() : Uri.parse(picked.uri);
}
