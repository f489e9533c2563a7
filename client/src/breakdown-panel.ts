import {
  commands,
  Disposable,
  type LogOutputChannel,
  Uri,
  ViewColumn,
  type WebviewOptions,
  type WebviewPanel,
  window,
  workspace,
} from 'vscode';
import { SUPPLY_COMMAND, type SupplyArguments } from '../../server/src/features/protocol';
import type { OpenedMessage, PageMessage, PageState, PanelContent, ShowMessage } from '../webview/messages';
import type { LanguageServer } from './language-server';
import { panelHtml } from './panel-html';

const VIEW_TYPE = 'oomlint.breakdown';

/** The memory breakdown beside the editor. One panel; it follows the active config as it is edited. */
export class BreakdownPanel implements Disposable {
  readonly #extension: Uri;
  readonly #server: LanguageServer;
  readonly #log: LogOutputChannel;
  readonly #subscriptions: Disposable;
  /** Files that the server called training configs: the panel moves to these and to nothing else. */
  readonly #configs = new Set<string>();
  #panel: WebviewPanel | undefined;
  #uri: Uri | undefined;
  #content: PanelContent = { kind: 'empty' };
  /** Counts requests; an answer to any but the latest is stale. */
  #request = 0;

  constructor(extension: Uri, server: LanguageServer, log: LogOutputChannel) {
    this.#extension = extension;
    this.#server = server;
    this.#log = log;
    this.#subscriptions = Disposable.from(
      window.registerWebviewPanelSerializer(VIEW_TYPE, {
        deserializeWebviewPanel: async (panel: WebviewPanel, state: unknown) => this.#restore(panel, state),
      }),
      server.onStatus(({ uri, status }) => {
        if (status === undefined) {
          this.#configs.delete(uri);
        } else {
          this.#configs.add(uri);
        }
        if (uri === this.#uri?.toString()) {
          void this.#refresh();
        } else if (uri === window.activeTextEditor?.document.uri.toString()) {
          this.#follow();
        }
      }),
      server.onState((state) => {
        if (state === 'running' || state === 'failed') {
          void this.#refresh();
        }
      }),
      window.onDidChangeActiveTextEditor(() => this.#follow()),
    );
  }

