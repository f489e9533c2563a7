import { placed } from '../config/deep-merge';
import { baseConfigs, mayHaveBase, searchPathOf } from '../config/defaults-list';
import { eachEntry, mapAt } from '../config/lookup';
import type { ConfigDocument, MapNode } from '../config/node';
import { isJupyter } from '../config/notebook-commands';
import { formatOf, parseConfig, prepareFormat } from '../config/parse';
import { isDatabricks } from '../config/python/databricks-source';
import type { Dialect, KeySpec, Reading } from '../dialects/dialect';
import { movedRow } from '../dialects/key-rows';
import { mayRunScript } from '../dialects/launch-script';
import { DIALECTS, detectDialect, mightBeTrainingConfig } from '../dialects/registry';
import { readDocument } from '../dialects/templated-values';
import { readVocabulary, type VocabularyReading } from '../dialects/vocabulary/read-vocabulary';
import { vocabularyDialect } from '../dialects/vocabulary/vocabulary-dialect';
import type { EnvironmentFormat } from '../environment/environment-files';
import type { Requirement } from '../environment/requirement';
import { MadeOfTexts } from '../memo/made-of-texts';
import { withChanges } from '../memo/on-demand';
import { readDirective } from '../run/directive';
import { holdsCommands } from '../text/command-files';
import { canonicalUri, fileName } from '../text/uri';
import { say } from '../wording/say';
import { Asked, listKey, sameItems } from './asked';
import { type ComposedFiles, type Composition, compose, familyOf } from './composition';
import type { ConfigReading } from './config-reading';
import type { Host } from './host';
import { withSurroundings } from './imported-modules';
import { eachRun, heldScripts, runsOfHeld } from './launch-readings';
import type { ModelFiles } from './model-source';
import { mayName, NamedFiles } from './named-files';
import type { ParentSearch } from './parents';
import { type ProjectFile, parseProjectFile } from './project-file';
import { readKnowing } from './read-knowing';
import { withRunScripts } from './run-scripts';
import { withStarted } from './started-scripts';

/** How long an answer about another file is believed without news of a change, where the host does not stand still. Milliseconds. */
const FRESH = 2000;

/** Texts that are remembered for as long, together. */
const MOST_CHARACTERS = 16_000_000;
/** Answers to one kind of question that are remembered. */
const MOST_ANSWERS = 4096;
/** Files that are remembered as they were read. */
const MOST_READ = 256;
/** Characters of those that are remembered as they were parsed, and as configs: what is made of them takes many times as much. */
const MOST_PARSED = 2_000_000;

/** Remembers one more, and forgets all where they are too many. */
function keep<T>(kept: Map<string, T>, key: string, value: T): void {
  if (kept.size >= MOST_READ) kept.clear();
  kept.set(key, value);
}

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
  composition?: Composition,
  parsed?: ConfigDocument,
): FullReading | undefined {
  const document = composition?.own ?? parsed ?? parseConfig(uri, text);
  const family = composition && familyOf(composition, more);
  const dialect =
    family?.dialect ??
    detectDialect(document, more) ??
    [...more, ...DIALECTS].find(({ id }) => id === dialectId);
  if (!dialect) {
    return undefined;
  }
  const whole = composition && { ...composition, ...(family ?? { block: [] }) };
  const directives = document.directives.map(({ text: words, range }) =>
    readDirective(words, { uri, range }),
  );
  return {
    uri,
    text,
    document,
    dialect,
    reading: withBlock(
      withBases(document, readKnowing(dialect, whole?.document ?? document, { known: {} })),
      dialect,
      whole?.block ?? [],
    ),
    ...(whole ? { whole } : {}),
    off: directives.some(({ off }) => off),
    directiveFacts: directives.flatMap(({ facts }) => facts),
    directiveProblems: directives.flatMap(({ problems }) => problems),
  };
}

/**
 * A file that shows no family by itself, as part of a config that starts from it: its keys are those of its block. Undefined
 * where it is none of its parts.
 */
