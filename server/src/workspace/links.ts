import { isFilledLater } from '../config/filled-later';
import type { FileLink } from '../dialects/dialect';
import { ROLES } from '../dialects/link-roles';
import { type Fact, isStated } from '../run/origin';
import type { Problem } from '../text/problem';
import { canonicalUri, fileName, isAbsolutePath, isInside, parentUri, resolvePath } from '../text/uri';
import { closest } from '../wording/closest';
import { say } from '../wording/say';
import type { ResolvedLink } from './analysis';
import type { ConfigReading } from './config-reading';
import type { Files } from './files';
import { foldersAround } from './folders-around';
import { configOfMain } from './hydra-main';
import { overlaid } from './overrides';
import { mayShard, type UnseenFile, unreadable } from './unreadable-file';

/** Links followed at most this deep: configs name configs that name configs, and no further. */
const DEEPEST = 4;

/**
 * Places where a written path may lie, in the order they are tried: beside the file, in the folders above it up to the
 * workspace folder (tools are started from the root of a repository), and in the workspace folders but for other projects.
 */
export function candidates(
  path: string,
  from: string,
  files: Pick<Files, 'folders' | 'apart' | 'home'>,
): string[] {
  const around = foldersAround(from, files);
  const others = files.folders.filter((folder) => files.apart?.includes(folder) !== true);
  // A document without a place is meant for the workspace that it is written in.
  const [beside, ...above] = around.length > 0 ? around : others;
  if (beside === undefined) {
    return [];
  }
  const folders = isAbsolutePath(path) ? [beside] : [beside, ...above, ...others];
  const found = folders.flatMap((folder) => resolvePath(folder, path, files.home) ?? []);
  return [...new Set(found.map(canonicalUri))];
}

/** Places where the file of a link may lie, in the order they are tried. */
export function placesOfLink(
  { path, searched = [] }: FileLink,
  from: string,
  files: Pick<Files, 'folders' | 'apart' | 'home'>,
): string[] {
  const paths = [path, ...searched.map((folder) => `${folder}/${path}`)];
  return paths.flatMap((each) => candidates(each, from, files));
}

/** The file that a link names, in the folders that are searched, too; for a model folder, the `config.json` in it. */
export async function locate(link: FileLink, from: string, files: Files): Promise<string | undefined> {
  for (const candidate of placesOfLink(link, from, files)) {
    const uri =
      link.role === 'model' && !candidate.endsWith('.json') ? `${candidate}/config.json` : candidate;
    if (await files.exists(uri)) {
      return uri;
    }
  }
  return undefined;
}

/** The first place of a written path at which there is a file. */
export async function firstHere(path: string, from: string, files: Files): Promise<string | undefined> {
  for (const candidate of candidates(path, from, files)) if (await files.exists(candidate)) return candidate;
  return undefined;
}

/**
 * Whether a path leads to a tree that is not here: of its folders none is here, or nearly so, or it is a link to nowhere or made of a template.
 * Recipes are made to be copied into the checkout of a framework, and repositories are cloned without their submodules. A folder that is
 * searched and is not here, such as that of a package, may hold the file.
 */
async function leadsElsewhere(
  { path, searched = [] }: FileLink,
  from: string,
  files: Files,
): Promise<boolean> {
  const beside = parentUri(from);
  if (beside === undefined || !(await files.exists(beside))) return false;
  for (const folder of searched) if ((await firstHere(folder, from, files)) === undefined) return true;
  let here = false;
  for (const candidate of candidates(path, from, files)) {
    let folder = parentUri(candidate);
    if (folder !== undefined && (await files.exists(folder))) {
      const name = fileName(candidate);
      const names = (await files.list(folder)) ?? [];
      if (names.includes(name) || names.some((other) => isTemplateOf(other, name))) return true;
      here = true;
      continue;
    }
    let name = '';
    while (folder !== undefined && !(await files.exists(folder))) {
      name = fileName(folder);
      folder = parentUri(folder);
    }
    const around = folder === undefined ? undefined : await files.listFolders(folder);
    if (around && closest(name, around, 1).length > 0) here = true;
  }
  return !here;
}

/** `ds_config_TEMPLATE.json` is what a script makes `ds_config.json` of. */
function isTemplateOf(other: string, name: string): boolean {
  const plain = other.replace(/[._-]?template(?=\.|$)/i, '');
  return plain !== other && plain === name;
}

function missing(link: FileLink, away: boolean): Problem | undefined {
  if (link.role === 'model' || link.optional) {
    // Names on the Hub look like relative paths; only what must be a path can be missing.
    return undefined;
  }
  // Names no file yet.
  if (isFilledLater(link.path)) return undefined;
  const elsewhere = away || link.elsewhere === true || isAbsolutePath(link.path);
  return {
    code: 'missing-file',
    severity: elsewhere ? 'information' : 'warning',
    message: elsewhere
      ? say('"{0}" is not on this machine, so what it says is not part of the estimate.', link.path)
      : say('There is no file "{0}", neither beside this file nor in the folders above it.', link.path),
    range: link.range,
  };
}