  show(uri: Uri): void {
    if (this.#panel === undefined) {
      this.#attach(
        window.createWebviewPanel(
          VIEW_TYPE,
          'Memory',
          { viewColumn: ViewColumn.Beside, preserveFocus: true },
          this.#options(),
        ),
      );
    } else {
      this.#panel.reveal(undefined, true);
    }
    this.#turnTo(uri);
  }

  dispose(): void {
    this.#subscriptions.dispose();
    this.#panel?.dispose();
  }

  #options(): WebviewOptions {
    return {
      enableScripts: true,
      localResourceRoots: [Uri.joinPath(this.#extension, 'client', 'dist')],
    };
  }

  #restore(panel: WebviewPanel, state: unknown): void {
    if (this.#panel !== undefined) {
      panel.dispose();
      return;
    }
    // The stored roots may name the folder of an older version.
    panel.webview.options = this.#options();
    this.#attach(panel);
    const uri = (state as PageState | undefined)?.uri;
    if (typeof uri === 'string') {
      this.#turnTo(Uri.parse(uri));
    } else {
      this.#follow();
      this.#post();
    }
  }

  #attach(panel: WebviewPanel): void {
    this.#panel = panel;
    const { webview } = panel;
    const dist = Uri.joinPath(this.#extension, 'client', 'dist');
    panel.iconPath = {
      dark: Uri.joinPath(this.#extension, 'media', 'panel-dark.svg'),
      light: Uri.joinPath(this.#extension, 'media', 'panel-light.svg'),
    };
    webview.onDidReceiveMessage((message: PageMessage) => this.#receive(message));
    panel.onDidDispose(() => {
      this.#panel = undefined;
      this.#uri = undefined;
      this.#request++;
    });
    webview.html = panelHtml(
      webview.cspSource,
      webview.asWebviewUri(Uri.joinPath(dist, 'panel.js')).toString(),
      webview.asWebviewUri(Uri.joinPath(dist, 'panel.css')).toString(),
    );
  }

  #receive(message: PageMessage): void {
    switch (message.type) {
      case 'ready':
        this.#post();
        break;
      case 'retry':
        this.#set({ kind: 'loading', file: this.#fileName() });
        void (this.#server.state === 'running' ? this.#refresh() : this.#server.restart());
        break;
      case 'open-file':
        if (this.#uri) {
          void window.showTextDocument(this.#uri, { viewColumn: ViewColumn.One });
        }
        break;
      case 'open-figures':
        void this.#open(message.sample);
        break;
      case 'show-output':
        void commands.executeCommand('oomlint.showOutput');
        break;
      case 'supply':
        if (this.#uri) {
          const missing: SupplyArguments = { uri: this.#uri.toString(), fields: message.fields };
          void commands.executeCommand(SUPPLY_COMMAND, missing);
        }
        break;
    }
  }

  #follow(): void {
    const uri = window.activeTextEditor?.document.uri;
    if (this.#panel && uri && this.#configs.has(uri.toString()) && uri.toString() !== this.#uri?.toString()) {
      this.#turnTo(uri);
    }
  }

  #turnTo(uri: Uri): void {
    if (uri.toString() !== this.#uri?.toString() || this.#content.kind !== 'breakdown') {
      this.#uri = uri;
      this.#set({ kind: 'loading', file: this.#fileName() });
    }
    if (this.#panel) {
      this.#panel.title = `Memory: ${this.#fileName()}`;
    }
    void this.#refresh();
  }

  async #refresh(): Promise<void> {
    const uri = this.#uri;
    if (this.#panel === undefined || uri === undefined) {
      return;
    }
    const request = ++this.#request;
    const file = this.#fileName();
    let content: PanelContent;
    try {
      const breakdown = await this.#server.breakdown(uri.toString());
      content = breakdown === null ? { kind: 'empty', file } : { kind: 'breakdown', file, breakdown };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.#log.error(`No breakdown of ${file}: ${message}`);
      content = { kind: 'error', file, message };
    }
    if (request === this.#request && !this.#isOlderThanShown(content)) {
      this.#set(content);
    }
  }

  /** Asks the server for what stands behind the figures, and hands it to the page. */
  async #open(sample: number | undefined): Promise<void> {
    const uri = this.#uri;
    if (uri === undefined) {
      return;
    }
    let message: OpenedMessage;
    try {
      const opened = await this.#server.opened(uri.toString(), sample);
      message = { type: 'opened', sample, opened: opened ?? undefined };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#log.error(`The figures of ${this.#fileName()} could not be opened: ${reason}`);
      message = { type: 'opened', sample, error: reason };
    }
    if (uri === this.#uri) {
      void this.#panel?.webview.postMessage(message);
    }
  }

  #isOlderThanShown(content: PanelContent): boolean {
    const shown = this.#content;
    return (
      content.kind === 'breakdown' &&
      shown.kind === 'breakdown' &&
      content.breakdown.file === shown.breakdown.file &&
      content.breakdown.version !== undefined &&
      shown.breakdown.version !== undefined &&
      content.breakdown.version < shown.breakdown.version &&
      // A file closed and opened again counts from one.
      workspace.textDocuments.some(
        (document) =>
          document.uri.toString() === this.#uri?.toString() &&
          document.version >= (shown.breakdown.version ?? 0),
      )
    );
  }

  #set(content: PanelContent): void {
    this.#content = content;
    this.#post();
  }

  #post(): void {
    const message: ShowMessage = { type: 'show', uri: this.#uri?.toString(), content: this.#content };
    // A hidden page is gone; it asks again with `ready` when it is shown.
    void this.#panel?.webview.postMessage(message);
  }

  #fileName(): string {
    return this.#uri ? (this.#uri.path.split('/').pop() ?? this.#uri.path) : '';
  }
}
