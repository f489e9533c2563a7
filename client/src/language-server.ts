import {
  type CancellationToken,
  Disposable,
  EventEmitter,
  env,
  type LogOutputChannel,
  l10n,
  type Range,
  type TextDocument,
  type Uri,
  workspace,
} from 'vscode';
import {
  type BaseLanguageClient,
  type LanguageClientOptions,
  RevealOutputChannelOn,
  State,
} from 'vscode-languageclient';
import type { RunValues } from '../../server/src/shared/fields';
import {
  APPLY_REQUEST,
  type Applied,
  type ApplyParams,
  BREAKDOWN_REQUEST,
  type Breakdown,
  type BreakdownParams,
  CATALOG_REQUEST,
  type Catalog,
  type CatalogParams,
  CHANGE_COST_REQUEST,
  CHOOSE_RUN_COMMAND,
  CHOSEN_RUN_NOTIFICATION,
  type ChangeCost,
  type ChangeCostParams,
  type ChosenRunParams,
  COMPARE_REQUEST,
  CONFIGS_REQUEST,
  type CompareParams,
  type Comparison,
  type ConfigsParams,
  DETAIL_REQUEST,
  type DetailParams,
  ESTIMATE_COMMAND,
  EXPLAIN_OOM_REQUEST,
  type ExplainedOom,
  FAMILY_NOTIFICATION,
  type FamilyParams,
  FIXES_REQUEST,
  type FixCards,
  type FixesParams,
  type Found,
  type InitializationOptions,
  type KnownConfigs,
  LEARN_REQUEST,
  type Learned,
  type LearnParams,
  MEASURED_PROGRESS,
  MEASURED_REQUEST,
  type MeasuredAnswer,
  type MeasuredParams,
  type MeasuredProgress,
  NOTE_REQUEST,
  type NoteParams,
  type OomParams,
  type Opened,
  PLAN_REQUEST,
  type Planned,
  type PlanParams,
  RUNS_REQUEST,
  type Runs,
  type RunsParams,
  SCHEMA_REQUEST,
  SCHEMAS_NOTIFICATION,
  type SchemaParams,
  type SchemasParams,
  SEARCH_REQUEST,
  type SearchParams,
  STATUS_NOTIFICATION,
  type StatusParams,
  SUPPLY_COMMAND,
  TEXTS_REQUEST,
  type TextsParams,
  TOOL_REQUEST,
  type ToolAnswer,
  type ToolParams,
  TRY_REQUEST,
  type Tried,
  type TryParams,
  type WorkspaceOptionsOfClient,
} from '../../server/src/shared/protocol';
import type { AppliedMessage } from '../webview/messages';
import { followsCleanTexts } from './clean-texts';
import { DOCUMENT_SELECTOR } from './config-documents';
import { DrawnLenses } from './drawn-lenses';
import { answerFileRequests } from './remote-files';
import { SyntaxOnce } from './syntax-problems';

type ServerState = 'starting' | 'running' | 'stopped' | 'failed';

/** Commands that a hover of the server may link to. */
const HOVER_COMMANDS = [ESTIMATE_COMMAND, SUPPLY_COMMAND, 'oomlint.chooseGpu', CHOOSE_RUN_COMMAND];
/** What comes later than this is treated as not coming, so nothing waits for ever. */
const ANSWER_LIMIT_MS = 15_000;
const START_LIMIT_MS = 30_000;
const STOP_LIMIT_MS = 2_000;

/** Hints that an editor was given for a stretch of a text, by the lines that they stand at. */
export interface DrawnHints {
  readonly document: TextDocument;
  readonly range: Range;
  readonly lines: readonly number[];
}

/** A client of a server that is about to start, by the way that a platform has for it. */
export type Connect = (options: LanguageClientOptions) => BaseLanguageClient;

/** The language server: start, stop, restart, and what it states beyond the Language Server Protocol. */
export class LanguageServer implements Disposable {
  readonly #connect: Connect;
  readonly #log: LogOutputChannel;
  readonly #statusEmitter = new EventEmitter<StatusParams>();
  readonly #stateEmitter = new EventEmitter<ServerState>();
  readonly #familyEmitter = new EventEmitter<FamilyParams>();
  readonly #measuredEmitter = new EventEmitter<MeasuredProgress>();
  readonly #hintsEmitter = new EventEmitter<DrawnHints>();
  readonly #chosenRuns: () => Readonly<Record<string, string>>;
  #schemasServed = false;
  #postponed = false;
  #foundConfigs: KnownConfigs | undefined;
  readonly #following: Disposable;
  #client: BaseLanguageClient | undefined;
  #state: ServerState = 'stopped';
  /** Start, stop and restart happen one after the other, however fast they are asked for. */
  #queue: Promise<void> = Promise.resolve();

