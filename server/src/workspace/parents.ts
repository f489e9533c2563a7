import { isJupyter } from '../config/notebook-commands';
import type { FileLink } from '../dialects/dialect';
import { ROLES } from '../dialects/link-roles';
import { holdsCommands, isMakefile, showsCommands } from '../text/command-files';
import { canonicalUri, fileName } from '../text/uri';
import type { ConfigReading } from './config-reading';
import type { Files } from './files';
import { foldersAround, workspaceFolderOf } from './folders-around';
import { locate, placesOfLink } from './links';

/** Folders hold at most this many configs that are looked at; more is a data folder. */
const MOST_FILES = 128;
/** Files of all these folders that are looked at. */
const MOST_NEARBY = 512;
/** Folders above the file that are looked into, its own included. */
const MOST_FOLDERS = 3;
/** Folders beside that of the file that are looked into: more are runs or data. */
const MOST_SIBLINGS = 32;
/** Python files of a folder that are looked into. */
const MOST_SOURCES = 32;
/** Files that can name a config: configs of every syntax and launch scripts. */
const NAMING = /\.(ya?ml|json|jsonc|toml|flags|sh|bash|slurm|sbatch)$/i;
const isPython = (name: string) => /\.py$/i.test(name);
const isNaming = (name: string) => NAMING.test(name) || isMakefile(name);
/** Folders beside the ones above where projects keep what starts their runs. */
const SIDE_FOLDERS = [
  'scripts',
  'script',
  'slurm',
  'jobs',
  'launch',
  'launchers',
  'run',
  'bin',
  'examples',
  'train',
  'training',
  'configs',
  'config',
  'conf',
  'recipes',
  'docs',
] as const;

export interface ParentSearch extends Files {
  /** Whether the text of a file can name another of this name. */
  mayName(uri: string, name: string): Promise<boolean>;
  list(uri: string): Promise<readonly string[] | undefined>;
  /** The runs that a file starts, each as a reading of its own. */
  launches(uri: string): Promise<readonly ConfigReading[]>;
  /** The runs that commands in a notebook start; none where the file is no notebook. */
  notebookLaunches(uri: string): Promise<readonly ConfigReading[]>;
  /** The runs that a program of Python shows at its head. */
  headLaunches(uri: string): Promise<readonly ConfigReading[]>;
  /** As `list`, of a folder that another one may hold: where that one holds none of this name, nothing is asked of it. */
  listWithin(folder: string, name: string): Promise<readonly string[] | undefined>;
  /** Asks something for which files are read whole, but of which the answer alone counts: they may say anything else. */
  gist(question: (files: ParentSearch) => Promise<boolean>): Promise<boolean>;
  /** Configs seen before, such as open documents. */
  readonly seen: readonly string[];
}

/** A config that names another, and the link by which it does. */
export interface Use {
  readonly config: ConfigReading;
  readonly link: FileLink;
}

/** What lies where a config may be named: in its folder and the folders above, nearest first, then in the usual places beside them. */
async function nearbyNames(
  uri: string,
  files: ParentSearch,
): Promise<readonly (readonly [folder: string, names: readonly string[]])[]> {
  const folders = foldersAround(uri, files).slice(0, MOST_FOLDERS);
  // Outside of a workspace folder nobody knows where a project ends.
  const inProject = workspaceFolderOf(uri, files) !== undefined;
  const siblings = inProject ? await siblingFolders(folders, files) : [];
  const side = inProject ? folders.flatMap(sideFolders) : [];
  const listings = new Map([
    ...[...folders, ...siblings].map((folder) => [folder, () => files.list(folder)] as const),
    ...side.map(({ uri: place, folder, name }) => [place, () => files.listWithin(folder, name)] as const),
  ]);
  return Promise.all([...listings].map(async ([folder, list]) => [folder, (await list()) ?? []] as const));
}

function filesNamed(
  nearby: Awaited<ReturnType<typeof nearbyNames>>,
  mayBe: (name: string) => boolean,
): string[] {
  return nearby
    .flatMap(([folder, names]) =>
      names
        .filter(mayBe)
        .slice(0, MOST_FILES)
        .map((name) => canonicalUri(`${folder}/${encodeURIComponent(name)}`)),
    )
    .slice(0, MOST_NEARBY);
}

/** Folders beside those of the file, nearest first: `configs/llamafactory` beside `configs/deepspeed`. */
async function siblingFolders(
  [own = '', ...above]: readonly string[],
  files: ParentSearch,
): Promise<string[]> {
  const [nearest] = above;
  const names = nearest === undefined ? undefined : await files.listFolders(nearest);
  return (names ?? [])
    .filter((name) => !name.startsWith('.'))
    .slice(0, MOST_SIBLINGS)
    .map((name) => canonicalUri(`${nearest}/${encodeURIComponent(name)}`))
    .filter((folder) => folder !== canonicalUri(own));
}