export function readPart(uri: string, text: string, start: FullReading): FullReading | undefined {
  const part = start.whole?.parts.find((known) => known.uri === canonicalUri(uri));
  const document = parseConfig(uri, text);
  if (!part || !start.whole || document.root?.kind !== 'map') return undefined;
  // What a program loads means what its code makes of it, which the program states.
  if (start.document.format === 'python') {
    const keys = rowsOfSettings(document, start);
    const dialect: Dialect = { ...start.dialect, keys, read: () => NOTHING };
    return { ...partly({ ...start, dialect }, uri, text, document), reading: NOTHING };
  }
  const { block } = start.whole;
  const full = placed(document.root, part.package);
  const root = block.length === 0 ? full : mapAt(full, block);
  if (!root) return undefined;
  const whole = { document: { ...document, root }, block, parts: [] };
  const prefix = part.package.slice(block.length);
  const inside = start.dialect.keys.flatMap((row) => rowBelow(row, prefix));
  const reading = readDocument(start.dialect, whole.document, { known: {} });
  return {
    ...partly(start, uri, text, document),
    whole,
    reading: withChanges(withBases(document, reading), { keys: [{ below: [], rows: inside }] }),
  };
}

/** A row for each key of a file of settings that a program takes a value from. */
function rowsOfSettings({ root, uri }: ConfigDocument, program: FullReading): KeySpec[] {
  const own = canonicalUri(uri);
  const taken = program.reading.facts.flatMap(({ field, origin: { location, key } }) =>
    location && canonicalUri(location.uri) === own ? [{ field, key, ...location.range.start }] : [],
  );
  const rows: KeySpec[] = [];
  eachEntry(root, ({ value }, path) => {
    const { line, character } = value.range.start;
    const found = taken.filter((one) => one.line === line && one.character === character);
    const [first] = found;
    if (!first || value.kind === 'map') return;
    rows.push({
      path: path.join('.'),
      type: value.kind === 'list' ? 'array' : 'any',
      doc: say('`{0}` takes it as `{1}`.', fileName(program.uri), first.key ?? first.field),
      fields: [...new Set(found.map(({ field }) => field))],
    });
  });
  return rows;
}

const NOTHING: Reading = { facts: [], links: [], problems: [], autos: [] };

const partly = ({ dialect, off }: FullReading, uri: string, text: string, document: ConfigDocument) => ({
  uri,
  text,
  document,
  dialect,
  off,
  directiveFacts: [],
  directiveProblems: [],
});

/** A row as it is spelled inside a block; none where it lies elsewhere. */
function rowBelow(row: KeySpec, block: readonly string[]): KeySpec[] {
  const path = row.path.split('.');
  const inside = block.every((key, index) => path[index] === key || path[index] === '*');
  return inside && path.length > block.length ? [movedRow(path.slice(block.length).join('.'), row)] : [];
}

/** Configs that a `defaults:` list names are links of every family, where the family does not read the list itself. */
function withBases(document: ConfigDocument, reading: Reading): Reading {
  const own = reading.links.filter(({ range }) => range.uri === undefined);
  const taken = new Set(own.map(({ range }) => `${range.start.line}:${range.start.character}`));
  const bases = baseConfigs(document).filter(
    ({ range: { start } }) => !taken.has(`${start.line}:${start.character}`),
  );
  if (bases.length === 0) return reading;
  const searched = searchPathOf(document);
  const links = bases.map((base) => ({
    ...base,
    key: 'defaults',
    role: 'include' as const,
    ...(searched.length > 0 ? { searched } : {}),
  }));
  return withChanges(reading, { links: [...reading.links, ...links] });
}

