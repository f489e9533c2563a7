import type { Connection, Diagnostic, Disposable } from 'vscode-languageserver';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import { diagnostics } from '../features/diagnostics';
import { STATUS_NOTIFICATION, type StatusParams } from '../features/protocol';
import { Publishing } from '../features/publishing';
import { FAMILY_NOTIFICATION, type FamilyParams } from '../features/workspace-protocol';
import { holdsCommands } from '../text/command-files';
import type { Problem } from '../text/problem';
import { canonicalUri, fileName } from '../text/uri';
import type { Analysis } from '../workspace/analysis';
import { PROJECT_FILE_NAMES } from '../workspace/project-file-names';
import { ClosedFiles } from './closed-files';
import type { ClientSupport } from './convert';
import { problemsByCell } from './in-cells';
import { type EditorHost, isCandidate } from './open-files';
import type { OpenTexts } from './open-texts';
import type { Runner } from './runner';
import type { Engine } from './runtime';
import type { SettingsCache } from './settings';

const TYPING_PAUSE_MS = 150;
const REFRESH_PAUSE_MS = 50;
/** An editor asks for lenses and hints at once: all are answered before the problems are looked for. Less than a frame. */
const DRAWING_PAUSE_MS = 10;

/** What an editor draws into a text by asking for it. */
type Drawing = 'lenses' | 'hints';

/** What is known about a text. */
interface Known {
  readonly version: number;
  readonly analysis: Analysis | undefined;
}

/** What the editor knows of one open document, beside its problems. */
interface Announced {
  /** What the last status was about. */
  status: Known | undefined;
  hasStatus: boolean | undefined;
  /** What the status showed of the last text that could be read. */
  lastStatus?: NonNullable<StatusParams['status']>;
  /** Family that the editor knows of. */
  family: string | undefined;
  /** What the editor drew last. */
  readonly drawn: Map<Drawing, Known>;
  /** What the editor was answered when it asked for problems. */
  pulled?: { readonly version: number; readonly id: string };
}

/** An open document: what the editor shows of it, and when it is looked at next. */
interface Open {
  readonly publishing: Publishing;
  readonly announced: Announced;
  /** The text differs from what is on disk. */
  dirty: boolean;
  timer: NodeJS.Timeout | undefined;
}

interface Parts {
  readonly connection: Connection;
  readonly documents: OpenTexts;
  readonly host: EditorHost;
  readonly settings: SettingsCache;
  readonly runner: Runner;
  readonly engine: () => Promise<Engine>;
}

