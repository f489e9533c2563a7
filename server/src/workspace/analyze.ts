import { mayHaveBase } from '../config/defaults-list';
import type { Problem } from '../config/node';
import { parseConfig } from '../config/parse';
import type { Dialect } from '../dialects/dialect';
import { detectDialect, isVocabularyFile, mightBeTrainingConfig } from '../dialects/registry';
import { type Estimate, type EstimateInput, estimate as estimateRun } from '../estimate';
import type { DetectedGpus } from '../hardware/detect';
import type { RunValues } from '../run/fields';
import type { Fact } from '../run/origin';
import type { Analysis } from './analysis';
import { assemble, internalError } from './assembly';
import { remembering } from './estimate-cache';
import { FileCache, type FullReading, readConfig, type TaughtDialect, TrackedFiles } from './file-cache';
import type { Host } from './host';
import { OverlaidHost } from './overlaid-host';
import { PROJECT_FILE_NAMES, parseProjectFile } from './project-file';
import { canonicalUri, fileName, parentUri, resolvePath } from './uri';
import { missingVocabularies, taughtFor } from './vocabularies';

/** What a workspace is told from outside the files. */
export interface WorkspaceOptions {
  /** Editor settings for one file, by field. */
  readonly settings?: (uri: string) => RunValues | Promise<RunValues>;
  /** Facts of a command line: they override everything. */
  readonly commandLine?: readonly Fact[];
  /** GPUs of this machine; called only where no file and no setting names a GPU. Leave out where it is not allowed. */
  readonly detect?: (uri: string) => Promise<DetectedGpus | undefined>;
  /** Root of the run that the user wants a file to be shown in, of several that use it. */
  readonly chosenRun?: (uri: string) => string | undefined;
  /** Reckons a complete run; for tests. */
  readonly estimate?: (input: EstimateInput) => Estimate;
}

interface Kept {
  /** As asked. */
  readonly uri: string;
  readonly text: string;
  readonly result: Promise<Analysis | undefined>;
  readonly files: TrackedFiles;
  /** Something that took part has changed since. */
  stale: boolean;
}

/**
 * All configs of a workspace. Analyses are kept until their text changes or `invalidate` names a file that took part;
 * nothing is scanned ahead.
 */
export class Workspace {
  readonly #cache: FileCache;
  readonly #options: WorkspaceOptions;
  readonly #estimate: (input: EstimateInput) => Estimate;
  /** By canonical URI. */
  readonly #kept = new Map<string, Kept>();

  constructor(host: Host, options: WorkspaceOptions = {}) {
    this.#cache = new FileCache(host);
    this.#options = options;
    this.#estimate = options.estimate ?? remembering(estimateRun);
  }

  /** Cheap look at a text: false is certain, true is worth an analysis. */
  static mayBeConfig(uri: string, text: string): boolean {
    return mightBeTrainingConfig(text, fileName(uri));
  }

