import type { ConfigDocument, MapNode, Problem } from '../config/node';
import type { Dialect, FileLink, Reading } from '../dialects/dialect';
import type { Fact } from '../run/origin';
import { say } from '../wording/say';
import type { ResolvedLink } from './analysis';
import type { Part } from './composition';
import { type LaidOver, overlaid } from './overrides';
import { canonicalUri, fileName, foldersUpward, isAbsolutePath, relativePath, resolvePath } from './uri';

/** A config file as its dialect reads it, nothing joined yet. */
export interface ConfigReading {
  readonly uri: string;
  readonly document: ConfigDocument;
  readonly dialect: Dialect;
  readonly reading: Reading;
  /** What is read in the place of the document, where it starts from other configs. */
  readonly whole?: Whole;
  /** What the launch of the run gives over it. */
  readonly laidOver?: LaidOver;
  /** Facts of directive comments in it. */
  readonly directiveFacts: readonly Fact[];
}

/** A config merged with those that it starts from. */
export interface Whole {
  /** The merged tree, from the block on that holds the family's keys; places of other files carry their address. */
  readonly document: ConfigDocument;
  readonly block: readonly string[];
  readonly parts: readonly Part[];
}

/** What following links needs from the workspace. Every question asked becomes a dependency of the analysis. */
export interface Files {
  exists(uri: string): Promise<boolean>;
  /**
   * Reads a config; `dialect` is the family that the link says it is, where it cannot be told from the text. `choices` are
   * options of groups that the launch takes.
   */
  read(uri: string, dialect?: string, choices?: MapNode): Promise<ConfigReading | undefined>;
  readonly folders: readonly string[];
  readonly home?: string;
}

const ROLE_DIALECT: Partial<Record<FileLink['role'], string>> = {
  deepspeed: 'deepspeed',
  accelerate: 'accelerate',
  fsdp: 'fsdp-config',
};

/** Links followed at most this deep: configs name configs that name configs, and no further. */
const DEEPEST = 4;

/**
 * Places where a written path may lie, in the order they are tried: beside the file, in the folders above it up to the
 * workspace folder (tools are started from the root of a repository), and in the workspace folders.
 */
export function candidates(path: string, from: string, files: Pick<Files, 'folders' | 'home'>): string[] {
  // A document without a place is meant for the workspace that it is written in.
  const upward = foldersUpward(from);
  const [beside, ...above] = upward.length > 0 ? upward : files.folders;
  if (beside === undefined) {
    return [];
  }
  const root = files.folders.find((folder) => relativePath(folder, from) !== undefined);
  const inside = above.filter((folder) => root !== undefined && `${folder}/`.startsWith(canonicalUri(root)));
  const folders = isAbsolutePath(path) ? [beside] : [beside, ...inside, ...files.folders];
  const found = folders.flatMap((folder) => resolvePath(folder, path, files.home) ?? []);
  return [...new Set(found.map(canonicalUri))];
}

/** The file that a link names; for a model folder, the `config.json` in it. */
export async function locate(link: FileLink, from: string, files: Files): Promise<string | undefined> {
  for (const candidate of candidates(link.path, from, files)) {
    const uri =
      link.role === 'model' && !candidate.endsWith('.json') ? `${candidate}/config.json` : candidate;
    if (await files.exists(uri)) {
      return uri;
    }
  }
  return undefined;
}

