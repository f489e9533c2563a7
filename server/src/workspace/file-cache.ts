import { baseConfigs, mayHaveBase } from '../config/defaults-list';
import type { ConfigDocument } from '../config/node';
import { parseConfig } from '../config/parse';
import type { Dialect, Reading } from '../dialects/dialect';
import { DIALECTS, detectDialect } from '../dialects/registry';
import { readVocabulary, type VocabularyReading } from '../dialects/vocabulary/read-vocabulary';
import { vocabularyDialect } from '../dialects/vocabulary/vocabulary-dialect';
import { readDirective } from '../run/directive';
import type { Host } from './host';
import { type ConfigReading, locate } from './links';
import type { ModelFiles } from './model-source';
import type { ParentSearch } from './parents';
import { type ProjectFile, parseProjectFile } from './project-file';
import { canonicalUri } from './uri';

/** How long an answer about another file is believed without being told of a change. Milliseconds. */
const FRESH = 2000;

interface Answer<T> {
  readonly promise: Promise<T>;
  readonly at: number;
}

/** A config read, with what its directive comments ask for. */
export interface FullReading extends ConfigReading {
  readonly text: string;
  readonly off: boolean;
  readonly directiveProblems: ConfigReading['reading']['problems'];
}

/**
 * Reads one text as a config; undefined where it is none. `more` are families that the workspace teaches. Exceptions of a
 * dialect pass through.
 */
export function readConfig(
  uri: string,
  text: string,
  dialectId?: string,
  more: readonly Dialect[] = [],
): FullReading | undefined {
  const document = parseConfig(uri, text);
  const dialect = detectDialect(document, more) ?? [...more, ...DIALECTS].find(({ id }) => id === dialectId);
  if (!dialect) {
    return undefined;
  }
  const directives = document.directives.map(({ text: words, range }) =>
    readDirective(words, { uri, range }),
  );
  return {
    uri,
    text,
    document,
    dialect,
    reading: withBases(document, dialect.read(document, { known: {} })),
    off: directives.some(({ off }) => off),
    directiveFacts: directives.flatMap(({ facts }) => facts),
    directiveProblems: directives.flatMap(({ problems }) => problems),
  };
}

/** Configs that a `defaults:` list names are links of every family, where the family does not read the list itself. */
function withBases(document: ConfigDocument, reading: Reading): Reading {
  const taken = new Set(reading.links.map(({ range }) => `${range.start.line}:${range.start.character}`));
  const bases = baseConfigs(document).filter(
    ({ range: { start } }) => !taken.has(`${start.line}:${start.character}`),
  );
  if (bases.length === 0) return reading;
  const links = bases.map((base) => ({ ...base, key: 'defaults', role: 'include' as const }));
  return { ...reading, links: [...reading.links, ...links] };
}

/** A vocabulary file read, and the config family that it makes. */
export interface TaughtDialect extends VocabularyReading {
  readonly uri: string;
  readonly text: string;
  readonly dialect?: Dialect;
}

function teach(uri: string, text: string): TaughtDialect {
  const reading = readVocabulary(parseConfig(uri, text));
  return { uri, text, ...reading, dialect: reading.vocabulary && vocabularyDialect(reading.vocabulary) };
}

/** Answers of the host, remembered for a moment and until a change is reported. Shared by all analyses. */
export class FileCache {
  readonly host: Host;
  readonly #texts = new Map<string, Answer<string | undefined>>();
  readonly #existence = new Map<string, Answer<boolean>>();
  readonly #lists = new Map<string, Answer<readonly string[] | undefined>>();
  readonly #readings = new Map<string, FullReading>();
  readonly #taught = new Map<string, TaughtDialect>();
  /** Families that a reading was made with. */
  readonly #readWith = new WeakMap<FullReading, readonly Dialect[]>();
  readonly #projects = new Map<string, { readonly text: string; readonly project: ProjectFile }>();

  constructor(host: Host) {
    this.host = host;
  }

