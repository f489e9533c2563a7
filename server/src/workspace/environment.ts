import { satisfies } from '@renovatebot/pep440';
import type { RepositoryState } from '../config/repository-address';
import {
  environmentFormatOf,
  exactRequirement,
  installedPackages,
  lineRange,
  RANKS,
  SCRIPT_IMAGES,
  SHOWN_INSTALLS,
} from '../environment/environment-files';
import { PROVIDERS, requiredSpecifier } from '../environment/required-releases';
import type { Requirement } from '../environment/requirement';
import {
  type AllowedVersions,
  allowedVersions,
  assumedRelease,
  FRAMEWORK_PACKAGES,
  pinOf,
  VERSION_FIELDS,
  VERSIONED_PACKAGES,
  type VersionedPackage,
} from '../environment/versions';
import { newerOf } from '../run/oldest-releases';
import { type Fact, fact } from '../run/origin';
import { strongest } from '../run/resolve';
import type { KnownVersion, Versions } from '../run/versions';
import { type StatePackage, statePackageOf, statePackagesAmong } from '../terms/state-packages';
import { isAtLeast } from '../terms/version';
import { fileName, relativePath } from '../text/uri';
import { say } from '../wording/say';
import type { TrackedFiles } from './file-cache';
import { foldersAround } from './folders-around';

/** Files of one folder that are looked into, at most. */
const MOST_FILES = 16;
/** What only those who work on a repository install. */
const ASIDE = /(?:^|[-_.])(?:dev|docs?|lint|tests?|ci|format|build|typing)(?:[-_.]|$)/i;

/** A release that a file of the run holds, with the file that holds it. */
interface RecordedRelease extends Requirement {
  readonly uri: string;
}
/** A requirement with the file that states it. */
interface Stated extends RecordedRelease {
  /** Lower is stronger, within a folder. */
  readonly rank: number;
}

/**
 * Versions of the software that a run uses, by what lies around its file: lock files, lists of requirements, Conda
 * environments, projects, images of containers, and what is installed in a virtual environment. The nearest folder that names a
 * package counts; in it what is locked before what is asked for. Then come the images that the run's scripts start, and last what a
 * framework's own release requires. `shown` are texts for people that show how the run is started. Before all of them count the releases that files of the run itself hold; `own` is what those state,
 * and somebody beside them, of which the release of the framework counts.
 */
export async function environmentOf(
  uri: string,
  family: string,
  files: TrackedFiles,
  scripts: readonly string[] = [],
  recorded: readonly RecordedRelease[] = [],
  own: readonly Fact[] = [],
  shown: readonly string[] = [],
): Promise<Environment> {
  // What a notebook or a script installs is there when it starts the run, whatever lies around.
  const [notebooks, texts] = [shown.filter(isCode), shown.filter((text) => !isCode(text))];
  const installed = (
    await statedByTexts([...notebooks, ...scripts.filter((uri) => !texts.includes(uri))], files)
  ).map((each) => ({ ...each, rank: RANKS.recorded }));
  const around = withShown(await statedAround(uri, files), await statedByTexts(texts, files), uri);
  // What an environment beside the files holds is not in the image.
  const pinned = (name: string) =>
    around.some(
      (each) =>
        each.name === name && each.exact !== undefined && !each.optional && each.rank !== RANKS.installed,
    );
  const stated = [
    ...installed,
    ...recorded
      .filter(({ image, name }) => !image || !pinned(name))
      .map((each) => ({ ...each, rank: RANKS.recorded })),
    ...around,
    ...(await statedByScripts(scripts, files)),
  ];
  const shownBy = isNotebook(uri) ? await files.requirements(uri, SHOWN_INSTALLS) : [];
  // Beside what is pinned around, where the notebook is opened elsewhere the newest.
  const left = new Set(shownBy.flatMap(({ name, specifier }) => (specifier === '' ? [name] : [])));
  return { facts: factsOf(stated, family, files, own, left), frameworks: frameworksIn(stated, left) };
}

const isNotebook = (uri: string) => /\.ipynb$/i.test(uri);

/** Whether a release is pinned around a notebook that installs the package itself, and names none: `left` are such packages. */
const isLeft = ({ name, exact, rank, optional }: Stated, left: ReadonlySet<string>) =>
  exact !== undefined && !optional && rank !== RANKS.installed && rank !== RANKS.recorded && left.has(name);

