import type { Connection, Disposable, TextDocuments } from 'vscode-languageserver/node';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import type { Problem } from '../config/node';
import { diagnostics } from '../features/diagnostics';
import { drawnAlike } from '../features/drawn';
import { STATUS_NOTIFICATION, type StatusParams } from '../features/protocol';
import { status } from '../features/status';
import { FAMILY_NOTIFICATION, type FamilyParams } from '../features/workspace-protocol';
import type { Analysis } from '../workspace/analysis';
import { canonicalUri } from '../workspace/uri';
import { ClosedFiles } from './closed-files';
import { type ClientSupport, toDiagnostic } from './convert';
import { type EditorHost, isCandidate } from './open-files';
import type { Runner } from './runner';
import type { Engine } from './runtime';
import type { SettingsCache } from './settings';

const TYPING_PAUSE_MS = 150;
const REFRESH_PAUSE_MS = 50;

/** What an editor draws into a text by asking for it. */
type Drawing = 'lenses' | 'hints';

/** What is known about a text. */
interface Known {
  readonly version: number;
  readonly analysis: Analysis | undefined;
}

/** What was said about one open document. */
interface Told {
  /** Some pass since the last publish was asked to publish. */
  publish: boolean;
  /** Problems as they were published last, with the version of the text; undefined where they are to be said again. */
  published: string | undefined;
  /** Problems when they were to be said last: of the text as saved, where typing is not followed. */
  due: readonly Problem[];
  /** Which of these the editor shows. */
  shown: string;
  /** What the last status was about. */
  status: Known | undefined;
  /** What the editor drew last. */
  readonly drawn: Map<Drawing, Known>;
  /** The text differs from what is on disk. */
  dirty: boolean;
  hasDiagnostics: boolean;
  hasStatus: boolean | undefined;
  /** Family that the editor knows of. */
  family: string | undefined;
  timer: NodeJS.Timeout | undefined;
}

interface Parts {
  readonly connection: Connection;
  readonly documents: TextDocuments<TextDocument>;
  readonly host: EditorHost;
  readonly settings: SettingsCache;
  readonly runner: Runner;
  readonly engine: () => Promise<Engine>;
}

/** A run has one verdict, whatever its figures. */
const isVerdict = ({ code }: Problem) => code === 'does-not-fit' || code === 'tight';
/** What makes a problem the same one after an edit elsewhere. */
const identity = (problem: Problem) =>
  isVerdict(problem) ? 'verdict' : `${problem.code} ${problem.message.split('\n')[0]}`;

/** Whether what is missing among the problems is put right. In a text that is half typed it may only be out of sight. */
function mayShrink(
  problems: readonly Problem[],
  analysis: Analysis | undefined,
  due: readonly Problem[],
): boolean {
  return (
    !problems.some(({ code }) => code === 'syntax') &&
    (analysis?.estimate !== undefined || !due.some(isVerdict))
  );
}