  #ask<T>(cache: Map<string, Answer<T>>, key: string, question: () => Promise<T>): Promise<T> {
    const known = cache.get(key);
    const now = Date.now();
    if (known && now - known.at < FRESH) {
      return known.promise;
    }
    if (cache.size > 4096) {
      cache.clear();
    }
    const promise = question();
    cache.set(key, { promise, at: now });
    return promise;
  }

  readText(key: string): Promise<string | undefined> {
    return this.#ask(this.#texts, key, () => this.host.readText(key));
  }

  exists(key: string): Promise<boolean> {
    return this.#ask(this.#existence, key, () => this.host.exists(key));
  }

  list(key: string): Promise<readonly string[] | undefined> {
    return this.#ask(this.#lists, key, async () => this.host.list?.(key));
  }

  /** A config read once per text. A dialect that fails on another file must not take this analysis with it. */
  read(
    key: string,
    text: string,
    dialectId: string | undefined,
    more: readonly Dialect[],
  ): FullReading | undefined {
    const known = this.#readings.get(key);
    if (known?.text === text && sameItems(this.#readWith.get(known) ?? [], more)) {
      return known;
    }
    try {
      const reading = readConfig(key, text, dialectId, more);
      if (reading) {
        this.#readings.set(key, reading);
        this.#readWith.set(reading, more);
      }
      return reading;
    } catch {
      return undefined;
    }
  }

  clear(): void {
    this.#projects.clear();
    this.#taught.clear();
    for (const cache of [this.#texts, this.#existence, this.#lists, this.#readings]) {
      cache.clear();
    }
  }

  /** The text of a file changed; folders hold what they held. */
  forgetText(key: string): void {
    this.#texts.delete(key);
    this.#readings.delete(key);
  }

  forget(key: string): void {
    this.forgetText(key);
    this.#existence.delete(key);
    // A file that comes or goes changes what its folders hold.
    this.#lists.clear();
  }

  /** A vocabulary file read once per text. */
  taught(uri: string, text: string): TaughtDialect {
    const known = this.#taught.get(uri);
    if (known?.text === text) return known;
    const taught = teach(uri, text);
    this.#taught.set(uri, taught);
    return taught;
  }

  /** A project file parsed once per text. */
  project(uri: string, text: string): ProjectFile {
    const known = this.#projects.get(uri);
    if (known?.text === text) return known.project;
    const project = parseProjectFile(uri, text);
    this.#projects.set(uri, { text, project });
    return project;
  }
}

function sameItems<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}

/** The files as one analysis sees them: every question becomes a dependency, answered or not. */
export class TrackedFiles implements ModelFiles, ParentSearch {
  readonly folders: readonly string[];
  readonly home?: string;
  readonly environment: ModelFiles['environment'];
  readonly seen: readonly string[];
  /** Files asked about. */
  readonly dependencies = new Set<string>();
  /** Families that the workspace teaches, nearest first. */
  dialects: readonly Dialect[] = [];
  /** Folders listed. */
  readonly listed = new Set<string>();
  readonly #cache: FileCache;
  /** Files whose bases are being looked for: bases may name each other in a circle. */
  readonly #asking = new Set<string>();

  constructor(cache: FileCache, seen: readonly string[]) {
    this.#cache = cache;
    this.seen = seen;
    this.folders = cache.host.folders;
    this.home = cache.host.home;
    this.environment = cache.host.environment;
  }

  readText(uri: string): Promise<string | undefined> {
    const key = canonicalUri(uri);
    this.dependencies.add(key);
    return this.#cache.readText(key);
  }

  exists(uri: string): Promise<boolean> {
    const key = canonicalUri(uri);
    this.dependencies.add(key);
    return this.#cache.exists(key);
  }

  list(uri: string): Promise<readonly string[] | undefined> {
    const key = canonicalUri(uri);
    this.listed.add(key);
    return this.#cache.list(key);
  }

  async taught(uri: string): Promise<TaughtDialect | undefined> {
    const text = await this.readText(uri);
    return text === undefined ? undefined : this.#cache.taught(canonicalUri(uri), text);
  }

  async project(uri: string): Promise<ProjectFile | undefined> {
    const text = await this.readText(uri);
    return text === undefined ? undefined : this.#cache.project(uri, text);
  }

  async read(uri: string, dialectId?: string): Promise<FullReading | undefined> {
    const text = await this.readText(uri);
    if (text === undefined) return undefined;
    const key = canonicalUri(uri);
    const found = this.#cache.read(key, text, dialectId, this.dialects);
    if (found || !mayHaveBase(key, text)) return found;
    const family = await this.familyOfBase(key, text);
    return family === undefined ? undefined : this.#cache.read(key, text, family, this.dialects);
  }

  /** The family of the config that a config starts from: what overrides a few values of it may not show one by itself. */
  async familyOfBase(uri: string, text: string): Promise<string | undefined> {
    if (this.#asking.has(uri)) return undefined;
    this.#asking.add(uri);
    try {
      for (const base of baseConfigs(parseConfig(uri, text))) {
        const found = await locate({ ...base, key: 'defaults', role: 'include' }, uri, this);
        const config = found && (await this.read(found));
        if (config) return config.dialect.id;
      }
      return undefined;
    } finally {
      this.#asking.delete(uri);
    }
  }
}