/** Whether a file that shows how a run is started runs commands itself: a notebook, or the source of one. */
const isCode = (uri: string) => /\.(?:ipynb|py)$/i.test(uri);

/** What lies around a config about the software that runs it. */
interface Environment {
  readonly facts: readonly Fact[];
  /** Versions of the frameworks themselves, which no field of a run holds. */
  readonly frameworks: Versions;
}

/** Packages whose rules are reported, beside those that a field of the run holds. */
const FRAMEWORKS = [
  ...new Set([
    ...Object.values(FRAMEWORK_PACKAGES),
    'megatron-core',
    'nemo-toolkit',
    'nemo-rl',
    'nemo-automodel',
    'nanotron',
    'torchtune',
    'torchtitan',
    'peft',
    'unsloth',
    'vllm',
    'flash-attn',
  ]),
];

function frameworksIn(stated: readonly Stated[], left: ReadonlySet<string>): Versions {
  return Object.fromEntries(
    FRAMEWORKS.flatMap((name): [string, KnownVersion][] => {
      const found = best(stated, name, ({ optional }) => !optional);
      if (found && (isLeft(found, left) || rivalsOf(found, stated).length > 0)) return [];
      const exact = found?.exact;
      if (exact !== undefined) return [[name, { version: exact, source: 'locked' }]];
      const newest = found && upperBound(found.specifier);
      const oldest = found && lowerBound(found.specifier);
      return newest && oldest ? [[name, { version: newest, oldest, source: 'range' }]] : [];
    }),
  );
}

function factsOf(
  stated: readonly Stated[],
  family: string,
  files: TrackedFiles,
  own: readonly Fact[],
  left: ReadonlySet<string>,
): Fact[] {
  return [...kernelFacts(stated, family), ...versionFacts(stated, family, files, own, left)];
}

/** Packages of kernels that a framework requires, since a release (`Requires-Dist` of axolotl 0.15.0: `flash-linear-attention==0.4.1`). */
const BROUGHT: Readonly<
  Record<string, { readonly since: string; readonly packages: readonly StatePackage[] }>
> = {
  axolotl: { since: '0.15', packages: ['flash-linear-attention'] },
};

/** Packages of kernels that come with a release of a framework; with the newest, unless one is named. */
function broughtPackages(family: string, release?: string): readonly StatePackage[] {
  const brought = BROUGHT[family];
  if (!brought) return [];
  return release === undefined || satisfies(release, `>=${brought.since}`) ? brought.packages : [];
}

/** Packages of kernels that are named anywhere around, and those that the framework requires; what is not named may be there all the same. */
function kernelFacts(stated: readonly Stated[], family: string): Fact[] {
  const named = stated.filter(({ name }) => statePackageOf(name) !== undefined);
  const framework = FRAMEWORK_PACKAGES[family];
  const release = framework === undefined ? undefined : best(stated, framework)?.exact;
  const brought = broughtPackages(family, release);
  const value = statePackagesAmong([...named.map(({ name }) => name), ...brought]);
  if (value.length === 0) return [];
  const [first] = named;
  return [
    first
      ? fact('kernels.states', value, {
          kind: 'environment',
          location: { uri: first.uri, range: first.range },
        })
      : fact('kernels.states', value, {
          kind: 'default',
          note: say('{0} requires {1}', framework ?? family, brought.join(', ')),
        }),
  ];
}

