import type { Connection } from 'vscode-languageserver';
import type { Shown } from '../features/inlay-hints';
import type { RunValues } from '../run/fields';
import { modelField } from '../run/model-field';

/** The section `oomlint` of an editor's settings, as one resource sees it. */
export interface Settings {
  readonly enable: boolean;
  readonly gpu?: string;
  readonly gpus?: number;
  readonly nodes?: number;
  readonly model?: string;
  readonly sequence?: number;
  readonly microBatch?: number;
  /** US dollars for one GPU and hour. */
  readonly price?: number;
  readonly detectGpu: boolean;
  readonly diagnosticsRun: 'off' | 'onSave' | 'onType';
  readonly codeLens: boolean;
  readonly inlayHints: Shown;
  readonly hover: boolean;
}

export const SECTION = 'oomlint';

/** Reads whatever an editor sends; a value of the wrong type counts as not set. */
export function readSettings(raw: unknown): Settings {
  const root = record(raw);
  return {
    enable: root.enable !== false,
    gpu: text(root.gpu),
    gpus: count(root.gpus),
    nodes: count(root.nodes),
    model: text(root.model),
    sequence: count(root.sequence),
    microBatch: count(root.microBatch),
    price: amount(root.price),
    detectGpu: root.detectGpu !== false,
    diagnosticsRun: oneOf(['onSave', 'onType', 'off'], record(root.diagnostics).run),
    codeLens: record(root.codeLens).enabled !== false,
    inlayHints: oneOf(['heaviest', 'all', 'off'], record(root.inlayHints).show),
    hover: record(root.hover).enabled !== false,
  };
}

/** What the settings say about a run. */
export function settingValues(settings: Settings): RunValues {
  const model = settings.model;
  return {
    ...(settings.gpu === undefined ? {} : { 'hardware.gpu': settings.gpu }),
    ...(settings.gpus === undefined ? {} : { 'hardware.gpus': settings.gpus }),
    ...(settings.nodes === undefined ? {} : { 'hardware.nodes': settings.nodes }),
    ...(model === undefined ? {} : { [modelField(model)]: model }),
    ...(settings.sequence === undefined ? {} : { 'batch.sequence': settings.sequence }),
    ...(settings.microBatch === undefined ? {} : { 'batch.micro': settings.microBatch }),
    ...(settings.price === undefined ? {} : { 'hardware.price': settings.price }),
  };
}

/** Settings per resource, asked for once and kept until they change. */
export class SettingsCache {
  readonly #connection: Connection;
  readonly #byUri = new Map<string, Promise<Settings>>();
  /** Editors without `workspace/configuration` push the section, or say nothing. */
  #pushed: unknown;
  #pull = false;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  usePull(): void {
    this.#pull = true;
  }

  of(uri: string): Promise<Settings> {
    let settings = this.#byUri.get(uri);
    if (!settings) {
      settings = this.#pull ? this.#ask(uri) : Promise.resolve(readSettings(this.#pushed));
      this.#byUri.set(uri, settings);
    }
    return settings;
  }

  changed(pushed: unknown): void {
    this.#pushed = record(pushed)[SECTION] ?? this.#pushed;
    this.#byUri.clear();
  }

  forget(uri: string): void {
    this.#byUri.delete(uri);
  }

  async #ask(uri: string): Promise<Settings> {
    try {
      return readSettings(
        await this.#connection.workspace.getConfiguration({ scopeUri: uri, section: SECTION }),
      );
    } catch {
      // An editor that promised an answer and gives none still gets an analysis, with the defaults.
      return readSettings(undefined);
    }
  }
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** The first is the default. */
function oneOf<T extends string>(choices: readonly [T, ...T[]], value: unknown): T {
  return choices.find((choice) => choice === value) ?? choices[0];
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

function amount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 ? value : undefined;
}
