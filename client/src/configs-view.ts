import {
  CancellationTokenSource,
  commands,
  Disposable,
  EventEmitter,
  l10n,
  ThemeColor,
  ThemeIcon,
  type TreeDataProvider,
  TreeItem,
  TreeItemCollapsibleState,
  Uri,
  window,
} from 'vscode';
import type { KnownConfig, KnownConfigs } from '../../server/src/shared/protocol';
import { compareVerdicts, verdictAt } from '../../server/src/shared/words';
import { knownConfigText } from './known-configs';
import type { LanguageServer } from './language-server';
import { verdictSign } from './verdict-sign';

const VIEW = 'oomlint.configs';
/** Pause after the last change before the folders are looked through again. */
const REST_MS = 1_500;

/** Colours of signs. */
const COLORS = {
  pass: new ThemeColor('oomlint.verdict.fits'),
  warning: new ThemeColor('oomlint.verdict.tight'),
  error: new ThemeColor('oomlint.verdict.exceeds'),
  info: undefined,
  question: undefined,
} as const;

function iconOf(config: KnownConfig): ThemeIcon {
  const sign = verdictSign(config);
  return new ThemeIcon(sign, COLORS[sign]);
}

/** A config, or another file of its run. */
type Row =
  | { readonly config: KnownConfig; readonly uri: string }
  | { readonly file: string; readonly uri: string };

/**
 * The training configs of the workspace, those that do not fit first, in the Explorer. It is there only where a training config was
 * seen; from then on they are looked for while nothing else happens, so that the badge is there whether the view is open or not.
 */
export function showsConfigs(server: LanguageServer): Disposable {
  const rows = new ConfigRows(server);
  const view = window.createTreeView<Row>(VIEW, { treeDataProvider: rows, showCollapseAll: true });
  let timer: NodeJS.Timeout | undefined;
  let seen = false;
  return Disposable.from(
    view,
    rows,
    new Disposable(() => clearTimeout(timer)),
    rows.onFound(({ configs, more }) => {
      // As their signs have it: what may fit as it is started is none of them.
      const large = configs.filter((config) => verdictSign(config) === 'error').length;
      view.badge =
        large > 0
          ? { value: large, tooltip: l10n.t('{0} of {1} configs do not fit', large, configs.length) }
          : undefined;
      view.message =
        configs.length > 0 && more > 0
          ? l10n.t('The first {0} configs by name. {1} more are not listed.', configs.length, more)
          : undefined;
    }),
    server.onStatus(({ status }) => {
      if (status !== undefined && !seen) {
        seen = true;
        void commands.executeCommand('setContext', 'oomlint.configSeen', true);
      }
      if (!seen) return;
      clearTimeout(timer);
      timer = setTimeout(() => void rows.look(true), REST_MS);
    }),
    view.onDidChangeVisibility(({ visible }) => {
      if (visible) void rows.look(false);
    }),
    commands.registerCommand('oomlint.refreshConfigs', () => rows.look(false)),
  );
}

class ConfigRows implements TreeDataProvider<Row>, Disposable {
  readonly #server: LanguageServer;
  readonly #changed = new EventEmitter<void>();
  readonly #found = new EventEmitter<KnownConfigs>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly onFound = this.#found.event;
  readonly #source = new CancellationTokenSource();
  #rows: readonly Row[] | undefined;
  /** What the rows were made of. */
  #shown = '';
  #looking: Promise<void> | undefined;
  /** What was asked for meanwhile. */
  #next: { readonly again: boolean } | undefined;

  constructor(server: LanguageServer) {
    this.#server = server;
  }

  /** Looks for configs: with `again` only at what changed since the last time. What is shown stays until the answer comes. */
  look(again: boolean): Promise<void> {
    if (this.#looking) {
      this.#next = { again: again && (this.#next?.again ?? true) };
      return this.#looking;
    }
    this.#looking = this.#look(again).finally(() => {
      this.#looking = undefined;
      const next = this.#next;
      this.#next = undefined;
      if (next) void this.look(next.again);
    });
    return this.#looking;
  }

  async #look(again: boolean): Promise<void> {
    const found = await this.#server.configs(this.#source.token, again).catch(() => undefined);
    if (!found || this.#source.token.isCancellationRequested) return;
    const shown = JSON.stringify(found);
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.#rows = [...found.configs]
      .sort((a, b) => compareVerdicts(b.verdict, a.verdict) || a.name.localeCompare(b.name))
      .map((config) => ({ config, uri: config.uri }));
    this.#found.fire(found);
    this.#changed.fire();
  }

  async getChildren(row?: Row): Promise<Row[]> {
    if (row) return 'config' in row ? row.config.files.map((uri) => ({ file: uri, uri })) : [];
    if (!this.#rows) await this.look(false);
    return [...(this.#rows ?? [])];
  }

  getTreeItem(row: Row): TreeItem {
    const uri = Uri.parse(row.uri);
    const open = { title: '', command: 'vscode.open', arguments: [uri] };
    if (!('config' in row)) {
      const item = new TreeItem(uri);
      item.command = open;
      return item;
    }
    const { config } = row;
    const state =
      config.files.length > 0 ? TreeItemCollapsibleState.Collapsed : TreeItemCollapsibleState.None;
    // In a narrow side bar the end is cut off: what a config is called and what it needs stand before where it lies.
    const end = config.name.lastIndexOf('/');
    const item = new TreeItem(config.name.slice(end + 1), state);
    const text = knownConfigText(config);
    item.id = config.uri;
    item.description = end < 0 ? text : `${text} · ${config.name.slice(0, end)}`;
    item.tooltip = `${config.name} · ${config.family}\n${text}`;
    item.iconPath = iconOf(config);
    item.command = open;
    const sign = verdictSign(config);
    item.contextValue = sign === 'error' || sign === 'warning' ? 'configToFix' : 'config';
    item.accessibilityInformation = {
      label: `${config.name}, ${verdictAt(config.verdict, config.peakBytes, config.capacityBytes)}, ${text}`,
    };
    return item;
  }

  dispose(): void {
    this.#source.cancel();
    this.#changed.dispose();
    this.#found.dispose();
  }
}