function versionFacts(
  stated: readonly Stated[],
  family: string,
  files: TrackedFiles,
  own: readonly Fact[],
  left: ReadonlySet<string>,
): Fact[] {
  const framework = FRAMEWORK_PACKAGES[family];
  const release = framework === undefined ? undefined : best(stated, framework, ({ optional }) => !optional);
  const ofFamily = VERSIONED_PACKAGES.find((one) => one === framework);
  const limited = ofFamily && broughtFact(ofFamily, release, stated, files);
  const { version: taken, isNamed } = limited
    ? { version: String(limited.value), isNamed: true }
    : takenRelease(family, release, own);
  return VERSIONED_PACKAGES.flatMap((name) => {
    const upgraded = stated.find((each) => each.name === name && isUpgrade(each));
    if (upgraded) return upgradedFact(name, upgraded);
    const usable = (each: Stated) => allowedVersions(name, each) !== undefined;
    const found = best(stated, name, (each) => !each.optional && usable(each)) ?? best(stated, name, usable);
    const rivals = found ? rivalsOf(found, stated).filter(usable) : [];
    if (found && rivals.length > 0) return rivalFact(name, found, rivals);
    if (found && isLeft(found, left)) return leftFact(name, found, files);
    const brought = broughtFact(name, found, stated, files);
    if (brought) return brought;
    const allowed = found && allowedVersions(name, found);
    if (found && allowed) return versionFact(name, allowed, found, files);
    const pin = family === name ? undefined : pinOf(family, name, taken);
    const required =
      pin && allowedVersions(name, { specifier: pin.specifier, exact: exactOf(pin.specifier) });
    return pin && required
      ? fact(VERSION_FIELDS[name], required.newest, {
          kind: 'default',
          note: requiredNote(
            `${framework ?? family} ${taken ?? pin.release}`,
            `${name} ${pin.specifier}`,
            required.endsAtAssumed,
          ),
          ...(exactOf(pin.specifier) === undefined
            ? {}
            : { pinned: isNamed ? 'by-known-release' : 'by-newest-release' }),
        })
      : [];
  });
}

/** A bound below is no reason for a release: it allows what is assumed. */
const requiredNote = (by: string, what: string, endsAtAssumed?: true): string =>
  endsAtAssumed
    ? say('{0} requires {1}: it allows the release that is assumed where none is named', by, what)
    : say('{0} requires {1}', by, what);

/**
 * The release of a package that another one which is installed beside it requires: `vllm==0.8.4` of PyTorch. What is named itself in one
 * release goes before, a range only narrows.
 */
function broughtFact(
  name: VersionedPackage,
  own: Stated | undefined,
  stated: readonly Stated[],
  files: TrackedFiles,
): Fact | undefined {
  if (own?.exact !== undefined || own?.repository !== undefined || own?.of !== undefined) return undefined;
  for (const provider of PROVIDERS) {
    const from = best(
      stated,
      provider,
      ({ exact, optional, alone }) => exact !== undefined && !optional && !alone,
    );
    const specifier = from?.exact === undefined ? undefined : requiredSpecifier(provider, from.exact, name);
    if (!from || specifier === undefined) continue;
    const both = own && !own.optional && own.specifier !== '' ? `${own.specifier},${specifier}` : specifier;
    const allowed = allowedVersions(name, { specifier: both, exact: exactOf(both) });
    if (!allowed) continue;
    return fact(VERSION_FIELDS[name], allowed.newest, {
      kind: 'environment',
      location: { uri: from.uri, range: from.range },
      note: say(
        '{0} in {1} requires {2}',
        `${provider} ${from.exact}`,
        placeOf(from.uri, files),
        `${name} ${shortened(specifier)}`,
      ),
    });
  }
  return undefined;
}

/** What a specifier ends with; releases that it leaves out in between say little. */
const shortened = (specifier: string): string =>
  specifier
    .split(',')
    .filter((bound) => !bound.startsWith('!='))
    .join(',');

const placeOf = (uri: string, files: TrackedFiles): string =>
  files.folders.flatMap((folder) => relativePath(folder, uri) ?? [])[0] ?? fileName(uri);

/**
 * The release of a framework that the run takes: what somebody states, what lies around, of that what the file's own arguments leave, and
 * else the one that is assumed. Undefined where no field holds it and nothing names any.
 */
function takenRelease(
  family: string,
  around: Stated | undefined,
  own: readonly Fact[],
): { readonly version?: string; readonly isNamed: boolean } {
  const name = VERSIONED_PACKAGES.find((one) => one === FRAMEWORK_PACKAGES[family]);
  const allowed = name && around && allowedVersions(name, around);
  const newest = around?.exact ?? allowed?.newest ?? (around && upperBound(around.specifier));
  if (name === undefined)
    return newest === undefined ? { isNamed: false } : { version: newest, isNamed: true };
  const field = VERSION_FIELDS[name];
  const best = strongest(own, field);
  const ownVersion = best && String(best.value);
  if (ownVersion !== undefined && !/^(?:default|inferred)$/.test(best?.origin.kind ?? ''))
    return { version: ownVersion, isNamed: true };
  const narrows =
    ownVersion !== undefined &&
    around?.exact === undefined &&
    (newest === undefined || isAtLeast(ownVersion, newest) === false) &&
    (allowed?.oldest === undefined || isAtLeast(ownVersion, allowed.oldest) !== false);
  if (narrows) return { version: ownVersion, isNamed: around !== undefined };
  return newest === undefined
    ? { version: assumedRelease(name), isNamed: false }
    : { version: newest, isNamed: true };
}

