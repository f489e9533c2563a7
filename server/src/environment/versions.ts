import { maxSatisfying, minSatisfying, satisfies, valid, validRange } from '@renovatebot/pep440';
import data from '../../data/releases.json';
import { remembered } from '../memo/remembered';
import { FIELDS, type FieldPath, type RunValues } from '../run/fields';
import type { Requirement } from './requirement';

/** Fields of versions by the package that they are of. */
export const VERSION_FIELDS = {
  torch: 'version.torch',
  transformers: 'version.transformers',
  deepspeed: 'version.deepspeed',
  bitsandbytes: 'version.bitsandbytes',
  'liger-kernel': 'version.liger',
  trl: 'version.trl',
  accelerate: 'version.accelerate',
  peft: 'version.peft',
} as const satisfies Readonly<Record<string, FieldPath>>;
export type VersionedPackage = keyof typeof VERSION_FIELDS;

/** The version that a run has of a package, by its name; undefined where no field of it holds any. */
export function versionIn(values: RunValues, name: string): string | undefined {
  const field = VERSION_FIELDS[name as VersionedPackage] as FieldPath | undefined;
  return field && (values[field] as string | undefined);
}

export const VERSIONED_PACKAGES = Object.keys(VERSION_FIELDS) as readonly VersionedPackage[];

/** Releases of a package, one per minor version, oldest first, as of the day in `releases.json`. */
function releasesOf(name: VersionedPackage): readonly string[] {
  return data.releases[name];
}

/** The newest release of a package, as of that day. */
function newestRelease(name: VersionedPackage): string {
  return releasesOf(name).at(-1) ?? '';
}

/**
 * The release that is taken of a package where nothing names one: behaviours and figures are held to it. The index may have newer ones,
 * whose sources nobody has read.
 */
export const assumedRelease = (name: VersionedPackage): string => FIELDS[VERSION_FIELDS[name]].default;

/** Releases of a package up to the assumed one, patches of it among them. */
const readReleases = (name: VersionedPackage): string[] => readAmong(name, releasesOf(name));

function readAmong(name: VersionedPackage, releases: readonly string[]): string[] {
  const assumed = assumedRelease(name);
  return releases.filter(
    (release) => satisfies(release, `<=${assumed}`) || satisfies(release, `==${assumed}.*`),
  );
}

/** The newest release of each package, as of that day. */
export function newestReleases(): Readonly<Record<string, string>> {
  return Object.fromEntries(VERSIONED_PACKAGES.map((name) => [name, newestRelease(name)]));
}

/** Versions by package as statements about a run: `version.torch=2.9.0`. */
export function versionStatements(versions: Readonly<Record<string, string>>): string[] {
  return Object.entries(versions).map(
    ([name, version]) => `${VERSION_FIELDS[name as VersionedPackage]}=${version}`,
  );
}

/** The versions that a requirement leaves open. */
export interface AllowedVersions {
  /** The one that is asked for, else the newest that is allowed, up to the release that is assumed where none is named. */
  readonly newest: string;
  /** Newer ones than the assumed release are allowed, too, be they known or not. */
  readonly endsAtAssumed?: true;
  /** The oldest that is allowed; absent where only one is, or nothing bounds it. */
  readonly oldest?: string;
}

/** Of a commit nobody can tell the release: it may be any of the assumed release's major version, and of the one before. */
function oldestThought(name: VersionedPackage): string {
  const [major = 0] = assumedRelease(name).split('.').map(Number);
  return (
    releasesOf(name).find((release) => Number.parseInt(release, 10) >= major - 1) ?? assumedRelease(name)
  );
}

/** Ranges of the requirements at hand: they stay as they are while a config is edited. */
const ranges = remembered<AllowedVersions | undefined>(256);