  /** Which text the lenses are of that an editor shows. */
  readonly lenses = new DrawnLenses();
  readonly #syntax = new SyntaxOnce();
  readonly onStatus = this.#statusEmitter.event;
  readonly onState = this.#stateEmitter.event;
  readonly onHints = this.#hintsEmitter.event;
  /** The family of an open document became known, or changed. */
  readonly onFamily = this.#familyEmitter.event;
  /** How far the reading of a measured run is. */
  readonly onMeasuredProgress = this.#measuredEmitter.event;

  constructor(
    connect: Connect,
    log: LogOutputChannel,
    chosenRuns: () => Readonly<Record<string, string>> = () => ({}),
  ) {
    this.#chosenRuns = chosenRuns;
    this.#connect = connect;
    this.#log = log;
    // Trust lets the server ask nvidia-smi for the GPU: a fact of its start.
    this.#following = Disposable.from(
      workspace.onDidGrantWorkspaceTrust(() => this.restart()),
      followsCleanTexts(({ uri }) => void this.#savedElsewhere(uri)),
    );
  }

  /** What is on disk again without a save counts as one. */
  async #savedElsewhere(uri: Uri): Promise<void> {
    const client = this.#client;
    if (!client || this.#state !== 'running') return;
    const textDocument = { uri: client.code2ProtocolConverter.asUri(uri) };
    await client.sendNotification('textDocument/didSave', { textDocument }).catch(() => undefined);
  }

  get state(): ServerState {
    return this.#state;
  }

  /** Starts when the first question is asked, or `start` is called. */
  postpone(): void {
    this.#postponed = true;
  }

  start(): Promise<void> {
    this.#postponed = false;
    return this.#enqueue(() => this.#start());
  }

  stop(): Promise<void> {
    return this.#enqueue(() => this.#stop());
  }