/** Open documents and what the editor was told about each: when to analyse, when to publish, when to clear. */
export class Session implements Disposable {
  support: ClientSupport = { related: false, codeDescription: false, tags: false, markdown: true };
  /** Requests by which the editor is made to ask again. */
  refreshes: readonly string[] = [];
  readonly #parts: Parts;
  readonly #told = new Map<string, Told>();
  readonly #closed: ClosedFiles;
  #mayBeConfig = new WeakMap<TextDocument, { version: number; answer: Promise<boolean> }>();
  #refreshTimer: NodeJS.Timeout | undefined;

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
    if (version !== undefined) this.#told.get(uri)?.drawn.set(drawing, { version, analysis });
    return analysis;
  }

  /** Whether an open document is worth a look and switched on. */
  async mayBeConfig(uri: string): Promise<boolean> {
    const document = this.#parts.documents.get(uri);
    if (!document || !isCandidate(document)) return false;
    const engine = await this.#parts.engine();
    return (await this.#looksLikeConfig(document, engine)) && (await this.#parts.settings.of(uri)).enable;
  }

  /** As `analysis`, for files that may not be open: a panel can outlive its editor. */
  async analysisOfFile(uri: string): Promise<Analysis | undefined> {
    if (this.#parts.documents.get(uri) || !uri.startsWith('file:')) {
      return this.analysis(uri);
    }
    const { enable } = await this.#parts.settings.of(uri);
    this.#parts.settings.forget(uri);
    return enable ? (await this.#parts.engine()).analyze(uri) : undefined;
  }

  opened(document: TextDocument): void {
    this.#closed.opened(document.uri);
    this.#told.set(document.uri, {
      publish: true,
      published: undefined,
      due: [],
      shown: '',
      status: undefined,
      drawn: new Map(),
      dirty: false,
      hasDiagnostics: false,
      hasStatus: undefined,
      family: undefined,
      timer: undefined,
    });
  }

  /** Called for opened documents as well, after `opened`. */
  changed(document: TextDocument, isOpening: boolean): void {
    const told = this.#told.get(document.uri);
    if (!told || !isCandidate(document)) {
      return;
    }
    told.dirty = !isOpening;
    this.#schedule(document.uri, isOpening ? 0 : TYPING_PAUSE_MS);
    const { uri } = document;
    this.#parts.runner.background('Following a change', () =>
      isOpening ? this.touched([uri], false) : this.#edited(uri),
    );
  }

  async saved(uri: string): Promise<void> {
    const told = this.#told.get(uri);
    if (told) {
      told.dirty = false;
      told.publish = true;
      told.published = undefined;
      this.#schedule(uri, 0);
    }
    await this.touched([uri], true);
    await this.#refreshUsers(uri);
  }

  /** The same text is to be looked at in another way, such as in another of its runs. */
  async again(uri: string): Promise<void> {
    (await this.#parts.engine()).invalidate(uri);
    const told = this.#told.get(uri);
    if (told) {
      told.publish ||= !told.dirty;
      told.drawn.clear();
      this.#schedule(uri, 0);
      this.refreshHints();
    }
  }

  async closed(uri: string): Promise<void> {
    const told = this.#told.get(uri);
    clearTimeout(told?.timer);
    this.#told.delete(uri);
    this.#parts.settings.forget(uri);
    if (told?.hasDiagnostics) {
      await this.#parts.connection.sendDiagnostics({ uri, diagnostics: [] });
    }
    // Unsaved text is gone: files that link to this one see what is on disk.
    await this.touched([uri], true);
  }

  /**
   * Texts of files changed: forget what was read from them and look again, once, at the files that may depend on any of
   * them. What is the same as before is not said again.
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
    for (const dependent of teaches ? [...this.#told.keys()] : dependents) {
      const document = dependent === single ? undefined : this.#parts.host.find(dependent);
      const told = document && this.#told.get(document.uri);
      if (document && told) {
        told.publish ||= publish && !told.dirty;
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
      ...(analysis?.runs ?? []).map(({ root }) => root),
    ];
    const others = users.filter((user) => user !== canonicalUri(uri));
    if (others.length > 0) {
      this.#parts.runner.background('Following closed files', () => this.#closed.refresh(others));
    }
  }

  /** Settings, folders or files changed in a way that may concern every open document. */
  async refreshAll(): Promise<void> {
    if (this.#told.size === 0) {
      return;
    }
    (await this.#parts.engine()).invalidateAll();
    for (const [uri, told] of this.#told) {
      told.publish = true;
      told.drawn.clear();
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

  dispose(): void {
    clearTimeout(this.#refreshTimer);
    for (const told of this.#told.values()) {
      clearTimeout(told.timer);
    }
    this.#told.clear();
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
    const told = this.#told.get(uri);
    if (!told) {
      return;
    }
    clearTimeout(told.timer);
    const pass = () => this.#parts.runner.background(`Analysing ${uri}`, () => this.#pass(uri, told));
    told.timer = setTimeout(pass, delay);
  }

  async #pass(uri: string, told: Told): Promise<void> {
    const { documents, settings, connection } = this.#parts;
    const version = documents.get(uri)?.version;
    const analysis = await this.analysis(uri);
    const found = analysis ? diagnostics(analysis) : await this.#projectProblems(uri);
    // An editor is not asked for settings of a file that there is nothing to say about.
    const when = found && (await settings.of(uri)).diagnosticsRun;
    const problems = when === 'off' ? undefined : found;
    const isCurrent = () => this.#told.get(uri) === told && documents.get(uri)?.version === version;
    if (version === undefined || !isCurrent()) {
      // A later pass follows the later text, and publishes what this one was asked to publish.
      return;
    }
    const state = { version, analysis };
    this.#drawAgain(told, state);
    await this.#wakeParts(uri, analysis);
    await this.#tellStatus(uri, told, state);
    if (!isCurrent()) {
      return;
    }
    if (!problems) {
      told.publish = false;
      told.published = undefined;
      told.due = [];
      told.shown = '';
      await this.#clear(uri, version, told);
      return;
    }
    const isDue = told.publish || when === 'onType';
    if (isDue) told.due = problems;
    else if (!mayShrink(problems, analysis, told.due)) return;
    const known = new Set(told.due.map(identity));
    const left = isDue ? problems : problems.filter((problem) => known.has(identity(problem)));
    const names = left.map(identity).sort().join('\n');
    // An editor moves what it shows along with the text: before the next save only what is gone has to be told.
    if (!isDue && names === told.shown) return;
    told.publish = false;
    told.hasDiagnostics = true;
    told.shown = names;
    const list = left.map((problem) => toDiagnostic(problem, this.support));
    const published = JSON.stringify([version, list]);
    if (published !== told.published) {
      told.published = published;
      await connection.sendDiagnostics({ uri, version, diagnostics: list });
    }
  }

  /** Open files that are nothing by themselves are looked at again once a config is known that starts from them. */
  async #wakeParts(uri: string, analysis: Analysis | undefined): Promise<void> {
    const engine = await this.#parts.engine();
    for (const file of analysis?.files ?? []) {
      const document = file === uri || engine.teaches(file) ? undefined : this.#parts.host.find(file);
      const told = document && this.#told.get(document.uri);
      const nothing = told?.status !== undefined && told.status.analysis === undefined;
      if (!document || !nothing || !/\.ya?ml$/i.test(file)) continue;
      engine.invalidate(document.uri);
      this.#mayBeConfig.delete(document);
      told.publish ||= !told.dirty;
      this.#schedule(document.uri, 0);
    }
  }

  /** Another file changed what an editor drew: of its own changes an editor knows without being told. */
  #drawAgain(told: Told, known: Known): void {
    const before = [...told.drawn.values()].filter(({ version }) => version === known.version);
    if (before.some(({ analysis }) => !drawnAlike(analysis, known.analysis))) {
      // It draws now, or does not show the document.
      for (const drawing of told.drawn.keys()) told.drawn.set(drawing, known);
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

  async #clear(uri: string, version: number, told: Told): Promise<void> {
    if (told.hasDiagnostics) {
      told.hasDiagnostics = false;
      await this.#parts.connection.sendDiagnostics({ uri, version, diagnostics: [] });
    }
  }

  async #tellStatus(uri: string, told: Told, { version, analysis }: Known): Promise<void> {
    if (told.status?.version === version && told.status.analysis === analysis) {
      return;
    }
    told.status = { version, analysis };
    await this.#tellFamily(uri, told, analysis?.dialect.id);
    const hasStatus = analysis !== undefined;
    if (!hasStatus && told.hasStatus === false) {
      // Said once: a file that is no config stays silent while it is typed in.
      return;
    }
    told.hasStatus = hasStatus;
    const params: StatusParams = analysis ? { uri, version, status: status(analysis) } : { uri, version };
    await this.#parts.connection.sendNotification(STATUS_NOTIFICATION, params);
  }

  async #tellFamily(uri: string, told: Told, family: string | undefined): Promise<void> {
    if (told.family !== family) {
      told.family = family;
      await this.#parts.connection.sendNotification(FAMILY_NOTIFICATION, {
        uri,
        family,
      } satisfies FamilyParams);
    }
  }
}