  /**
   * What is known about a config; undefined where the file is none or is switched off. Never throws: whatever goes
   * wrong inside becomes a problem `internal-error`.
   */
  async analyze(uri: string): Promise<Analysis | undefined> {
    const key = canonicalUri(uri);
    const text = await this.#cache.host.readText(uri).catch(() => undefined);
    if (text === undefined) {
      this.#kept.delete(key);
      return undefined;
    }
    const known = this.#kept.get(key);
    if (known?.text === text && known.uri === uri && !known.stale) {
      return known.result;
    }
    if (known && known.text !== text) {
      this.#cache.forgetText(key);
      this.#markStale(key);
    }
    const seen = [...this.#kept.keys()].filter((other) => other !== key);
    const files = new TrackedFiles(this.#cache, seen);
    const result = this.#run(uri, text, files);
    this.#kept.set(key, { uri, text, result, files, stale: false });
    return result;
  }

  /** A config file of a run as it stands, read alone; undefined where it is none. */
  async source(uri: string): Promise<FullReading | undefined> {
    const files = new TrackedFiles(this.#cache, []);
    files.dialects = dialectsOf(await taughtFor(uri, files));
    return files.read(uri);
  }

  /** The analysis that a file would have if files had these texts, by URI. Nothing of it is kept. */
  async preview(uri: string, texts: ReadonlyMap<string, string>): Promise<Analysis | undefined> {
    const host = new OverlaidHost(this.#cache.host, texts);
    const text = await host.readText(uri);
    const key = canonicalUri(uri);
    const seen = [...this.#kept.keys()].filter((other) => other !== key);
    return text === undefined ? undefined : this.#run(uri, text, new TrackedFiles(new FileCache(host), seen));
  }

  /** The text of a file, or what settings say about it, changed; so did its existence, perhaps. */
  invalidate(uri: string): void {
    const key = canonicalUri(uri);
    this.#cache.forget(key);
    this.#markStale(key);
  }

  #markStale(key: string): void {
    for (const affected of [key, ...this.#dependentKeys(key)]) {
      const kept = this.#kept.get(affected);
      if (kept) {
        kept.stale = true;
      }
    }
  }

  /** Everything is read anew: settings or workspace folders changed. */
  invalidateAll(): void {
    this.#cache.clear();
    for (const kept of this.#kept.values()) {
      kept.stale = true;
    }
  }

  /** Analysed files whose result depends on a file, itself not among them. */
  dependents(uri: string): string[] {
    const key = canonicalUri(uri);
    const keys = this.#dependentKeys(key);
    return keys.flatMap((dependent) => this.#kept.get(dependent)?.uri ?? []);
  }

  /** A text as its family reads it, nothing joined: for completion, which cannot wait. Undefined where it is no config. */
  async readText(uri: string, text: string): Promise<FullReading | undefined> {
    const files = new TrackedFiles(this.#cache, []);
    files.dialects = dialectsOf(await taughtFor(uri, files));
    const family = mayHaveBase(uri, text) ? await files.familyOfBase(canonicalUri(uri), text) : undefined;
    try {
      return readConfig(uri, text, family, files.dialects);
    } catch {
      return undefined;
    }
  }

  /** Configs that a path may name, as it is written from a file: those of the folder that is typed so far. */
  async filesFrom(uri: string, typed: string): Promise<readonly string[]> {
    const folder = parentUri(uri);
    const shown = typed.slice(0, typed.lastIndexOf('/') + 1);
    const { host } = this.#cache;
    const place = folder && (shown === '' ? folder : resolvePath(folder, shown, host.home));
    const names = (place && (await host.list?.(place).catch(() => undefined))) || [];
    return names
      .filter((name) => /\.(jsonc?|ya?ml|toml)$/i.test(name) && name !== fileName(uri))
      .map((name) => `${shown}${name}`);
  }

  /** Whether there is a text at all, for messages about files that are no config. */
  async readable(uri: string): Promise<boolean> {
    return (await this.#cache.host.readText(uri).catch(() => undefined)) !== undefined;
  }

  /** Problems of an `oomlint.yaml` or of a vocabulary; undefined where the file is neither. */
  async checkProjectFile(uri: string): Promise<readonly Problem[] | undefined> {
    const text = await this.#cache.host.readText(uri).catch(() => undefined);
    if (text === undefined) {
      return undefined;
    }
    const files = new TrackedFiles(this.#cache, []);
    if (PROJECT_FILE_NAMES.includes(fileName(uri))) {
      const project = parseProjectFile(uri, text);
      return [...project.problems, ...(await missingVocabularies(project, files))];
    }
    if (isVocabularyFile(fileName(uri))) {
      return this.#cache.taught(canonicalUri(uri), text).problems;
    }
    // A vocabulary may have any name that the project file gives.
    const named = /\bkeys\s*:/.test(text) && (await taughtFor(uri, files));
    return named ? named.find((taught) => taught.uri === canonicalUri(uri))?.problems : undefined;
  }

  /** Whether a change of the file may turn other files into configs, or make them none. */
  static teaches(uri: string): boolean {
    return isVocabularyFile(fileName(uri)) || PROJECT_FILE_NAMES.includes(fileName(uri));
  }

  /** As `mayBeConfig`, with the families that the workspace teaches. */
  async isCandidate(uri: string, text: string): Promise<boolean> {
    if (Workspace.mayBeConfig(uri, text) || mayHaveBase(uri, text)) {
      return true;
    }
    const taught = await taughtFor(uri, new TrackedFiles(this.#cache, []));
    return mightBeTrainingConfig(text, fileName(uri), dialectsOf(taught));
  }

  #dependentKeys(key: string): string[] {
    const folder = parentUri(key);
    return [...this.#kept]
      .filter(([other, { files }]) => {
        const listed = folder !== undefined && files.listed.has(folder);
        return other !== key && (listed || files.dependencies.has(key));
      })
      .map(([other]) => other);
  }

  async #run(uri: string, text: string, files: TrackedFiles): Promise<Analysis | undefined> {
    files.dialects = dialectsOf(await taughtFor(uri, files));
    const derived = mayHaveBase(uri, text);
    if (!derived && !mightBeTrainingConfig(text, fileName(uri), files.dialects)) {
      return undefined;
    }
    const options = { ...this.#options, estimate: this.#estimate };
    try {
      const family = derived ? await files.familyOfBase(canonicalUri(uri), text) : undefined;
      const config = readConfig(uri, text, family, files.dialects);
      return config && !config.off ? await assemble(config, files, options) : undefined;
    } catch (error) {
      return failed(uri, text, error);
    }
  }
}

function dialectsOf(taught: readonly TaughtDialect[]): Dialect[] {
  return taught.flatMap(({ dialect }) => dialect ?? []);
}

/** An analysis that says nothing but that Oomlint itself failed; undefined where not even the text can be read. */
function failed(uri: string, text: string, error: unknown): Analysis | undefined {
  try {
    const document = parseConfig(uri, text);
    const dialect = detectDialect(document);
    return (
      dialect && {
        uri,
        document,
        dialect,
        reading: { facts: [], links: [], problems: [], autos: [] },
        links: [],
        files: [uri],
        resolved: { values: {}, origins: {}, overruled: [], unknown: [] },
        problems: [...document.problems, internalError(error, document)],
      }
    );
  } catch {
    return undefined;
  }
}