/** Whether a path leads to no place that is read, since only some folders are. */
function isClosed(link: FileLink, from: string, files: Files): boolean {
  if (!files.confined || link.role === 'model') return false;
  return candidates(link.path, from, files).every((candidate) => !isInside(candidate, files.folders));
}

function closed(link: FileLink, { confined }: Files): Problem {
  return {
    code: 'missing-file',
    severity: 'information',
    message:
      confined === 'agents'
        ? say(
            '"{0}" lies outside the folder that agents may look at: it is not read and not part of the estimate.',
            link.path,
          )
        : say(
            '"{0}" lies outside the folders of this workspace, which is not trusted: it is not read and not part of the estimate.',
            link.path,
          ),
    range: link.range,
  };
}

export interface FollowedLinks {
  /** Links of the first file. */
  readonly links: readonly ResolvedLink[];
  /** Configs reached over links, nearest first. */
  readonly linked: readonly ConfigReading[];
  readonly problems: readonly Problem[];
  /** Files that may shard the run and of which nothing counts, at whatever depth. */
  readonly unseen: readonly UnseenFile[];
}

/**
 * Reads what a config names, and what that names. A missing file or a circle becomes a problem at the link of the
 * first file that leads there. Never throws on what the files hold.
 */
export async function followLinks(start: ConfigReading, files: Files): Promise<FollowedLinks> {
  const links: ResolvedLink[] = [];
  const linked: ConfigReading[] = [];
  const problems: Problem[] = [];
  const unseen: UnseenFile[] = [];
  const read = new Set<string>();

  const follow = async (
    config: ConfigReading,
    trail: readonly string[],
    first?: FileLink,
    part = false,
  ): Promise<void> => {
    for (const link of config.reading.links) {
      // What a part of a merged config names counts as far as the merged config states it.
      if (part && link.role !== 'include') continue;
      const { uri: elsewhere } = link.range;
      const found = await locate(link, elsewhere ?? config.uri, files);
      const uri = link.byMain && found !== undefined ? await configOfMain(found, files) : found;
      const own = first === undefined && elsewhere === undefined;
      if (own) {
        links.push({ ...link, uri });
      }
      const place = first ?? link;
      /** Puts a problem with what a link names where the first file leads there. */
      const report = (problem: Problem | undefined) => {
        if (!problem || elsewhere !== undefined) return;
        const message = own ? problem.message : `${fileName(config.uri)}: ${problem.message}`;
        problems.push({ ...problem, message, range: place.range });
      };
      if (uri === undefined) {
        if (mayShard(link)) unseen.push({ path: link.path, isHere: false });
        const from = elsewhere ?? config.uri;
        const problem = isClosed(link, from, files)
          ? closed(link, files)
          : missing(link, await leadsElsewhere(link, from, files));
        report(problem);
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
      const family = link.role === 'include' ? included(config) : ROLES[link.role].family;
      const { tree, choices } = link.overrides ?? {};
      const other = apartFrom(config, uri) ? undefined : await files.read(uri, family, choices);
      const next = other && tree ? overlaid(other, { uri: config.uri, tree }) : other;
      const fault =
        mayShard(link) && !apartFrom(config, uri) ? await unreadable(link, uri, next, files) : undefined;
      if (fault) unseen.push({ path: link.path, isHere: true });
      report(fault);
      if (next && !isAside(next)) {
        linked.push(next);
        if (trail.length < DEEPEST) {
          const taken = config.whole?.parts.some(({ uri: known }) => known === uri) ?? false;
          await follow(next, [...trail, uri], place, part || taken);
        }
      }
    }
  };
  await follow(start, [canonicalUri(start.uri)]);
  return { links, linked, problems, unseen };
}

/** A script that starts no training by itself, or whose model is not seen: it makes no run of the command that starts it. */
function isAside({ document, reading }: ConfigReading): boolean {
  if (document.format !== 'python') return false;
  // What is known of it is that its training is not estimated: flags alone would make another run of it.
  if (reading.unread?.some(({ kind }) => kind === 'refused')) return false;
  return (
    reading.joinsOnly === true ||
    !reading.facts.some(({ field }) => /^model\.(?:id|path|config)$/.test(field))
  );
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
  return /^(shell|python)$/.test(document.format) ? undefined : dialect.id;
}

/** Facts of another file as they count in this run: its statements become `linked-file`, its defaults stay defaults. */
export function factsOfLinked(config: ConfigReading): Fact[] {
  return [...config.reading.facts, ...config.directiveFacts].map((stated) => {
    const { kind } = stated.origin;
    if (!isStated(stated.origin)) return stated;
    const note = kind === 'directive' ? 'directive' : stated.origin.note;
    return { ...stated, origin: { ...stated.origin, kind: 'linked-file' as const, note } };
  });
}