/** A file of the run itself asks for the newest, whatever else names one: what that is, is known as well as where nothing does. */
const isUpgrade = ({ rank, specifier, exact }: Stated) =>
  rank === RANKS.recorded && specifier === '' && exact === undefined;

/** From a repository: its state of that day, or one of which nobody can tell the release. */
function repositoryNote(name: string, release: string, state: RepositoryState, place: string): string {
  return state === 'head'
    ? say('{0} of {1} is taken from its repository: {2} is assumed', name, place, release)
    : say('{0} of {1} is a commit, a branch or a fork: which release that is, is not known', name, place);
}

const upgradedFact = (name: VersionedPackage, { uri, range }: Stated): Fact =>
  fact(VERSION_FIELDS[name], assumedRelease(name), {
    kind: 'default',
    location: { uri, range },
    note: say('the newest {0} is installed: {1} is assumed', name, assumedRelease(name)),
  });

/**
 * Other files of one kind and folder that ask for another release of a package: which of them is installed nobody knows. So it is with
 * a list of packages and an environment of conda, of which each is whole.
 */
const rivalsOf = (found: Stated, stated: readonly Stated[]): Stated[] =>
  stated.filter(
    ({ name, rank, uri, specifier, optional }) =>
      name === found.name &&
      (rank === found.rank || (WHOLE.has(rank) && WHOLE.has(found.rank))) &&
      rank >= RANKS.locked &&
      rank <= RANKS.image &&
      !optional &&
      uri !== found.uri &&
      folderOf(uri) === folderOf(found.uri) &&
      specifier !== '' &&
      specifier !== found.specifier,
  );

/** `requirements.txt` and `environment.yml`. */
const WHOLE: ReadonlySet<number> = new Set([RANKS.listed, RANKS.conda]);

function rivalFact(name: VersionedPackage, found: Stated, rivals: readonly Stated[]): Fact {
  const all = [found, ...rivals];
  const ends = all.flatMap((each) => allowedVersions(name, each) ?? []);
  const newest = ends.reduce((kept, end) => newerOf(kept, end.newest), ends[0]?.newest ?? '');
  const firsts = ends.map((end) => end.oldest ?? end.newest);
  const oldest = firsts.reduce((kept, end) => (isAtLeast(kept, end) === true ? end : kept), newest);
  return fact(VERSION_FIELDS[name], newest, {
    kind: 'environment',
    location: { uri: found.uri, range: found.range },
    note: say(
      '{0} ask for different releases of {1}',
      all.map((each) => fileName(each.uri)).join(', '),
      name,
    ),
    ...(oldest === newest ? {} : { orElse: oldest }),
  });
}

/** What is pinned where the environment of the project runs the notebook, and the newest where it is opened elsewhere. */
function leftFact(name: VersionedPackage, { uri, range, exact = '' }: Stated, files: TrackedFiles): Fact {
  const newest = newerOf(exact, assumedRelease(name));
  return fact(VERSION_FIELDS[name], newest, {
    kind: 'environment',
    location: { uri, range },
    note: say(
      '{0} in {1}, but the notebook installs it and names no release',
      `${name} ${exact}`,
      placeOf(uri, files),
    ),
    ...(newest === exact ? {} : { orElse: exact }),
  });
}

const exactOf = (specifier: string) => /^(?:!=[^,]*,)*==([^,*]+)$/.exec(specifier)?.[1];
const upperBound = (specifier: string) => /<=?(\d[\w.]*)/.exec(specifier)?.[1];
const lowerBound = (specifier: string) => />=(\d[\w.]*)/.exec(specifier)?.[1];