  restart(): Promise<void> {
    return this.#enqueue(async () => {
      await this.#stop();
      await this.#start();
    });
  }

  /** The breakdown of a file, or null where it is no training config. Rejects when the server cannot answer. */
  async breakdown(uri: string): Promise<Breakdown | null> {
    const params: BreakdownParams = { uri };
    return this.#request<Breakdown | null>(BREAKDOWN_REQUEST, params);
  }

  /** The figures of a file's breakdown, opened at its peak or a sample; null where there is no estimate. */
  async opened(params: DetailParams): Promise<Opened | null> {
    return this.#request<Opened | null>(DETAIL_REQUEST, params);
  }

  /** Runs that a file is part of; null where it is no training config. */
  async runs(uri: string): Promise<Runs | null> {
    const params: RunsParams = { uri };
    return this.#request<Runs | null>(RUNS_REQUEST, params);
  }

  /** Training configs of the workspace. Takes as long as it takes; with `again` only what changed since the last time is looked at. */
  async configs(token: CancellationToken, again?: boolean): Promise<KnownConfigs> {
    const params: ConfigsParams = { again };
    const found = await this.#ask<KnownConfigs>(CONFIGS_REQUEST, params, token);
    if (!token.isCancellationRequested) this.#foundConfigs = found;
    return found;
  }

  /** What was found when they were asked for last. */
  get foundConfigs(): KnownConfigs | undefined {
    return this.#foundConfigs;
  }

  /** Shows a file in one of its runs from now on; without a root in the worst. */
  async chooseRun(uri: string, root: string | undefined): Promise<void> {
    const params: ChosenRunParams = { uri, root };
    await this.#client?.sendNotification(CHOSEN_RUN_NOTIFICATION, params);
  }

  /** Another extension completes YAML documents from our schemas, or no longer does. */
  async schemasServed(served: boolean): Promise<void> {
    this.#schemasServed = served;
    const params: SchemasParams = { served };
    await this.#client?.sendNotification(SCHEMAS_NOTIFICATION, params);
  }

  /** The JSON schema of that name, in the language of the person; null where there is none. Rejects when the server cannot answer. */
  async schema(name: string): Promise<unknown> {
    const params: SchemaParams = { name };
    return this.#request<unknown>(SCHEMA_REQUEST, params);
  }

  /** Documentation in the language of the person, in the order asked. Rejects when the server cannot answer. */
  async texts(texts: readonly string[]): Promise<readonly string[]> {
    const params: TextsParams = { texts };
    return this.#request<readonly string[]>(TEXTS_REQUEST, params);
  }

  /** The text of a project file in which the values stand; null where it cannot be read. Rejects when the server cannot answer. */
  async note(params: NoteParams): Promise<string | null> {
    return this.#request<string | null>(NOTE_REQUEST, params);
  }

  /** What there is to choose from. Rejects when the server cannot answer. */
  async catalog(): Promise<Catalog | undefined> {
    const params: CatalogParams = {};
    return (await this.#request<Catalog | null>(CATALOG_REQUEST, params)) ?? undefined;
  }

  /** The run of a file with some knobs turned; null where there is no estimate to start from. */
  async tried(params: TryParams, token: CancellationToken): Promise<Tried | null> {
    return this.#request<Tried | null>(TRY_REQUEST, params, token);
  }

  /** Runs of a file that fit; null where there is no estimate, or where it was cancelled. Takes as long as it takes. */
  async search(params: SearchParams, token: CancellationToken): Promise<Found | null> {
    return this.#ask<Found | null>(SEARCH_REQUEST, params, token);
  }

  /** Out-of-memory messages of a text, held to the run that left it. */
  async explainOom(params: OomParams, token?: CancellationToken): Promise<ExplainedOom> {
    return this.#request<ExplainedOom>(EXPLAIN_OOM_REQUEST, params, token);
  }

  /** Reads what a run left, and holds it to the estimate of a config. Takes as long as it takes. */
  async measured(params: MeasuredParams, token: CancellationToken): Promise<MeasuredAnswer | null> {
    return this.#ask<MeasuredAnswer | null>(MEASURED_REQUEST, params, token);
  }

  /** What the measured run at hand can teach; null where there is none. */
  async learn(params: LearnParams): Promise<Learned | null> {
    return this.#request<Learned | null>(LEARN_REQUEST, params);
  }

  /** Calls a tool of agents, or has described what it would write. Takes as long as it takes. */
  async tool(params: ToolParams, token: CancellationToken): Promise<ToolAnswer> {
    return this.#ask<ToolAnswer>(TOOL_REQUEST, params, token);
  }

  /** Two runs side by side; null where one of them has no estimate. */
  async compare(uri: string, other: CompareParams['other']): Promise<Comparison | null> {
    const params: CompareParams = { uri, other };
    return this.#request<Comparison | null>(COMPARE_REQUEST, params);
  }

  /** What a change of a file costs its run; null where there is nothing to tell. */
  async changeCost(params: ChangeCostParams): Promise<ChangeCost | null> {
    return this.#request<ChangeCost | null>(CHANGE_COST_REQUEST, params);
  }

  /** What `apply` would write; null where there is no estimate. */
  async plan(params: PlanParams, token: CancellationToken): Promise<Planned | null> {
    return this.#request<Planned | null>(PLAN_REQUEST, params, token);
  }

  /** What makes a run fit; null where there is no estimate. Takes as long as it takes. */
  async fixes(uri: string, token: CancellationToken): Promise<FixCards | null> {
    const params: FixesParams = { uri };
    return this.#ask<FixCards | null>(FIXES_REQUEST, params, token);
  }

  /** Changes files so that a run has these values; what could not be written, and what is to be done by hand, comes back. */
  async apply(
    uri: string,
    values: RunValues,
    fix?: string,
  ): Promise<Pick<AppliedMessage, 'left' | 'byHand'>> {
    const params: ApplyParams = { uri, values, fix };
    const applied = await this.#request<Applied | null>(APPLY_REQUEST, params);
    if (!applied || !this.#client) throw new Error(l10n.t('The file cannot be changed.'));
    const edit = await this.#client.protocol2CodeConverter.asWorkspaceEdit(applied.edit as never);
    if (applied.edit && edit && !(await workspace.applyEdit(edit))) {
      throw new Error(l10n.t('The editor refused the change.'));
    }
    return { left: applied.left.map(({ reason }) => reason), byHand: applied.byHand };
  }

  dispose(): void {
    this.#following.dispose();
    this.#statusEmitter.dispose();
    this.lenses.dispose();
    this.#syntax.dispose();
    this.#stateEmitter.dispose();
    this.#familyEmitter.dispose();
    this.#hintsEmitter.dispose();
    this.#measuredEmitter.dispose();
  }

  #request<R>(method: string, params?: object, token?: CancellationToken): Promise<R> {
    // The limit covers a start that hangs, too.
    return within(ANSWER_LIMIT_MS, 'answer', this.#ask<R>(method, params, token));
  }

  async #ask<R>(method: string, params?: object, token?: CancellationToken): Promise<R> {
    if (this.#postponed) void this.start();
    await this.#queue;
    if (this.#client === undefined || this.#state !== 'running') {
      throw new Error('The language server is not running.');
    }
    if (params === undefined) return this.#client.sendRequest<R>(method);
    // A token that is not there would be taken for a parameter.
    return token
      ? this.#client.sendRequest<R>(method, params, token)
      : this.#client.sendRequest<R>(method, params);
  }

  #enqueue(step: () => Promise<void>): Promise<void> {
    this.#queue = this.#queue.then(step, step);
    return this.#queue;
  }

  async #start(): Promise<void> {
    if (this.#client !== undefined) {
      return;
    }
    this.#setState('starting');
    this.#syntax.forget();
    const client = this.#connect({
      documentSelector: DOCUMENT_SELECTOR,
      outputChannel: this.#log,
      traceOutputChannel: this.#log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      diagnosticCollectionName: 'oomlint',
      initializationOptions: {
        trusted: workspace.isTrusted,
        language: env.language,
        chosenRuns: this.#chosenRuns(),
        readsFiles: true,
        schemasServed: this.#schemasServed,
      } satisfies InitializationOptions & WorkspaceOptionsOfClient,
      // One place tells about a failed start: the status item, with the way to the log.
      initializationFailedHandler: (error) => {
        this.#log.error(`The language server did not initialize: ${error}`);
        return false;
      },
      connectionOptions: { maxRestartCount: 3 },
      middleware: {
        ...this.#syntax.middleware,
        ...this.lenses.middleware,
        provideInlayHints: async (document, range, token, next) => {
          const hints = await next(document, range, token);
          if (hints && !token.isCancellationRequested)
            this.#hintsEmitter.fire({ document, range, lines: hints.map(({ position }) => position.line) });
          return hints;
        },
      },
      markdown: { isTrusted: { enabledCommands: HOVER_COMMANDS }, supportThemeIcons: true },
    });
    client.onNotification(STATUS_NOTIFICATION, (status: StatusParams) => this.#statusEmitter.fire(status));
    client.onNotification(FAMILY_NOTIFICATION, (family: FamilyParams) => this.#familyEmitter.fire(family));
    client.onNotification(MEASURED_PROGRESS, (progress: MeasuredProgress) =>
      this.#measuredEmitter.fire(progress),
    );
    answerFileRequests(client);
    client.onDidChangeState(({ newState }) => {
      if (this.#client === client) {
        // The client restarts a server that dies by itself; what it reports then holds here too.
        this.#setState(
          newState === State.Running ? 'running' : newState === State.Stopped ? 'failed' : 'starting',
        );
      }
    });
    this.#client = client;
    try {
      await within(START_LIMIT_MS, 'start', client.start());
      this.#setState('running');
      this.#log.info('The language server is running.');
    } catch (error) {
      this.#setState('failed');
      this.#log.error(
        `The language server could not start: ${error instanceof Error ? error.message : error}`,
      );
    }
  }

  async #stop(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    if (client === undefined) {
      return;
    }
    this.#setState('stopped');
    try {
      await within(STOP_LIMIT_MS, 'stop', client.dispose(STOP_LIMIT_MS));
    } catch (error) {
      // A server that never came up cannot be shut down in order; its process is gone all the same.
      this.#log.warn(`The language server was ended: ${error instanceof Error ? error.message : error}`);
    }
  }

  #setState(state: ServerState): void {
    if (state !== this.#state) {
      this.#state = state;
      this.#stateEmitter.fire(state);
    }
  }
}

async function within<T>(limit: number, what: 'start' | 'stop' | 'answer', outcome: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`The language server did not ${what} within ${limit / 1000} s.`)),
      limit,
    );
  });
  try {
    return await Promise.race([outcome, late]);
  } finally {
    clearTimeout(timer);
  }
}
