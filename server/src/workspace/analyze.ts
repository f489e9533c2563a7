import { mayHaveBase } from '../config/defaults-list';
import { parseConfig, prepareFormat } from '../config/parse';
import type { Dialect } from '../dialects/dialect';
import { detectDialect, mightBeTrainingConfig } from '../dialects/registry';
import type { EstimateInput } from '../estimate';
import type { DetectedGpus } from '../hardware/detect';
import { onDemand, withChanges } from '../memo/on-demand';
import type { Estimate } from '../results/estimate';
import { readDirective } from '../run/directive';
import type { RunValues } from '../run/fields';
import type { Fact } from '../run/origin';
import type { Problem } from '../text/problem';
import { canonicalUri, fileName, parentUri, resolvePath } from '../text/uri';
import type { Analysis } from './analysis';
import type { Asked } from './asked';
import { assemble } from './assembly/assemble';
import { rememberedEstimate } from './estimate-cache';
import { FileCache, type FullReading, readPart, type TaughtDialect, TrackedFiles } from './file-cache';
import type { Host } from './host';
import { internalError } from './internal-error';
import { followLinks } from './links';
import { nearestProject } from './nearest-project';
import { OverlaidHost } from './overlaid-host';
import { parseProjectFile, projectLevels } from './project-file';
import { PROJECT_FILE_NAMES } from './project-file-names';
import { type ProjectPlace, projectPlace } from './project-place';
import { reported } from './reported';
import { type ProgramRuns, runOfPart, runsOfData } from './runs';
import { isVocabulary, missingVocabularies, taughtFor } from './vocabularies';

/** What a workspace knows from outside the files. */
export interface WorkspaceOptions {
  /** Editor settings for one file, by field. */
  readonly settings?: (uri: string) => RunValues | Promise<RunValues>;
  /** Facts of a command line: they override everything. */
  readonly commandLine?: readonly Fact[];
  /** What is known from elsewhere, such as the card of a log: counts where no file and no setting states it. */
  readonly given?: readonly Fact[];
  /** GPUs of this machine; called only where no file and no setting names a GPU. Leave out where it is not allowed. */
  readonly detect?: (uri: string) => Promise<DetectedGpus | undefined>;
  /** Root of the run that the user wants a file to be shown in, of several that use it. */
  readonly chosenRun?: (uri: string) => string | undefined;
  /** Whether an editor shows a file: what is worked out about those is kept, of others the latest alone. */
  readonly isOpen?: (uri: string) => boolean;
  /** Estimates a complete run; for tests. */
  readonly estimate?: (input: EstimateInput) => Estimate;
}

interface Kept {
  /** As asked. */
  readonly uri: string;
  readonly text: string;
  readonly result: Promise<Analysis | undefined>;
  readonly files: TrackedFiles;
  /** Files asked about that changed since: whether their answers did is looked at when the analysis is asked for. */
  readonly changed: Set<string>;
  checking?: Promise<void>;
  /** What it was made of is another now. */
  stale: boolean;
}