function versionFact(
  name: VersionedPackage,
  { newest, oldest, endsAtAssumed }: AllowedVersions,
  { uri, range, specifier, optional, repository, of, builtFor }: Stated,
  files: TrackedFiles,
): Fact {
  const place = placeOf(uri, files);
  const what = `${name} ${specifier.replace(/^==(?!=)/, '')}`.trimEnd();
  const location = { uri, range };
  if (optional)
    return fact(VERSION_FIELDS[name], newest, {
      kind: 'default',
      location,
      note: say('{0} in {1}, for an extra', what, place),
      orElse: oldest,
    });
  return fact(VERSION_FIELDS[name], newest, {
    kind: 'environment',
    location,
    note: repository
      ? repositoryNote(name, newest, repository, place)
      : of
        ? say('{0} in {1} has {2}', of, place, what.replace(/\.\*$/, ''))
        : builtFor
          ? say('PyTorch is built for {0} up to this release, of which {1} installs it', builtFor, place)
          : rangeNote(what, place, oldest, endsAtAssumed),
    orElse: oldest,
    // The newest of the day of the installation, which nobody names.
    ...(repository === 'head' ? { pinned: 'by-newest-release' as const } : {}),
  });
}

function rangeNote(what: string, place: string, oldest: string | undefined, endsAtAssumed?: true): string {
  if (endsAtAssumed)
    return say('{0} in {1}: it allows the release that is assumed where none is named', what, place);
  return oldest === undefined
    ? say('{0} in {1}', what, place)
    : say('{0} in {1}: the newest that it allows', what, place);
}

/** The strongest statement about a package; nearer folders come first in the list. */
function best(
  stated: readonly Stated[],
  name: string,
  usable: (stated: Stated) => boolean = () => true,
): Stated | undefined {
  const about = stated.filter((each) => each.name === name && usable(each));
  const folder = about[0] && folderOf(about[0].uri);
  const near = about.filter((each) => folderOf(each.uri) === folder);
  return near.reduce<Stated | undefined>(
    (kept, each) => (kept && kept.rank <= each.rank ? kept : each),
    undefined,
  );
}

/** The folder that a file speaks for: its own, and for what is installed the one that holds the environment. */
const folderOf = (uri: string) =>
  uri.replace(/\/(?:\.venv|venv|env)\/.*$|\/requirements\/[^/]*$|\/[^/]*$/, '');

/** Images that the scripts of the run start. */
async function statedByScripts(scripts: readonly string[], files: TrackedFiles): Promise<Stated[]> {
  const found: Stated[] = [];
  for (const uri of scripts)
    for (const requirement of await files.requirements(uri, SCRIPT_IMAGES))
      if (isOfInterest(requirement.name)) found.push({ ...requirement, uri, rank: SCRIPT_IMAGES.rank });
  return found;
}

/** What texts install that show how the run is started. */
async function statedByTexts(texts: readonly string[], files: TrackedFiles): Promise<Stated[]> {
  const found: Stated[] = [];
  for (const uri of new Set(texts))
    for (const requirement of await files.requirements(uri, SHOWN_INSTALLS))
      if (
        isOfInterest(requirement.name) &&
        (requirement.specifier !== '' || requirement.repository || statePackageOf(requirement.name))
      )
        found.push({ ...requirement, uri, rank: SHOWN_INSTALLS.rank });
  return found;
}

/** A text beside the file, or in a folder above it, speaks for its folder, as what else lies there; any other comes last. */
function withShown(around: readonly Stated[], shown: readonly Stated[], uri: string): readonly Stated[] {
  const isAbove = (text: Stated) => uri.startsWith(`${folderOf(text.uri)}/`);
  return shown.reduce<readonly Stated[]>((all, text) => {
    const far = isAbove(text)
      ? all.findIndex((each) => folderOf(each.uri).length < folderOf(text.uri).length)
      : -1;
    const at = far < 0 ? all.length : far;
    return [...all.slice(0, at), text, ...all.slice(at)];
  }, around);
}

async function statedAround(uri: string, files: TrackedFiles): Promise<Stated[]> {
  const text = await files.gist(async (asked) => {
    const found: Stated[] = [];
    for (const [index, folder] of foldersAround(uri, files).entries()) {
      found.push(...(await statedIn(folder, uri, asked)));
      if (index === 0) found.push(...(await statedByReadme(folder, asked)));
    }
    return JSON.stringify(found.filter(({ name }) => isOfInterest(name)));
  });
  return JSON.parse(text) as Stated[];
}