/** What a specifier allows, of the releases that are known; undefined where it allows none of them or is not understood. */
export function allowedVersions(
  name: VersionedPackage,
  { specifier, exact, repository }: Pick<Requirement, 'specifier' | 'exact' | 'repository'>,
): AllowedVersions | undefined {
  if (exact !== undefined) return { newest: exact };
  if (repository === 'head') return { newest: assumedRelease(name) };
  if (repository === 'commit') return { newest: assumedRelease(name), oldest: oldestThought(name) };
  return ranges.of(`${name} ${specifier}`, () => allowedRange(name, specifier));
}

function allowedRange(name: VersionedPackage, specifier: string): AllowedVersions | undefined {
  if (specifier === '' || !validRange(specifier)) return undefined;
  const releases = [...releasesOf(name)];
  const named = highestNamed(specifier, releases);
  const known = maxSatisfying([...releases, ...named], specifier);
  const read = maxSatisfying([...readReleases(name), ...readAmong(name, named)], specifier);
  const newest = read ?? known ?? anyPatch(specifier);
  if (newest === undefined || newest === null) return undefined;
  const bounded = />|~=|==/.test(specifier);
  const oldest = bounded ? minSatisfying(releases, specifier) : null;
  return {
    newest,
    ...(oldest === null || oldest === newest ? {} : { oldest }),
    ...(read !== null && (read !== known || goesBeyond(name, read, specifier))
      ? { endsAtAssumed: true as const }
      : {}),
  };
}

/** Whether a specifier would take the release after the assumed one, too: there may be one since releases were read. */
function goesBeyond(name: VersionedPackage, read: string, specifier: string): boolean {
  const assumed = assumedRelease(name);
  const [major = 0, minor = 0] = assumed.split('.').map(Number);
  return satisfies(read, `==${assumed}.*`) && satisfies(`${major}.${minor + 1}`, specifier);
}

/** What `<=` names, where it is a release of a known minor version: the last patch release of that one may be newer. */
function highestNamed(specifier: string, releases: readonly string[]): string[] {
  const minor = (version: string) => version.split('.', 2).join('.');
  const known = new Set(releases.map(minor));
  const named = [...specifier.matchAll(/<=\s*(\d[\w.]*)/g)].map((match) => match[1] ?? '');
  return named.filter((version) => valid(version) !== null && known.has(minor(version)));
}

/** A patch release that is not among those known, the last of each minor version: `==4.44.1,>4` names one itself. */
function anyPatch(specifier: string): string | undefined {
  // Conda's `=4.44.1` is `==4.44.1.*`.
  const named = [...specifier.matchAll(/(?:==|>=|~=)\s*(\d(?:[\w.]*\w)?)/g)].map((match) => match[1] ?? '');
  return named.find((version) => valid(version) !== null && satisfies(version, specifier));
}

const PINS: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, string>>>>>> = data.pins;

/**
 * What a release of a framework requires of a package; the newest release that states anything, unless one is named. Of releases that are
 * older than those that were looked at nothing is known.
 */
export function pinOf(
  family: string,
  name: VersionedPackage,
  version?: string,
): { readonly release: string; readonly specifier: string } | undefined {
  const pins = PINS[family];
  if (!pins) return undefined;
  const releases = Object.keys(pins);
  const release =
    version === undefined ? releases.at(-1) : (maxSatisfying(releases, `<=${version}`) ?? undefined);
  const specifier = release === undefined ? undefined : pins[release]?.[name];
  return release === undefined || specifier === undefined ? undefined : { release, specifier };
}

/** Package of a framework whose own version decides what it requires, by the family's id. */
export const FRAMEWORK_PACKAGES: Readonly<Record<string, string>> = {
  axolotl: 'axolotl',
  'llama-factory': 'llamafactory',
  'ms-swift': 'ms-swift',
  litgpt: 'litgpt',
  'llm-foundry': 'llm-foundry',
  openrlhf: 'openrlhf',
  verl: 'verl',
  trl: 'trl',
  accelerate: 'accelerate',
  xtuner: 'xtuner',
};