function missing(link: FileLink): Problem | undefined {
  if (link.role === 'model' || link.optional) {
    // Names on the Hub look like relative paths; only what must be a path can be missing.
    return undefined;
  }
  // A name that the environment or a template fills in names no file yet.
  if (/\$|\{\{/.test(link.path)) return undefined;
  const elsewhere = isAbsolutePath(link.path);
  return {
    code: 'missing-file',
    severity: elsewhere ? 'information' : 'warning',
    message: elsewhere
      ? say('"{0}" is not on this machine, so what it says is not part of the estimate.', link.path)
      : say('There is no file "{0}", neither beside this file nor in the folders above it.', link.path),
    range: link.range,
  };
}

export interface FollowedLinks {
  /** Links of the first file. */
  readonly links: readonly ResolvedLink[];
  /** Configs reached over links, nearest first. */
  readonly linked: readonly ConfigReading[];
  readonly problems: readonly Problem[];
}

/**
 * Reads what a config names, and what that names. A missing file or a circle becomes a problem at the link of the
 * first file that leads there. Never throws on what the files hold.
 */
export async function followLinks(start: ConfigReading, files: Files): Promise<FollowedLinks> {
  const links: ResolvedLink[] = [];
  const linked: ConfigReading[] = [];
  const problems: Problem[] = [];
  const read = new Set<string>();

  const follow = async (
    config: ConfigReading,
    trail: readonly string[],
    first?: FileLink,
    part = false,
  ): Promise<void> => {
    for (const link of config.reading.links) {
      // What a part of a merged config names counts as far as the merged config says so.
      if (part && link.role !== 'include') continue;
      const { uri: elsewhere } = link.range;
      const uri = await locate(link, elsewhere ?? config.uri, files);
      const own = first === undefined && elsewhere === undefined;
      if (own) {
        links.push({ ...link, uri });
      }
      const place = first ?? link;
      if (uri === undefined) {
        const problem = missing(link);
        if (problem && elsewhere === undefined) {
          problems.push(
            own
              ? problem
              : { ...problem, message: `${fileName(config.uri)}: ${problem.message}`, range: place.range },
          );
        }
        continue;
      }
      if (link.role === 'model') {
        continue;
      }
      if (trail.includes(uri)) {
        const message = say(
          '"{0}" leads back to {1}: files name each other in a circle.',
          link.path,
          fileName(uri),
        );
        problems.push({ code: 'link-cycle', severity: 'error', message, range: place.range });
        continue;
      }
      if (read.has(uri)) {
        continue;
      }
      read.add(uri);
      // What is included may hold too little to be known by itself.
      const family = link.role === 'include' ? included(config) : ROLE_DIALECT[link.role];
      const { tree, choices } = link.overrides ?? {};
      const found = apartFrom(config, uri) ? undefined : await files.read(uri, family, choices);
      const next = found && tree ? overlaid(found, { uri: config.uri, tree }) : found;
      if (next) {
        linked.push(next);
        if (trail.length < DEEPEST) {
          const taken = config.whole?.parts.some(({ uri: known }) => known === uri) ?? false;
          await follow(next, [...trail, uri], place, part || taken);
        }
      }
    }
  };
  await follow(start, [canonicalUri(start.uri)]);
  return { links, linked, problems };
}

/** A part that lies beside the block that is read: launchers keep several tools' configs in one. */
export function apartFrom({ whole }: ConfigReading, uri: string): boolean {
  const part = whole?.parts.find((known) => known.uri === uri);
  return whole !== undefined && part !== undefined && !isAround(whole.block, part.package);
}

/** Whether one of two blocks lies in the other. */
export function isAround(a: readonly string[], b: readonly string[]): boolean {
  const shorter = Math.min(a.length, b.length);
  return a.slice(0, shorter).every((key, index) => key === b[index]);
}

/** The family of an included file that is too small to show it: that of the file that includes it, scripts apart. */
function included({ document, dialect }: ConfigReading): string | undefined {
  return document.format === 'shell' ? undefined : dialect.id;
}

/** Facts of another file as they count in this run: its statements become `linked-file`, its defaults stay defaults. */
export function factsOfLinked(config: ConfigReading): Fact[] {
  return [...config.reading.facts, ...config.directiveFacts].map((stated) => {
    const { kind } = stated.origin;
    if (kind === 'default' || kind === 'inferred') {
      return stated;
    }
    const note = kind === 'directive' ? 'directive' : stated.origin.note;
    return { ...stated, origin: { ...stated.origin, kind: 'linked-file' as const, note } };
  });
}