const OF_INTEREST: ReadonlySet<string> = new Set([...VERSIONED_PACKAGES, ...FRAMEWORKS, ...PROVIDERS]);
const isOfInterest = (name: string) => OF_INTEREST.has(name) || statePackageOf(name) !== undefined;

/** What the text beside a file for people asks them to install for it, before what lies in folders above. */
async function statedByReadme(folder: string, files: TrackedFiles): Promise<Stated[]> {
  const base = folder.replace(/\/$/, '');
  const names = ((await files.list(base)) ?? []).filter((name) =>
    /^readme\.(?:md|markdown|rst)$/i.test(name),
  );
  return statedByTexts(
    names.map((name) => `${base}/${encodeURI(name)}`),
    files,
  );
}

/** A part of a book or a course, in the name of a file or a folder: `requirements-chapter7.txt`, `lesson_03`. */
const PART =
  /(?:^|[-_. ])(?:chapter|chap|ch|part|lesson|unit|module|week|day|lab|section|exercise)[-_. ]?0*(\d{1,3})(?=[-_. ]|$)/i;
/** A number before the name of a file or a folder: `07_question-answering.ipynb`. */
const NUMBERED = /^0*(\d{1,3})[a-z]?[-_. ]/i;

/** Whether a list of packages is named for another part than the one that a file belongs to. */
function isOfOtherPart(name: string, uri: string): boolean {
  const part = PART.exec(name)?.[1];
  if (part === undefined) return false;
  const places = uri.split('/').map((segment) => decodeURIComponent(segment));
  return !places.some((place) => (PART.exec(place) ?? NUMBERED.exec(place))?.[1] === part);
}

async function statedIn(folder: string, run: string, files: TrackedFiles): Promise<Stated[]> {
  const base = folder.replace(/\/$/, '');
  const names = (await files.list(base)) ?? [];
  const folders = (await files.listFolders(base)) ?? [];
  const inside = folders.includes('requirements')
    ? ((await files.list(`${base}/requirements`)) ?? []).map((name) => `requirements/${name}`)
    : [];
  const found: Stated[] = [];
  const candidates = [...names, ...inside].flatMap((path) => {
    const name = fileName(path);
    const format =
      environmentFormatOf(name) ??
      (path.includes('/') && /\.(?:txt|in)$/.test(name)
        ? environmentFormatOf('requirements-of.txt')
        : undefined);
    return format && !ASIDE.test(name) && !isOfOtherPart(name, run) ? { path, format } : [];
  });
  for (const { path, format } of candidates.slice(0, MOST_FILES)) {
    const uri = `${base}/${encodeURI(path)}`;
    for (const requirement of await files.requirements(uri, format)) {
      // A bare name asks for no version.
      if (requirement.specifier !== '' || requirement.repository || statePackageOf(requirement.name))
        found.push({ ...requirement, uri, rank: format.rank });
    }
  }
  for (const environment of folders.filter((name) => /^(?:\.venv|venv|env)$/.test(name)))
    found.push(...(await installedIn(`${base}/${environment}`, files)));
  found.push(...(await held(base, names, folders, files)));
  return found;
}

/** A framework's own repository, or a copy of it: the release stands in a file beside the package. */
async function held(
  base: string,
  names: readonly string[],
  folders: readonly string[],
  files: TrackedFiles,
): Promise<Stated[]> {
  if (!names.includes('version.txt')) return [];
  const inside = folders.includes('src') ? ((await files.listFolders(`${base}/src`)) ?? []) : [];
  const name = [...folders, ...inside].find((one) => FRAMEWORKS.includes(one));
  const uri = `${base}/version.txt`;
  const exact = name && /^\d+(?:\.\d+)+/.exec(((await files.readText(uri)) ?? '').trim())?.[0];
  return name && exact
    ? [{ ...exactRequirement(name, exact, lineRange(0, 0, 0)), uri, rank: RANKS.project }]
    : [];
}

async function installedIn(environment: string, files: TrackedFiles): Promise<Stated[]> {
  const found: Stated[] = [];
  for (const python of (await files.listFolders(`${environment}/lib`)) ?? []) {
    const uri = `${environment}/lib/${python}/site-packages`;
    const packages = installedPackages((await files.listFolders(uri)) ?? []);
    found.push(...packages.map((each) => ({ ...each, uri: `${uri}/METADATA`, rank: RANKS.installed })));
  }
  return found;
}
