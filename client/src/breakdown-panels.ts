import {
  Disposable,
  EventEmitter,
  type LogOutputChannel,
  Uri,
  ViewColumn,
  type WebviewOptions,
  type WebviewPanel,
  window,
  workspace,
} from 'vscode';
import { type PanelFiles, withoutMap } from '../../server/src/shared/page';
import type { ComparedWith, PageState } from '../webview/messages';
import { BreakdownPanel } from './breakdown-panel';
import type { LanguageServer } from './language-server';
import { activeFile } from './notebook-cells';
import { panelHtml } from './panel-html';

const VIEW_TYPE = 'oomlint.breakdown';

/** The memory breakdowns beside the editor: one that follows the active config, and each that is locked to its file. */
export class BreakdownPanels implements Disposable {
  readonly #extension: Uri;
  readonly #server: LanguageServer;
  readonly #log: LogOutputChannel;
  readonly #subscriptions: Disposable;
  /** Files that the server called training configs: panels move to these and to nothing else. */
  readonly #configs = new Set<string>();
  readonly #open = new Map<WebviewPanel, BreakdownPanel>();
  #files: Promise<PanelFiles> | undefined;
  readonly #activeChanged = new EventEmitter<void>();
  /** Another panel has the focus, or none any more. */
  readonly onDidChangeActive = this.#activeChanged.event;

  constructor(extension: Uri, server: LanguageServer, log: LogOutputChannel) {
    this.#extension = extension;
    this.#server = server;
    this.#log = log;
    this.#subscriptions = Disposable.from(
      window.registerWebviewPanelSerializer(VIEW_TYPE, {
        deserializeWebviewPanel: async (panel: WebviewPanel, state: unknown) => this.#restore(panel, state),
      }),
      server.onStatus(({ uri, status }) => {
        if (status === undefined) this.#configs.delete(uri);
        else {
          this.#configs.add(uri);
          // Where there is a config its panel may be asked for.
          void this.#read().catch(() => undefined);
        }
        if (uri === activeFile()?.toString()) this.#follow();
      }),
      window.onDidChangeActiveTextEditor(() => this.#follow()),
      window.onDidChangeActiveNotebookEditor(() => this.#follow()),
    );
  }

  /** Shows a file in the panel that is about it, else in the one that follows, else in a new one; compared where that is asked for. */
  show(uri: Uri, compared?: ComparedWith): void {
    const panels = [...this.#open.values()];
    const known = panels.find((panel) => panel.uri?.toString() === uri.toString());
    const panel = known ?? panels.find(({ locked }) => !locked);
    if (panel) {
      panel.reveal();
      panel.turnTo(uri);
      if (compared) panel.compareWith(compared);
      return;
    }
    // Its group is locked (`configurationDefaults` of the manifest), so what is opened beside it would make a third.
    const [other] = this.#open.keys();
    const shown = window.createWebviewPanel(
      VIEW_TYPE,
      'Memory',
      { viewColumn: other?.viewColumn ?? ViewColumn.Beside, preserveFocus: true },
      this.#options(),
    );
    const opened = this.#attach(shown);
    opened.turnTo(uri);
    if (compared) opened.compareWith(compared);
  }

  /** The panel in focus. */
  get active(): BreakdownPanel | undefined {
    return [...this.#open].find(([panel]) => panel.active)?.[1];
  }

  dispose(): void {
    this.#subscriptions.dispose();
    this.#activeChanged.dispose();
    for (const panel of this.#open.keys()) panel.dispose();
  }

  #options(): WebviewOptions {
    return {
      enableScripts: true,
      localResourceRoots: [],
    };
  }

  #restore(panel: WebviewPanel, state: unknown): void {
    // The stored roots may name the folder of an older version.
    panel.webview.options = this.#options();
    const { uri, locked } = (state as PageState | undefined) ?? {};
    const restored = this.#attach(panel);
    restored.locked = locked === true;
    if (typeof uri === 'string') {
      restored.turnTo(Uri.parse(uri));
    } else {
      this.#follow();
      restored.post();
    }
  }

  #attach(panel: WebviewPanel): BreakdownPanel {
    panel.iconPath = {
      dark: Uri.joinPath(this.#extension, 'media', 'panel-dark.svg'),
      light: Uri.joinPath(this.#extension, 'media', 'panel-light.svg'),
    };
    const breakdown = new BreakdownPanel({ panel, server: this.#server, log: this.#log });
    this.#open.set(panel, breakdown);
    panel.onDidChangeViewState(() => this.#activeChanged.fire());
    panel.onDidDispose(() => {
      this.#open.delete(panel);
      breakdown.dispose();
      this.#activeChanged.fire();
    });
    void this.#read().then(
      (files) => {
        if (this.#open.has(panel)) panel.webview.html = panelHtml(files);
      },
      (error) => this.#log.error(`The panel's page could not be read: ${error}`),
    );
    return breakdown;
  }

  /** The page, read once. */
  #read(): Promise<PanelFiles> {
    const text = async (name: string) =>
      withoutMap(
        new TextDecoder().decode(
          await workspace.fs.readFile(Uri.joinPath(this.#extension, 'client', 'dist', name)),
        ),
      );
    this.#files ??= Promise.all([text('panel.js'), text('panel.css')]).then(([script, style]) => ({
      script,
      style,
    }));
    return this.#files;
  }

  /** The panel that is not locked goes with the active config; one that another panel shows already stays there. */
  #follow(): void {
    const uri = activeFile();
    if (!uri || !this.#configs.has(uri.toString())) return;
    const panels = [...this.#open.values()];
    if (panels.some((panel) => panel.uri?.toString() === uri.toString())) return;
    panels.find(({ locked }) => !locked)?.turnTo(uri);
  }
}
