import {
  CancellationTokenSource,
  commands,
  Disposable,
  env,
  type LogOutputChannel,
  l10n,
  Uri,
  type WebviewPanel,
  window,
  workspace,
} from 'vscode';
import type { RunValues } from '../../server/src/shared/fields';
import { SUPPLY_COMMAND, type SupplyArguments } from '../../server/src/shared/protocol';
import type {
  ComparedMessage,
  ComparedWith,
  EditorMessage,
  OpenedMessage,
  PageMessage,
  PanelAction,
  PanelContent,
  Preset,
} from '../webview/messages';
import { chooseOther } from './compare/choose-other';
import { knownConfigText } from './known-configs';
import type { LanguageServer } from './language-server';
import { CursorKeys } from './panel/cursor-keys';
import { Latest } from './panel/latest';
import { pageMessage } from './panel/page-message';
import { openFile, revealKey } from './panel/reveal-key';
import { savePanel } from './panel/save-panel';
import { done } from './walkthrough-steps';

/** How long what was done stands in the status bar. */
const NEWS_MS = 5_000;
/** Fixes are looked for once edits rest for so long: each search is some hundred estimates. */
const FIXES_DELAY_MS = 400;
/** More are a search of their own: the view of configs has them. */
const MOST_LISTED = 30;

interface PanelParts {
  readonly panel: WebviewPanel;
  readonly server: LanguageServer;
  readonly log: LogOutputChannel;
}

/** One memory breakdown beside the editor: about one file at a time, anew with each of its edits. */
export class BreakdownPanel implements Disposable {
  #locked = false;
  readonly #panel: WebviewPanel;
  readonly #server: LanguageServer;
  readonly #log: LogOutputChannel;
  readonly #subscriptions: Disposable;
  readonly #cursor: CursorKeys;
  readonly #tries = new Latest();
  readonly #plans = new Latest();
  readonly #fixes = new Latest();
  #uri: Uri | undefined;
  #content: PanelContent = { kind: 'empty' };
  /** The page listens: one that comes up tells. */
  #ready = false;
  /** What is to be compared with once there is something to compare. */
  #comparing: ComparedWith | undefined;
  /** Counts requests; an answer to any but the latest is stale. */
  #request = 0;

  constructor({ panel, server, log }: PanelParts) {
    this.#panel = panel;
    this.#server = server;
    this.#log = log;
    this.#cursor = new CursorKeys((message) => this.#send(message));
    this.#subscriptions = Disposable.from(
      this.#cursor,
      this.#tries,
      this.#plans,
      this.#fixes,
      panel.webview.onDidReceiveMessage((sent: unknown) => {
        const message = pageMessage(sent);
        if (message) this.#receive(message);
        else this.#log.warn('The panel sent a message of no known form; it is left aside.');
      }),
      panel.onDidChangeViewState(() => {
        // A hidden page is gone; it tells when it is back.
        if (!panel.visible) this.#ready = false;
        this.#tellLocked();
      }),
      server.onStatus(({ uri }) => {
        if (uri === this.#uri?.toString()) void this.#refresh();
      }),
      server.onState((state) => {
        if (state === 'running' || state === 'failed') void this.#refresh();
      }),
    );
  }

  /** Whether it stays with its file whatever is edited. */
  get locked(): boolean {
    return this.#locked;
  }

  set locked(locked: boolean) {
    this.#locked = locked;
    this.#tellLocked();
    this.#name();
  }

  /** Locks it, or lets it follow again; the page shows it. */
  lock(locked: boolean): void {
    this.locked = locked;
    this.post();
  }

  /** Has the page copy or save what is in view. */
  ask(action: PanelAction): void {
    this.#send({ type: 'asked', action });
  }

  /** Compares what is shown, as soon as the page can show it, and turns to the comparison. */
  compareWith(choice: ComparedWith): void {
    this.#comparing = choice;
    this.#compareNow();
  }

  #compareNow(): void {
    const choice = this.#comparing;
    if (!choice || !this.#ready || this.#content.kind !== 'breakdown') return;
    this.#comparing = undefined;
    void this.#compare(choice, true);
  }

  get uri(): Uri | undefined {
    return this.#uri;
  }

  /** The title bar offers to lock the panel in focus, or to unlock it. */
  #tellLocked(): void {
    if (this.#panel.active) void commands.executeCommand('setContext', 'oomlint.panelLocked', this.#locked);
  }

  reveal(): void {
    this.#panel.reveal(undefined, true);
  }

  dispose(): void {
    this.#request++;
    this.#subscriptions.dispose();
  }

  /** Shows another file, or the same anew. */
  turnTo(uri: Uri): void {
    if (uri.toString() !== this.#uri?.toString() || this.#content.kind !== 'breakdown') {
      this.#uri = uri;
      this.#set({ kind: 'loading', file: this.#fileName() });
    }
    this.#name();
    void this.#refresh();
  }