/** Keys of a family that lie in a block of the file. */
function withBlock(reading: Reading, { keys }: Dialect, block: readonly string[]): Reading {
  return block.length === 0 ? reading : withChanges(reading, { keys: [{ below: block, rows: keys }] });
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
  /** Of the texts that are remembered, at least. */
  #characters = 0;
  readonly #named = new Map<string, Answer<NamedFiles | undefined>>();
  readonly #askedForNames = new Set<string>();
  readonly #existence = new Map<string, Answer<boolean>>();
  readonly #lists = new Map<string, Answer<readonly string[] | undefined>>();
  readonly #taughtIn = new Map<string, Answer<readonly TaughtDialect[]>>();
  readonly #readings = new MadeOfTexts<FullReading>(MOST_PARSED);
  readonly #taught = new Map<string, TaughtDialect>();
  /** Families and other files that a reading was made with. */
  readonly #readWith = new WeakMap<FullReading, readonly unknown[]>();
  readonly #documents = new MadeOfTexts<ConfigDocument>(MOST_PARSED);
  readonly #requirements = new MadeOfTexts<readonly Requirement[]>(MOST_CHARACTERS);
  readonly #held = new MadeOfTexts<readonly ConfigDocument[]>(MOST_CHARACTERS);
  readonly #runs = new WeakMap<ConfigReading, readonly ConfigReading[]>();
  readonly #projects = new Map<string, { readonly text: string; readonly project: ProjectFile }>();

  constructor(host: Host) {
    this.host = host;
  }

  #ask<T>(cache: Map<string, Answer<T>>, key: string, question: () => Promise<T>): Promise<T> {
    const known = cache.get(key);
    const now = Date.now();
    if (known && (this.host.isStill || now - known.at < FRESH)) {
      return known.promise;
    }
    if (cache.size > MOST_ANSWERS) {
      cache.clear();
    }
    const promise = question();
    cache.set(key, { promise, at: now });
    return promise;
  }

  readText(key: string): Promise<string | undefined> {
    return this.#ask(this.#texts, key, async () => {
      const text = await this.host.readText(key);
      this.#characters += text?.length ?? 0;
      if (this.#characters > MOST_CHARACTERS) {
        this.#characters = 0;
        this.#texts.clear();
      }
      return text;
    });
  }

  /** Whether the text of a file can name another of this name. Where files stand still, what it names is remembered once two were asked for. */
  async mayName(key: string, name: string): Promise<boolean> {
    if (this.host.isStill && this.#askedForNames.has(key)) {
      const named = await this.#ask(this.#named, key, async () => {
        const text = await this.readText(key);
        return text === undefined ? undefined : new NamedFiles(key, text);
      });
      if (!named?.mayHave(name)) return false;
    }
    if (this.#askedForNames.size > MOST_ANSWERS) this.#askedForNames.clear();
    this.#askedForNames.add(key);
    const text = await this.readText(key);
    return text !== undefined && mayName(key, text, name);
  }

  exists(key: string): Promise<boolean> {
    return this.#ask(this.#existence, key, () => this.host.exists(key));
  }

  list(key: string): Promise<readonly string[] | undefined> {
    return this.#ask(this.#lists, key, async () => this.host.list?.(key));
  }

  listFolders(key: string): Promise<readonly string[] | undefined> {
    return this.#ask(this.#lists, `${key}\0folders`, async () => this.host.listFolders?.(key));
  }

  /** As `list`, of a folder that another one may hold: where that one holds none of this name, the host is not asked. */
  async listWithin(folder: string, name: string): Promise<readonly string[] | undefined> {
    const [links, folders] = await Promise.all([this.list(folder), this.listFolders(folder)]);
    // Some disks take a name in capitals for the same.
    const isNamed = (other: string) => other.toLowerCase() === name.toLowerCase();
    const there = folders === undefined || folders.some(isNamed) || links?.some(isNamed) === true;
    return there ? this.list(canonicalUri(`${folder}/${name}`)) : undefined;
  }

  /** Packages that a file of an environment names, read once per text. */
  requirements(key: string, text: string, format: EnvironmentFormat): readonly Requirement[] {
    // A script is asked for what it installs and for the image that it starts.
    const asked = `${format.rank} ${key}`;
    return this.#requirements.of(asked, text, () => format.read(text, key.slice(key.lastIndexOf('/') + 1)));
  }

  /** A config read once per text. A dialect that fails on another file must not take this analysis with it. */
  read(
    key: string,
    text: string,
    dialectId: string | undefined,
    more: readonly Dialect[],
    composition?: Composition,
    choices?: MapNode,
  ): FullReading | undefined {
    const took = [
      ...more,
      ...(composition?.parts.map(({ document }) => document) ?? []),
      ...(composition?.looked ?? []),
      ...(composition?.imported === undefined ? [] : [composition.imported]),
    ];
    const make = () => {
      const parsed = composition ? undefined : this.document(key, text);
      const reading = readConfig(key, text, dialectId, more, composition, parsed);
      if (reading) this.#readWith.set(reading, took);
      return reading;
    };
    const holds = (known: FullReading) => sameItems(this.#readWith.get(known) ?? [], took);
    try {
      return this.#readings.of(choices ? `${key}\0${JSON.stringify(choices)}` : key, text, make, holds);
    } catch {
      return undefined;
    }
  }

  /** A file parsed once per text. */
  document(uri: string, text: string): ConfigDocument {
    return this.#documents.of(uri, text, () => parseConfig(uri, text));
  }

  /** The commands of a file in which they stand among other text, read once per text. */
  held(key: string, text: string): readonly ConfigDocument[] {
    return this.#held.of(key, text, () => heldScripts(key, text));
  }

  /** Each run that a file starts. Documents are remembered by what is read of them, so that a run keeps its own. */
  runsOf(config: ConfigReading): readonly ConfigReading[] {
    const known = this.#runs.get(config) ?? eachRun(config);
    this.#runs.set(config, known);
    return known;
  }

  clear(): void {
    this.#held.clear();
    this.#projects.clear();
    this.#requirements.clear();
    this.#documents.clear();
    this.#taught.clear();
    this.#readings.clear();
    for (const cache of [this.#texts, this.#named, this.#existence, this.#lists, this.#taughtIn]) {
      cache.clear();
    }
  }

  /** The text of a file changed; folders hold what they held. */
  forgetText(key: string): void {
    this.#texts.delete(key);
    this.#named.delete(key);
    this.#taughtIn.clear();
    this.#readings.delete(key);
    this.#documents.delete(key);
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
    keep(this.#taught, uri, taught);
    return taught;
  }

  /** What is taught in a folder, which all of its files ask. */
  taughtIn(
    folder: string,
    question: () => Promise<readonly TaughtDialect[]>,
  ): Promise<readonly TaughtDialect[]> {
    return this.#ask(this.#taughtIn, folder, question);
  }

  /** A project file parsed once per text. */
  project(uri: string, text: string): ProjectFile {
    const known = this.#projects.get(uri);
    if (known?.text === text) return known.project;
    const project = parseProjectFile(uri, text);
    keep(this.#projects, uri, { text, project });
    return project;
  }
}

const isPython = (uri: string) => /\.(py|ipynb)$/i.test(uri);

/** A script of Python that lies in a folder of the workspace may be named by it. */
const STARTS_PYTHON = /[\w-]\.py\b/;

/** Whether a text is a script that trains and imports something. */
const mayImport = (uri: string, text: string, more: readonly Dialect[]) =>
  isPython(uri) && /\bimport\b/.test(text) && mightBeTrainingConfig(text, fileName(uri), more);

/** The files as one analysis sees them: every question is noted with its answer, there or not. */
export class TrackedFiles implements ModelFiles, ParentSearch, ComposedFiles {
  readonly folders: readonly string[];
  readonly apart?: readonly string[];
  readonly home?: string;
  readonly confined?: Host['confined'];
  readonly environment: ModelFiles['environment'];
  readonly seen: readonly string[];
  readonly asked: Asked;
  /** Families that the workspace teaches, nearest first. */
  dialects: readonly Dialect[] = [];
  readonly #cache: FileCache;

  constructor(cache: FileCache, seen: readonly string[], asked = new Asked()) {
    this.#cache = cache;
    this.seen = seen;
    this.asked = asked;
    this.folders = cache.host.folders;
    this.apart = cache.host.apart;
    this.home = cache.host.home;
    this.confined = cache.host.confined;
    this.environment = cache.host.environment;
  }

  readText(uri: string): Promise<string | undefined> {
    const key = canonicalUri(uri);
    return this.asked.ask(key, () => this.#cache.readText(key));
  }

  mayName(uri: string, name: string): Promise<boolean> {
    const key = canonicalUri(uri);
    return this.asked.ask(key, () => this.#cache.mayName(key, name));
  }

  exists(uri: string): Promise<boolean> {
    const key = canonicalUri(uri);
    return this.asked.exists(key, () => this.#cache.exists(key));
  }

  list(uri: string): Promise<readonly string[] | undefined> {
    const key = canonicalUri(uri);
    return this.asked.ask(listKey(key), () => this.#cache.list(key), sameItems);
  }

  listWithin(folder: string, name: string): Promise<readonly string[] | undefined> {
    const key = canonicalUri(folder);
    const within = listKey(canonicalUri(`${key}/${name}`));
    return this.asked.ask(within, () => this.#cache.listWithin(key, name), sameItems);
  }

  listFolders(uri: string): Promise<readonly string[] | undefined> {
    const key = canonicalUri(uri);
    return this.asked.folders(key, () => this.#cache.listFolders(key));
  }

  /** Packages that a file names; empty where it is none that does, or cannot be read. */
  async requirements(uri: string, format: EnvironmentFormat): Promise<readonly Requirement[]> {
    const text = await this.readText(uri);
    return text === undefined ? [] : this.#cache.requirements(canonicalUri(uri), text, format);
  }

  gist<T extends string | boolean | undefined>(question: (files: TrackedFiles) => Promise<T>): Promise<T> {
    return this.asked.gist((asked) => {
      const files = new TrackedFiles(this.#cache, this.seen, asked);
      files.dialects = this.dialects;
      return question(files);
    });
  }

  async taught(uri: string): Promise<TaughtDialect | undefined> {
    const text = await this.readText(uri);
    return text === undefined ? undefined : this.#cache.taught(canonicalUri(uri), text);
  }

  async project(uri: string): Promise<ProjectFile | undefined> {
    const text = await this.readText(uri);
    return text === undefined ? undefined : this.#cache.project(uri, text);
  }

  async parsed(
    uri: string,
  ): Promise<{ readonly text: string; readonly document: ConfigDocument } | undefined> {
    const text = await this.readText(uri);
    return text === undefined ? undefined : { text, document: this.#cache.document(canonicalUri(uri), text) };
  }

  /** A text at hand as a config; undefined where it is none. */
  async config(uri: string, text: string): Promise<FullReading | undefined> {
    const composition = await this.composed(uri, text);
    const parsed = composition ? undefined : this.#cache.document(uri, text);
    return readConfig(uri, text, undefined, this.dialects, composition, parsed);
  }

  /** A config with those that it starts from; undefined where it starts from none that is here. */
  async composed(uri: string, text: string, choices?: MapNode): Promise<Composition | undefined> {
    if ((STARTS_PYTHON.test(text) || mayRunScript(text)) && formatOf(fileName(uri), text) === 'shell') {
      const script = this.#cache.document(canonicalUri(uri), text);
      const followed = await withRunScripts(script, text, this);
      const started = await withStarted(followed?.document ?? script, this);
      return started && followed ? { ...started, parts: followed.parts } : (started ?? followed);
    }
    const imports = mayImport(uri, text, this.dialects);
    if (!imports && !mayHaveBase(uri, text)) return undefined;
    // What is at hand keeps the spelling of its address: the editor knows it by that one.
    const document = this.#cache.document(uri, text);
    if (!imports) return compose(document, this, choices);
    return detectDialect(document, this.dialects) && withSurroundings(document, text, this, choices);
  }

  /** The runs that a file starts, each as a reading of its own. */
  async launches(uri: string): Promise<readonly ConfigReading[]> {
    if (holdsCommands(uri)) {
      const text = await this.readText(uri);
      return text === undefined ? [] : this.#runsHeld(canonicalUri(uri), text);
    }
    const config = await this.read(uri);
    return config ? this.#cache.runsOf(config) : [];
  }

  /** The runs that commands in a notebook start. */
  async notebookLaunches(uri: string): Promise<readonly ConfigReading[]> {
    const text = await this.readText(uri);
    return text !== undefined && (isJupyter(uri) || isDatabricks(text))
      ? this.#runsHeld(canonicalUri(uri), text)
      : [];
  }

  /** The runs that commands at the head of a program start, as it shows them. */
  async headLaunches(uri: string): Promise<readonly ConfigReading[]> {
    const text = await this.readText(uri);
    return text !== undefined && isPython(uri) && !isJupyter(uri) && !isDatabricks(text)
      ? this.#runsHeld(canonicalUri(uri), text)
      : [];
  }

  /** Those that commands among other text start, and the scripts that these run. */
  async #runsHeld(key: string, text: string): Promise<readonly ConfigReading[]> {
    const found: ConfigReading[] = [];
    for (const script of this.#cache.held(key, text))
      found.push(...runsOfHeld((await withRunScripts(script, text, this))?.document ?? script));
    return found;
  }

  async read(uri: string, dialectId?: string, choices?: MapNode): Promise<FullReading | undefined> {
    const text = await this.readText(uri);
    if (text === undefined) return undefined;
    const key = canonicalUri(uri);
    // A program that trains nothing is not parsed.
    if (isPython(key) && !mightBeTrainingConfig(text, fileName(key), this.dialects)) return undefined;
    await prepareFormat(key, text);
    const composition = await this.composed(key, text, choices);
    return this.#cache.read(key, text, dialectId, this.dialects, composition, choices);
  }
}