/** Open documents and what the editor knows of each: when to analyse, when to publish, when to clear. */
export class Session implements Disposable {
  support: ClientSupport = { related: false, codeDescription: false, tags: false, markdown: true };
  /** Requests by which the editor is made to ask again. */
  refreshes: readonly string[] = [];
  /** The editor asks for problems of what is open: none are sent, and it hears when to ask again. */
  pullsProblems = false;
  readonly #parts: Parts;
  readonly #open = new Map<string, Open>();
  readonly #closed: ClosedFiles;
  /** Cells that problems are shown in, by notebook. */
  readonly #marked = new Map<string, readonly string[]>();
  #mayBeConfig = new WeakMap<TextDocument, { version: number; answer: Promise<boolean> }>();
  #refreshTimer: NodeJS.Timeout | undefined;
  #askTimer: NodeJS.Timeout | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#closed = new ClosedFiles({
      connection: parts.connection,
      engine: parts.engine,
      isOpen: (uri) => parts.host.find(uri) !== undefined,
      isEnabled: async (uri) => {
        const { enable } = await parts.settings.of(uri);
        parts.settings.forget(uri);
        return enable;
      },
      support: () => this.support,
    });
  }

  /** The analysis of the current text, or undefined where the file is no training config or is switched off. */
  async analysis(uri: string): Promise<Analysis | undefined> {
    const document = this.#parts.documents.get(uri);
    if (!document || !isCandidate(document)) {
      return undefined;
    }
    const engine = await this.#parts.engine();
    if (!(await this.#looksLikeConfig(document, engine))) {
      return undefined;
    }
    const { enable } = await this.#parts.settings.of(uri);
    return enable ? engine.analyze(uri) : undefined;
  }

  /** As `analysis`, for what the editor is about to draw: should it look different one day, the editor is made to ask again. */
  async analysisToDraw(uri: string, drawing: Drawing): Promise<Analysis | undefined> {
    const version = this.#parts.documents.get(uri)?.version;
    const analysis = await this.analysis(uri);
    const open = this.#open.get(uri);
    if (open && version !== undefined) {
      open.announced.drawn.set(drawing, { version, analysis });
      this.#passNow(uri, open, version);
    }
    return analysis;
  }

  /** Whether an open document is worth a look and switched on. */
  async mayBeConfig(uri: string): Promise<boolean> {
    const document = this.#parts.documents.get(uri);
    if (!document || !isCandidate(document)) return false;
    const engine = await this.#parts.engine();
    return (await this.#looksLikeConfig(document, engine)) && (await this.#parts.settings.of(uri)).enable;
  }

  /** Whether an open document is an `oomlint.yaml` and switched on. */
  async isProjectFile(uri: string): Promise<boolean> {
    const document = this.#parts.documents.get(uri);
    const isNamed = PROJECT_FILE_NAMES.includes(fileName(uri));
    return (
      isNamed &&
      document !== undefined &&
      isCandidate(document) &&
      (await this.#parts.settings.of(uri)).enable
    );
  }

  /** As `analysis`, for files that may not be open: a panel can outlive its editor. */
  async analysisOfFile(uri: string): Promise<Analysis | undefined> {
    if (this.#parts.documents.get(uri) || !this.#parts.host.reads(uri)) {
      return this.analysis(uri);
    }
    const { enable } = await this.#parts.settings.of(uri);
    this.#parts.settings.forget(uri);
    return enable ? (await this.#parts.engine()).analyze(uri) : undefined;
  }

  /** Problems of an open text as it is now; `id` is the same as long as they are. */
  async problems(uri: string): Promise<{ readonly items: Diagnostic[]; readonly id: string }> {
    const version = this.#parts.documents.get(uri)?.version;
    const analysis = await this.analysis(uri);
    const found = analysis ? diagnostics(analysis) : await this.#projectProblems(uri);
    const shown = found && (await this.#parts.settings.of(uri)).diagnosticsRun !== 'off' ? found : [];
    const { drawing } = await this.#parts.engine();
    const items = shown.map((problem) => drawing.toDiagnostic(problem, this.support));
    const id = identityOf(items);
    const open = this.#open.get(uri);
    if (open && version !== undefined) open.announced.pulled = { version, id };
    return { items, id };
  }

  opened(document: TextDocument): void {
    this.#closed.opened(document.uri);
    this.#open.set(document.uri, {
      publishing: new Publishing(),
      announced: { status: undefined, hasStatus: undefined, family: undefined, drawn: new Map() },
      dirty: false,
      timer: undefined,
    });
  }

  /** Called for opened documents as well, after `opened`. */
  changed(document: TextDocument, isOpening: boolean): void {
    const open = this.#open.get(document.uri);
    if (!open || !isCandidate(document)) {
      return;
    }
    open.dirty = !isOpening;
    this.#schedule(document.uri, isOpening ? 0 : TYPING_PAUSE_MS);
    const { uri } = document;
    this.#parts.runner.background('Following a change', () =>
      isOpening ? this.touched([uri], false) : this.#edited(uri),
    );
  }

  async saved(uri: string): Promise<void> {
    const open = this.#open.get(uri);
    if (open) {
      open.dirty = false;
      open.publishing.renew();
      this.#schedule(uri, 0);
    }
    await this.touched([uri], true);
    await this.#refreshUsers(uri);
  }

  /** The same text is to be looked at in another way, such as in another of its runs. */
  async again(uri: string): Promise<void> {
    (await this.#parts.engine()).invalidate(uri);
    const open = this.#open.get(uri);
    if (open) {
      if (!open.dirty) open.publishing.ask();
      open.announced.drawn.clear();
      this.#schedule(uri, 0);
      this.refreshHints();
    }
  }

  async closed(uri: string): Promise<void> {
    const open = this.#open.get(uri);
    clearTimeout(open?.timer);
    this.#open.delete(uri);
    this.#parts.settings.forget(uri);
    if (open?.publishing.hasDiagnostics) {
      await this.#send(uri, undefined, []);
    }
    // Unsaved text is gone: files that link to this one see what is on disk.
    await this.touched([uri], true);
  }

  /**
   * Texts of files changed: forget what was read from them and look again, once, at the files that may depend on any of
   * them. What is the same as before is not reported again.
   */
  async touched(uris: readonly string[], publish: boolean): Promise<void> {
    const engine = await this.#parts.engine();
    const dependents = new Set(uris.flatMap((uri) => engine.dependents(uri)));
    for (const uri of uris) {
      engine.invalidate(uri);
    }
    this.#follow(engine, uris, dependents, publish);
  }

  /** As `touched`, after each key typed. */
  async #edited(uri: string): Promise<void> {
    const engine = await this.#parts.engine();
    const dependents = new Set(engine.dependents(uri));
    engine.edited(uri);
    this.#follow(engine, [uri], dependents, false);
  }

  #follow(engine: Engine, uris: readonly string[], dependents: ReadonlySet<string>, publish: boolean): void {
    const teaches = uris.some((uri) => engine.teaches(uri));
    if (teaches) {
      // Other files may be configs now, or none any more.
      this.#mayBeConfig = new WeakMap();
    }
    const single = uris.length === 1 ? uris[0] : undefined;
    for (const dependent of teaches ? [...this.#open.keys()] : dependents) {
      const document = dependent === single ? undefined : this.#parts.host.find(dependent);
      const open = document && this.#open.get(document.uri);
      if (document && open) {
        if (publish && !open.dirty) open.publishing.ask();
        this.#schedule(document.uri, publish ? 0 : TYPING_PAUSE_MS);
      }
    }
    const marked = publish ? this.#closed.marked([...uris, ...dependents]) : [];
    if (marked.length > 0) {
      this.#parts.runner.background('Following closed files', () => this.#closed.refresh(marked));
    }
  }

  /** Configs that use a saved one and that no editor shows. */
  async #refreshUsers(uri: string): Promise<void> {
    const analysis = await this.analysis(uri);
    const users = [
      ...(analysis?.usedBy ?? []).map((place) => place.uri),
      ...(analysis?.runs ?? []).map(({ root }) => canonicalUri(root)),
    ];
    // A text that shows a launch is no config itself.
    const others = users.filter((user) => user !== canonicalUri(uri) && !holdsCommands(user));
    if (others.length > 0) {
      this.#parts.runner.background('Following closed files', () => this.#closed.refresh(others));
    }
  }

  /** Settings, folders or files changed in a way that may concern every open document. */
  async refreshAll(): Promise<void> {
    if (this.#open.size === 0) {
      return;
    }
    (await this.#parts.engine()).invalidateAll();
    for (const [uri, { publishing, announced }] of this.#open) {
      publishing.ask();
      announced.drawn.clear();
      this.#schedule(uri, 0);
    }
    this.refreshHints();
  }

  /** The editor asks for lenses and inlay hints when a text changes, not when another file does. */
  refreshHints(): void {
    if (this.refreshes.length === 0 || this.#refreshTimer) {
      return;
    }
    this.#refreshTimer = setTimeout(() => {
      this.#refreshTimer = undefined;
      for (const request of this.refreshes) {
        this.#parts.runner.background('Refreshing hints', () =>
          this.#parts.connection.sendRequest<void>(request),
        );
      }
    }, REFRESH_PAUSE_MS);
  }

  /** What is asked for is asked for again by every open document. */
  #askAgain(): void {
    this.#askTimer ??= setTimeout(() => {
      this.#askTimer = undefined;
      this.#parts.runner.background('Refreshing problems', () =>
        this.#parts.connection.languages.diagnostics.refresh(),
      );
    }, REFRESH_PAUSE_MS);
  }

  dispose(): void {
    clearTimeout(this.#askTimer);
    clearTimeout(this.#refreshTimer);
    for (const { timer } of this.#open.values()) {
      clearTimeout(timer);
    }
    this.#open.clear();
  }

  #looksLikeConfig(document: TextDocument, engine: Engine): Promise<boolean> {
    const known = this.#mayBeConfig.get(document);
    if (known?.version === document.version) {
      return known.answer;
    }
    const answer = engine.isCandidate(document.uri, document.getText());
    this.#mayBeConfig.set(document, { version: document.version, answer });
    return answer;
  }

  #schedule(uri: string, delay: number): void {
    const open = this.#open.get(uri);
    if (!open) {
      return;
    }
    clearTimeout(open.timer);
    const pass = () => this.#parts.runner.background(`Analysing ${uri}`, () => this.#pass(uri, open));
    open.timer = setTimeout(pass, delay);
  }

  /** What the editor had worked out for a hint already waits for no pause in typing: status and hint are seen together. */
  #passNow(uri: string, open: Open, version: number): void {
    const isAnnounced = open.announced.status?.version === version;
    if (open.timer !== undefined && !isAnnounced && this.#parts.documents.get(uri)?.version === version)
      this.#schedule(uri, DRAWING_PAUSE_MS);
  }

  async #pass(uri: string, open: Open): Promise<void> {
    open.timer = undefined;
    const { documents, settings } = this.#parts;
    const { publishing, announced } = open;
    const { drawing } = await this.#parts.engine();
    const version = documents.get(uri)?.version;
    const analysis = await this.analysis(uri);
    const found = analysis ? diagnostics(analysis) : await this.#projectProblems(uri);
    // An editor is not asked for settings of a file that there is nothing to say about.
    const when = found && (await settings.of(uri)).diagnosticsRun;
    const isCurrent = () => this.#open.get(uri) === open && documents.get(uri)?.version === version;
    if (version === undefined || !isCurrent()) {
      // A later pass follows the later text, and publishes what this one was asked to publish.
      return;
    }
    const state = { version, analysis };
    this.#drawAgain(announced, state, drawing);
    await this.#wakeParts(uri, analysis);
    await this.#tellStatus(uri, announced, state, drawing);
    if (!isCurrent()) {
      return;
    }
    if (this.pullsProblems && !documents.notebooks.get(uri)) {
      const { pulled } = announced;
      const list = found && when !== 'off' ? found : [];
      // Of a change of the text itself an editor knows: it asks by itself.
      if (
        pulled?.version === version &&
        pulled.id !== identityOf(list.map((one) => drawing.toDiagnostic(one, this.support)))
      )
        this.#askAgain();
      return;
    }
    if (!found || when === 'off') {
      if (publishing.clear()) await this.#send(uri, version, []);
      return;
    }
    const list = publishing
      .due(found, analysis, when)
      ?.map((problem) => drawing.toDiagnostic(problem, this.support));
    if (list && publishing.isNew(version, list)) {
      await this.#send(uri, version, list);
    }
  }

  /** Problems of a file; those of a notebook where its cells are. */
  async #send(uri: string, version: number | undefined, diagnostics: Diagnostic[]): Promise<void> {
    const { connection, documents } = this.#parts;
    const before = this.#marked.get(uri) ?? [];
    const cells = documents.notebooks.get(uri) && problemsByCell(uri, diagnostics, documents.notebooks);
    const gone = before.filter((cell) => !cells?.some((one) => one.uri === cell));
    for (const cell of gone) await connection.sendDiagnostics({ uri: cell, diagnostics: [] });
    if (cells) {
      for (const cell of cells)
        if (cell.diagnostics.length > 0 || before.includes(cell.uri)) await connection.sendDiagnostics(cell);
      const marked = cells.filter((cell) => cell.diagnostics.length > 0).map((cell) => cell.uri);
      this.#marked.set(uri, marked);
      return;
    }
    if (this.#marked.delete(uri)) return;
    await connection.sendDiagnostics({ uri, ...(version === undefined ? {} : { version }), diagnostics });
  }

  /** Open files that are nothing by themselves are looked at again once a config is known that starts from them. */
  async #wakeParts(uri: string, analysis: Analysis | undefined): Promise<void> {
    const engine = await this.#parts.engine();
    for (const file of analysis?.files ?? []) {
      const document = file === uri || engine.teaches(file) ? undefined : this.#parts.host.find(file);
      const open = document && this.#open.get(document.uri);
      const status = open?.announced.status;
      const nothing = status !== undefined && status.analysis === undefined;
      if (!document || !open || !nothing || !/\.ya?ml$/i.test(file)) continue;
      engine.invalidate(document.uri);
      this.#mayBeConfig.delete(document);
      if (!open.dirty) open.publishing.ask();
      this.#schedule(document.uri, 0);
    }
  }

  /** Another file changed what an editor drew: of its own changes an editor knows by itself. */
  #drawAgain({ drawn }: Announced, known: Known, { drawnAlike }: Engine['drawing']): void {
    const before = [...drawn.values()].filter(({ version }) => version === known.version);
    if (before.some(({ analysis }) => !drawnAlike(analysis, known.analysis))) {
      // It draws now, or does not show the document.
      for (const drawing of drawn.keys()) drawn.set(drawing, known);
      this.refreshHints();
    }
  }

  async #projectProblems(uri: string): Promise<readonly Problem[] | undefined> {
    const document = this.#parts.documents.get(uri);
    if (!document || !isCandidate(document)) {
      return undefined;
    }
    const problems = await (await this.#parts.engine()).checkProjectFile(uri);
    return problems && (await this.#parts.settings.of(uri)).enable ? problems : undefined;
  }

  async #tellStatus(
    uri: string,
    announced: Announced,
    { version, analysis }: Known,
    { hasSchema, status, statusBefore, trainingPlace }: Engine['drawing'],
  ): Promise<void> {
    if (announced.status?.version === version && announced.status.analysis === analysis) {
      return;
    }
    announced.status = { version, analysis };
    const family = analysis?.dialect.id;
    await this.#tellFamily(uri, announced, family !== undefined && hasSchema(family) ? family : undefined);
    const hasStatus = analysis !== undefined;
    if (!hasStatus && announced.hasStatus === false) {
      // Reported once: a file that is no config has no problems while it is typed in.
      return;
    }
    announced.hasStatus = hasStatus;
    const now = analysis && status(analysis);
    if (analysis?.estimate) announced.lastStatus = now;
    const current = analysis?.broken && announced.lastStatus ? statusBefore(announced.lastStatus) : now;
    const { notebooks } = this.#parts.documents;
    const place = analysis && notebooks.get(uri) ? trainingPlace(analysis) : undefined;
    const cell = place && notebooks.place(uri, place)?.uri;
    const params: StatusParams = {
      uri,
      version,
      ...(cell === undefined ? {} : { cell }),
      ...(current ? { status: current } : {}),
    };
    await this.#parts.connection.sendNotification(STATUS_NOTIFICATION, params);
  }

  async #tellFamily(uri: string, announced: Announced, family: string | undefined): Promise<void> {
    if (announced.family !== family) {
      announced.family = family;
      await this.#parts.connection.sendNotification(FAMILY_NOTIFICATION, {
        uri,
        family,
      } satisfies FamilyParams);
    }
  }
}

/** FNV-1a over what is shown: short, and the same for the same problems. http://www.isthe.com/chongo/tech/comp/fnv/ */
function identityOf(items: readonly Diagnostic[]): string {
  let hash = 0x811c9dc5;
  for (const char of JSON.stringify(items)) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
  return (hash >>> 0).toString(16);
}