/** Analyses of files that no editor shows: some of them use one that is edited. */
const MOST_CLOSED = 32;

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

  constructor(host: Host, options: WorkspaceOptions = {}, cache = new FileCache(host)) {
    this.#cache = cache;
    this.#options = options;
    this.#estimate = options.estimate ?? rememberedEstimate;
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
    if (known) this.#used(key, known);
    if (known?.text === text && known.uri === uri && !known.stale) {
      if (known.changed.size === 0 && !known.checking) return known.result;
      known.checking ??= check(known);
      await known.checking;
      // Stale, fresh, or of another text by now.
      return this.analyze(uri);
    }
    if (known && known.text !== text) {
      this.#cache.forgetText(key);
      this.#changed(key);
    }
    const seen = [...this.#kept.keys()].filter((other) => other !== key);
    const files = new TrackedFiles(this.#cache, seen);
    const result = this.#run(uri, text, files);
    this.#used(key, { uri, text, result, files, changed: new Set(), stale: false });
    return result;
  }

  /** Keeps an analysis as the one that was asked for last, and lets go of those that nobody will ask for. */
  #used(key: string, kept: Kept): void {
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    if (this.#kept.size <= MOST_CLOSED) return;
    const { isOpen } = this.#options;
    const closed = [...this.#kept].filter(([, { uri }]) => !isOpen?.(uri));
    for (const [old] of closed.slice(0, Math.max(0, closed.length - MOST_CLOSED))) this.#kept.delete(old);
  }

  /** The same files, of which more is known. Analyses of either are none of the other's. */
  given(facts: readonly Fact[]): Workspace {
    const given = [...(this.#options.given ?? []), ...facts];
    return new Workspace(this.#cache.host, { ...this.#options, given }, this.#cache);
  }

  /** A config file of a run as it stands, read alone; undefined where it is none. */
  async source(uri: string): Promise<FullReading | undefined> {
    const files = new TrackedFiles(this.#cache, []);
    files.dialects = dialectsOf(await taughtFor(uri, files));
    const own = await files.read(uri);
    if (own) return own;
    const loading = await this.#startOf(uri, files);
    if (loading?.start.document.format !== 'python') return undefined;
    const text = await files.readText(uri);
    return text === undefined ? undefined : readPart(uri, text, loading.start);
  }

  /** The project file that holds for a config, or would if it existed. */
  async project(analysis: Analysis): Promise<ProjectPlace | undefined> {
    return projectPlace(this.#cache.host, analysis);
  }

  get folders(): readonly string[] {
    return this.#cache.host.folders;
  }

  /** Whether there is a file, of any kind. */
  exists(uri: string): Promise<boolean> {
    return this.#cache.host.exists(uri);
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
    const kept = this.#kept.get(key);
    if (kept) kept.stale = true;
    this.#changed(key);
  }

  /** The text of an open document changed: which files there are is as before. */
  edited(uri: string): void {
    const key = canonicalUri(uri);
    this.#cache.forgetText(key);
    this.#changed(key);
  }

  #changed(key: string): void {
    for (const kept of this.#concerned(key)) kept.changed.add(key);
  }

  /** Everything is read anew: settings or workspace folders changed. */
  invalidateAll(): void {
    this.#cache.clear();
    for (const kept of this.#kept.values()) {
      kept.stale = true;
    }
  }

  /** Analysed files whose result may depend on a file, itself not among them. */
  dependents(uri: string): string[] {
    return this.#concerned(canonicalUri(uri)).map((kept) => kept.uri);
  }

  /** A text as its family reads it, nothing joined: for completion, which cannot wait. Undefined where it is no config. */
  async readText(uri: string, text: string): Promise<FullReading | undefined> {
    const files = new TrackedFiles(this.#cache, []);
    files.dialects = dialectsOf(await taughtFor(uri, files));
    try {
      await prepareFormat(uri, text);
      return await files.config(uri, text);
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

  /** The text of a file, undefined where there is none. */
  async text(uri: string): Promise<string | undefined> {
    return this.#cache.host.readText(uri).catch(() => undefined);
  }

  /** Whether there is a text at all, for messages about files that are no config. */
  async readable(uri: string): Promise<boolean> {
    return (await this.text(uri)) !== undefined;
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
    if (isVocabulary(uri)) {
      return this.#cache.taught(canonicalUri(uri), text).problems;
    }
    // A vocabulary may have any name that the project file gives.
    const named = /\bkeys\s*:/.test(text) && (await taughtFor(uri, files));
    return named ? named.find((taught) => taught.uri === canonicalUri(uri))?.problems : undefined;
  }

  /** Whether a change of the file may turn other files into configs, or make them none. */
  static teaches(uri: string): boolean {
    return isVocabulary(uri) || PROJECT_FILE_NAMES.includes(fileName(uri));
  }

  /** Whether a file can be a config, a project file or a vocabulary; reads it once and keeps nothing of it. */
  async isWorthChecking(uri: string): Promise<boolean> {
    const text = await this.#cache.host.readText(uri).catch(() => undefined);
    return text !== undefined && this.isWorthReading(uri, text);
  }

  /** The same of a text that is at hand. */
  async isWorthReading(uri: string, text: string): Promise<boolean> {
    return Workspace.teaches(uri) || /\bkeys\s*:/.test(text) || this.isCandidate(uri, text);
  }

  /** What an analysis of a file asked of the files; undefined where it is no longer the one at hand. */
  async asked(uri: string, analysis: Analysis | undefined): Promise<Asked | undefined> {
    const kept = this.#kept.get(canonicalUri(uri));
    return kept && (await kept.result) === analysis ? kept.files.asked : undefined;
  }

  /** As `mayBeConfig`, with the families that the workspace teaches. */
  async isCandidate(uri: string, text: string): Promise<boolean> {
    if (Workspace.mayBeConfig(uri, text) || mayHaveBase(uri, text) || this.#takesPart(uri)) {
      return true;
    }
    const taught = await this.#cache.taughtIn(parentUri(uri) ?? uri, () =>
      taughtFor(uri, new TrackedFiles(this.#cache, [])),
    );
    return taught.length > 0 && mightBeTrainingConfig(text, fileName(uri), dialectsOf(taught));
  }

  /** Whether an analysis that is at hand read the file, as one that its config may start from. */
  #takesPart(uri: string): boolean {
    const key = canonicalUri(uri);
    if (!PART.test(key)) return false;
    for (const [other, { files }] of this.#kept) if (other !== key && files.asked.keys.has(key)) return true;
    return false;
  }

  /** A config at hand that is merged with a file, or a program that loads it, with the runs that the file is so part of. */
  async #startOf(uri: string, files: TrackedFiles): Promise<ProgramRuns<FullReading> | undefined> {
    const key = canonicalUri(uri);
    // A module is no config that another is merged with.
    if (!PART.test(key)) return undefined;
    for (const [other, kept] of this.#kept) {
      if (other === key || !kept.files.asked.keys.has(key)) continue;
      const start = await files.read(kept.uri);
      const loading = start?.document.format === 'python' ? await runsOfData(uri, start, files) : undefined;
      if (loading) return loading;
      if (start?.whole?.parts.some((part) => part.uri === key))
        return { start, within: runOfPart(uri, start) };
    }
    return undefined;
  }

  #concerned(key: string): Kept[] {
    return [...this.#kept].flatMap(([other, kept]) =>
      other !== key && kept.files.asked.concerns(key) ? [kept] : [],
    );
  }

  async #run(uri: string, text: string, files: TrackedFiles): Promise<Analysis | undefined> {
    files.dialects = dialectsOf(await taughtFor(uri, files));
    if (
      !mayHaveBase(uri, text) &&
      !this.#takesPart(uri) &&
      !mightBeTrainingConfig(text, fileName(uri), files.dialects)
    ) {
      return undefined;
    }
    const options = { ...this.#options, estimate: this.#estimate };
    try {
      await prepareFormat(uri, text);
      const config = await files.config(uri, text);
      if (config) {
        if (config.off || (await leadsNowhere(config, files))) return undefined;
        const analysis = await assemble(config, files, options);
        return joinsNothing(analysis) ? undefined : await asReported(analysis, text, files);
      }
      const start = await this.#startOf(uri, files);
      const part = start && readPart(uri, text, start.start);
      return part && (await asReported(await assemble(part, files, options, start.within), text, files));
    } catch (error) {
      return failed(uri, text, error);
    }
  }
}

/** Files that others may take in without being of a family: recipes of Hydra, and what a program loads. */
const PART = /\.(?:ya?ml|json|toml)$/i;

/** An analysis with the problems that its comments and the project file want to see. */
async function asReported(analysis: Analysis, text: string, files: TrackedFiles): Promise<Analysis> {
  const project = await nearestProject(analysis.uri, files);
  const levels = project ? projectLevels(project, analysis.uri) : new Map();
  const problems = onDemand(() => reported(analysis.problems, analysis.document, text, levels));
  return withChanges(analysis, {
    get problems() {
      return problems();
    },
  });
}

/**
 * A launch script that nobody knows and that names no training config, which is what most scripts of a repository are: recognised before
 * who starts it is looked for among all files around it.
 */
async function leadsNowhere(config: FullReading, files: TrackedFiles): Promise<boolean> {
  const { document, reading } = config;
  // What a program of Python joins hangs on the command that starts it.
  if (!reading.joinsOnly || document.format !== 'shell') return false;
  const { links, linked } = await followLinks(config, files);
  if (document.follows) return linked.length === 0;
  return !links.some(({ role, uri }) => role === 'include' && linked.some((other) => other.uri === uri));
}

/** A script that nobody knows, and none of the files that it names is a training config. */
function joinsNothing({ reading, links, files, document, members = [] }: Analysis): boolean {
  if (!reading.joinsOnly) return false;
  if (document.follows) return members.length < 2;
  return !links.some(({ role, uri }) => role === 'include' && uri !== undefined && files.includes(uri));
}

/** Looks whether what an analysis was made of is as it was. */
async function check(kept: Kept): Promise<void> {
  // What it asks in the meantime is noted by then.
  await kept.result.catch(() => undefined);
  while (kept.changed.size > 0 && !kept.stale) {
    const changed = [...kept.changed];
    kept.changed.clear();
    if (!(await kept.files.asked.holds(changed))) kept.stale = true;
  }
  kept.checking = undefined;
}

function dialectsOf(taught: readonly TaughtDialect[]): Dialect[] {
  return taught.flatMap(({ dialect }) => dialect ?? []);
}

/** An analysis that states nothing but that Oomlint itself failed; undefined where not even the text can be read. */
function failed(uri: string, text: string, error: unknown): Analysis | undefined {
  try {
    const document = parseConfig(uri, text);
    const dialect = detectDialect(document);
    if (document.directives.some(({ text: words, range }) => readDirective(words, { uri, range }).off))
      return undefined;
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