  /** In brackets where it stays with its file, as previews of Markdown are named. */
  #name(): void {
    if (!this.#uri) return;
    const name = this.#fileName();
    this.#panel.title = this.#locked ? l10n.t('[Memory] {0}', name) : l10n.t('Memory: {0}', name);
  }

  /** What is shown, for a page that has just come up. */
  post(): void {
    this.#send({
      type: 'show',
      uri: this.#uri?.toString(),
      locked: this.locked,
      language: env.language,
      bundle: textBundle(),
      content: this.#content,
    });
  }

  #receive(message: PageMessage): void {
    const uri = this.#uri;
    switch (message.type) {
      case 'ready':
        this.post();
        this.#cursor.tell();
        this.#lookForFixes();
        this.#ready = true;
        this.#compareNow();
        break;
      case 'retry':
        this.#set({ kind: 'loading', file: this.#fileName() });
        void (this.#server.state === 'running' ? this.#refresh() : this.#server.restart());
        break;
      case 'open-file':
        if (uri) void openFile(uri, editorColumn(this.#panel));
        break;
      case 'show-config':
        this.turnTo(Uri.parse(message.uri));
        void openFile(Uri.parse(message.uri), editorColumn(this.#panel));
        break;
      case 'open-figures':
        void this.#open(message);
        break;
      case 'show-output':
        void commands.executeCommand('oomlint.showOutput');
        break;
      case 'supply':
        if (uri) {
          const missing: SupplyArguments = { uri: uri.toString(), fields: message.fields };
          void commands.executeCommand(SUPPLY_COMMAND, missing);
        }
        break;
      case 'try':
        done('changeTried');
        void this.#try(message);
        break;
      case 'preset':
        void this.#preset(message.which);
        break;
      case 'plan':
        void this.#plan(message.values);
        break;
      case 'apply':
        void this.#apply(message.values, message.fix);
        break;
      case 'compare':
        void this.#compare(message);
        break;
      case 'reveal': {
        const key = this.#content.kind === 'breakdown' && this.#content.breakdown.keys?.[message.key];
        if (key) void revealKey(key, this.#panel).then(undefined, (error) => this.#log.error(String(error)));
        break;
      }
      case 'copy':
        void env.clipboard
          .writeText(message.text)
          .then(() => window.setStatusBarMessage(l10n.t('Copied as Markdown.'), NEWS_MS));
        break;
      case 'save':
        void savePanel(message.format, message.data, uri).then(undefined, (error) =>
          window.showErrorMessage(l10n.t('The file could not be saved: {0}', reasonOf(error))),
        );
        break;
    }
  }

  async #refresh(): Promise<void> {
    const uri = this.#uri;
    if (uri === undefined) {
      return;
    }
    const request = ++this.#request;
    const file = this.#fileName();
    let content: PanelContent;
    try {
      const breakdown = await this.#server.breakdown(uri.toString());
      content = breakdown === null ? { kind: 'empty', file } : { kind: 'breakdown', file, breakdown };
    } catch (error) {
      const message = reasonOf(error);
      this.#log.error(`No breakdown of ${file}: ${message}`);
      content = { kind: 'error', file, message };
    }
    if (content.kind === 'breakdown' && content.breakdown.peak) done('breakdownShown');
    if (request === this.#request && !this.#isOlderThanShown(content)) {
      this.#set(content);
      if (content.kind === 'empty') void this.#listConfigs(request);
    }
  }

  /** Beside what is no config: those that there are. */
  async #listConfigs(request: number): Promise<void> {
    const { token } = new CancellationTokenSource();
    const found = await this.#server.configs(token, true).catch(() => undefined);
    if (!found || request !== this.#request) return;
    const configs = found.configs
      .slice(0, MOST_LISTED)
      .map((config) => ({ uri: config.uri, name: config.name, text: knownConfigText(config) }));
    this.#set({ kind: 'empty', file: this.#fileName(), configs });
  }

  /** Asks the server for what stands behind the figures, and hands it to the page. */
  async #open({ sample, turned, values }: Extract<PageMessage, { type: 'open-figures' }>): Promise<void> {
    const message = await this.#answer<OpenedMessage>(
      async (uri) => {
        const opened = await this.#server.opened({ uri, sample, turned, values });
        return { type: 'opened', sample, opened: opened ?? undefined };
      },
      (error) => ({ type: 'opened', sample, error }),
    );
    if (message) this.#send(message);
  }

  /** The run with the knobs turned. Only the latest position counts: the request before it is cancelled. */
  async #try({ turned, values }: Extract<PageMessage, { type: 'try' }>): Promise<void> {
    const token = this.#tries.next();
    if (Object.keys(turned).length === 0 && values === undefined) return;
    const message = await this.#answer<EditorMessage>(
      async (uri) => ({
        type: 'tried',
        tried: (await this.#server.tried({ uri, turned, values }, token)) ?? undefined,
      }),
      (error) => ({ type: 'tried', error }),
    );
    if (message && !token.isCancellationRequested) this.#send(message);
  }

  /** What would be written of what is tried; outdated as soon as something else is. */
  async #plan(values: RunValues): Promise<void> {
    const token = this.#plans.next();
    const message = await this.#answer<EditorMessage>(
      async (uri) => ({
        type: 'planned',
        planned: (await this.#server.plan({ uri, values }, token)) ?? undefined,
      }),
      (error) => ({ type: 'planned', error }),
    );
    if (message && !token.isCancellationRequested) this.#send(message);
  }

  /** Looks for what makes the run fit, once edits rest. */
  #lookForFixes(): void {
    const content = this.#content;
    const token = this.#fixes.next();
    if (content.kind !== 'breakdown') return;
    const { verdict } = content.breakdown;
    if (verdict !== 'exceeds' && verdict !== 'tight') return;
    const look = async () => {
      if (token.isCancellationRequested || !this.#panel.visible) return;
      const message = await this.#answer<EditorMessage>(
        async (uri) => ({ type: 'fixes', fixes: (await this.#server.fixes(uri, token))?.fixes ?? [] }),
        () => ({ type: 'fixes', fixes: [] }),
      );
      if (message && !token.isCancellationRequested) this.#send(message);
    };
    setTimeout(() => void look(), FIXES_DELAY_MS);
  }

  /** The fastest run that fits on the GPUs of this one, or the cheapest on a cloud machine. */
  async #preset(which: Preset): Promise<void> {
    const message = await this.#answer<EditorMessage>(
      async (uri) => {
        const { token } = new CancellationTokenSource();
        const found = await this.#server.search({ uri, instances: which === 'cheapest' || undefined }, token);
        const [best] = found?.front ?? [];
        if (!best)
          return {
            type: 'preset',
            error: l10n.t(
              'None of {0} runs fits. More or larger GPUs, or a smaller model, would.',
              found?.tried ?? 0,
            ),
          };
        const hardware = `${best.gpus}×${best.gpu}`;
        return {
          type: 'preset',
          found: {
            name: which === 'cheapest' ? `${best.label}, ${best.instance ?? hardware}` : best.label,
            values: best.changes,
          },
        };
      },
      (error) => ({ type: 'preset', error }),
    );
    if (message) this.#send(message);
  }

  async #apply(values: RunValues, fix: string | undefined): Promise<void> {
    const message = await this.#answer<EditorMessage>(
      async (uri) => ({ type: 'applied', ...(await this.#server.apply(uri, values, fix)) }),
      (error) => ({ type: 'applied', error }),
    );
    if (message) this.#send(message);
  }

  /** `turns`: the page turns to the comparison. */
  async #compare(choice: ComparedWith, turns = false): Promise<void> {
    const file = this.#fileName();
    const message = await this.#answer<ComparedMessage>(
      async (uri) => {
        const other = await chooseOther(Uri.parse(uri), choice, this.#server);
        if (other === undefined) return { type: 'compared' };
        const comparison = await this.#server.compare(uri, other.config);
        if (comparison) {
          const [before, after] = other.isAfter ? [file, other.name] : [other.name, file];
          return { type: 'compared', other: other.choice, before, after, comparison };
        }
        return {
          type: 'compared',
          other: other.choice,
          error: l10n.t('There is no estimate of {0} to compare with.', other.name),
        };
      },
      (error) => ({ type: 'compared', error }),
    );
    if (message) this.#send(turns ? { ...message, turns } : message);
  }

  /** An answer about the file that is shown; undefined where another one is shown by then. */
  async #answer<M>(ask: (uri: string) => Promise<M>, failed: (reason: string) => M): Promise<M | undefined> {
    const uri = this.#uri;
    if (uri === undefined) return undefined;
    let message: M;
    try {
      message = await ask(uri.toString());
    } catch (error) {
      this.#log.error(`The panel of ${this.#fileName()} got no answer: ${reasonOf(error)}`);
      message = failed(reasonOf(error));
    }
    return uri === this.#uri ? message : undefined;
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
    this.#cursor.keys = content.kind === 'breakdown' ? (content.breakdown.keys ?? []) : [];
    this.post();
    this.#cursor.tell();
    this.#lookForFixes();
    this.#compareNow();
  }

  #send(message: EditorMessage): void {
    // A hidden page is gone; it asks again with `ready` when it is shown.
    void this.#panel.webview.postMessage(message);
  }

  #fileName(): string {
    return this.#uri ? (this.#uri.path.split('/').pop() ?? this.#uri.path) : '';
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Beside the panel, where the config most likely is. */
function editorColumn(panel: WebviewPanel) {
  return window.visibleTextEditors.find(({ viewColumn }) => viewColumn !== panel.viewColumn)?.viewColumn;
}

/** Texts of the display language by the English ones; undefined where it is English. */
function textBundle(): Readonly<Record<string, string>> | undefined {
  const { bundle } = l10n;
  if (bundle === undefined) return undefined;
  return Object.fromEntries(
    Object.entries(bundle).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}