const sideFolders = (folder: string) =>
  SIDE_FOLDERS.map((name) => ({ uri: canonicalUri(`${folder}/${name}`), folder, name }));

/** What of a file counts: the runs that it starts, or in a notebook its commands alone, whatever its own code trains. */
type Started = 'launches' | 'notebookLaunches' | 'headLaunches';

/** The runs that a file starts with the links by which they name another; only a text that contains its name is parsed. */
async function usesIn(
  candidate: string,
  self: string,
  files: ParentSearch,
  started: Started,
): Promise<Use[]> {
  if (!(await files.mayName(candidate, fileName(self)))) return [];
  const uses: Use[] = [];
  for (const config of await files[started](candidate)) {
    const link = await linkTo(self, config, files);
    if (link) uses.push({ config, link });
  }
  return uses;
}

async function linkTo(
  self: string,
  { uri, reading }: ConfigReading,
  files: ParentSearch,
): Promise<FileLink | undefined> {
  const name = fileName(self);
  for (const link of reading.links) {
    // Most links of a text lead to other files: what they are called tells that at once.
    if (link.role === 'model' || lastOf(link.path) !== name) continue;
    const from = link.range.uri ?? uri;
    const may = placesOfLink(link, from, files).includes(self);
    if (may && (await locate(link, from, files)) === self) return link;
  }
  return undefined;
}

const lastOf = (path: string): string => /[^/\\]*$/.exec(path)?.[0] ?? '';

/**
 * Configs that name this one, nearest first: a DeepSpeed JSON takes its batch and its model from the file that uses it, a
 * recipe its GPUs from the script that starts it. Where none does, programs that train with it, else what texts for people show. What
 * other files say has no part in the answer.
 */
export async function findUses(uri: string, files: ParentSearch): Promise<Use[]> {
  // Nobody starts a text, and `make` no run of its own.
  if (holdsCommands(uri)) return [];
  const nearby = await nearbyNames(uri, files);
  // What was seen elsewhere counts as what lies near: whether a text is open decides no run that a script starts.
  const seen = (mayBe: (name: string) => boolean) =>
    files.seen.filter((other) => mayBe(fileName(other))).map(canonicalUri);
  const isOther = (name: string) => isPython(name) || isJupyter(name) || showsCommands(name);
  const naming = [...filesNamed(nearby, isNaming), ...seen((name) => !isOther(name))];
  const uses = await usesAmong(naming, uri, files);
  if (uses.length > 0) return uses;
  const sources = [...sourcesAbove(uri, nearby, files), ...seen(isPython)];
  const programs = isPython(uri) ? [] : await usesAmong(sources, uri, files);
  // What else a program reads is found from the program.
  const trained = programs.filter(({ link }) => ROLES[link.role].shards);
  if (trained.length > 0) return trained;
  const shown = [
    ...(await usesAmong([...filesNamed(nearby, showsCommands), ...seen(showsCommands)], uri, files)),
    ...(await usesAmong(
      [...notebooksAbove(uri, nearby, files), ...seen(isJupyter)],
      uri,
      files,
      'notebookLaunches',
    )),
  ];
  // What a program shows of itself comes last.
  return shown.length > 0 || !isPython(uri)
    ? shown
    : usesIn(canonicalUri(uri), canonicalUri(uri), files, 'headLaunches');
}

/** What lies in the folder of a file and the folders above. */
function above(
  uri: string,
  nearby: Awaited<ReturnType<typeof nearbyNames>>,
  files: ParentSearch,
): Awaited<ReturnType<typeof nearbyNames>> {
  const folders = new Set(foldersAround(uri, files).slice(0, MOST_FOLDERS));
  return nearby.filter(([folder]) => folders.has(folder));
}

/** Programs there: one that trains names the file of a library in an argument. */
function sourcesAbove(
  uri: string,
  nearby: Awaited<ReturnType<typeof nearbyNames>>,
  files: ParentSearch,
): string[] {
  const sources = above(uri, nearby, files).map(
    ([folder, names]) => [folder, names.filter(isPython).slice(0, MOST_SOURCES)] as const,
  );
  return filesNamed(sources, () => true);
}

/** Notebooks there, and programs, which may be the source of one. */
function notebooksAbove(
  uri: string,
  nearby: Awaited<ReturnType<typeof nearbyNames>>,
  files: ParentSearch,
): string[] {
  return [...filesNamed(above(uri, nearby, files), isJupyter), ...sourcesAbove(uri, nearby, files)];
}

async function usesAmong(
  places: readonly string[],
  uri: string,
  files: ParentSearch,
  started: Started = 'launches',
): Promise<Use[]> {
  const self = canonicalUri(uri);
  const uses: Use[] = [];
  for (const candidate of new Set(places)) {
    const names = async (apart: ParentSearch) => (await usesIn(candidate, self, apart, started)).length > 0;
    if (candidate !== self && (await files.gist(names)))
      uses.push(...(await usesIn(candidate, self, files, started)));
  }
  return uses;
}
