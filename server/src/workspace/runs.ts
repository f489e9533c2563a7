import type { FileLink, Reading } from '../dialects/dialect';
import { ROLES } from '../dialects/link-roles';
import { withChanges } from '../memo/on-demand';
import type { Fact } from '../run/origin';
import { canonicalUri, fileName } from '../text/uri';
import type { ConfigReading } from './config-reading';
import { inherits, isRunByItself } from './inheritance';
import { apartFrom, type FollowedLinks, factsOfLinked, followLinks } from './links';
import type { Member } from './member';
import { overlaid } from './overrides';
import { findUses, type ParentSearch, type Use } from './parents';
import { startingAsItStands } from './shown-launches';

/** Runs that a file is looked at in; a base config of a hundred experiments is not walked through. */
const MOST_RUNS = 12;
/** Files above a file: a script names a recipe, which names a DeepSpeed file. */
const HIGHEST = 3;

/** One run that a file is part of: everything reached from the file that starts it. */
export interface RunFiles {
  /** The file that nobody names. */
  readonly root: ConfigReading;
  /** Files from the root down to the one that names the file at hand; empty where that is the root. */
  readonly above: readonly Use[];
}

/** The runs of a file, at most `MOST_RUNS`, and every file that names it. */
export interface RunsOfFile {
  /** Nearest user first; the file alone where nobody names it. */
  readonly runs: readonly RunFiles[];
  readonly uses: readonly Use[];
}

export async function findRuns(config: ConfigReading, files: ParentSearch): Promise<RunsOfFile> {
  const found: RunFiles[] = [];
  let direct: readonly Use[] = [];
  const climb = async (current: ConfigReading, above: readonly Use[], passed: readonly string[]) => {
    const own = new Set(current.reading.links.map(({ path }) => path));
    const uses =
      above.length < HIGHEST && current.document.isShown !== true
        ? (await findUses(current.uri, files)).filter(
            ({ config: user }) =>
              (!passed.includes(user.uri) || showsItself(user, current)) &&
              !apartFrom(user, canonicalUri(current.uri)),
          )
        : [];
    // Files that name each other in a circle are no runs of each other.
    const others = own.size === 0 ? uses : await withoutLinked(current, uses, files);
    const users = await startingAsItStands(current, others, files);
    // Those that start from a whole run are runs of their own: of its files, but not of it.
    const whole = users.some(inherits) && isRunByItself(current);
    const starting = whole ? users.filter((use) => !inherits(use)) : users;
    const outer = above.length === 0 ? starting : users;
    if (above.length === 0) direct = outer;
    if (starting.length === 0) found.push({ root: current, above });
    for (const use of outer) {
      if (found.length >= MOST_RUNS) return;
      await climb(use.config, [use, ...above], [...passed, use.config.uri]);
    }
  };
  await climb(config, [], [canonicalUri(config.uri)]);
  return { runs: found, uses: direct };
}

/** A program that shows how it is started. */
const showsItself = (user: ConfigReading, { uri }: ConfigReading): boolean =>
  user.document.isShown === true && canonicalUri(user.uri) === canonicalUri(uri);

/** The run of a config that another one, `start`, is merged with. */
export function runOfPart(uri: string, start: ConfigReading): RunsOfFile {
  const bases = start.reading.links.filter(({ role }) => role === 'include');
  const link = bases.find(({ path }) => canonicalUri(uri).endsWith(`/${path}`)) ?? bases[0];
  const uses = link ? [{ config: start, link }] : [];
  return { runs: [{ root: start, above: uses }], uses };
}

/** A program that loads a file, as it is read in one of its runs, and the runs of the file. */
export interface ProgramRuns<C> {
  readonly start: C;
  readonly within: RunsOfFile;
}

/** The runs in which a program loads a file; undefined where it does in none. What a launch gives may name the file. */
export async function runsOfData<C extends ConfigReading>(
  uri: string,
  program: C,
  files: ParentSearch,
): Promise<ProgramRuns<C> | undefined> {
  const own = canonicalUri(uri);
  let first: C | undefined;
  const runs: RunFiles[] = [];
  for (const run of (await findRuns(program, files)).runs) {
    const config = await underLaunch(program, run, files);
    if (!config.whole?.parts.some((part) => part.uri === own)) continue;
    first ??= config;
    runs.push({
      root: run.above.length === 0 ? config : run.root,
      above: [...run.above, { config, link: linkTo(own, config) }],
    });
  }
  return first && { start: first, within: { runs, uses: runs.flatMap(({ above }) => above.at(-1) ?? []) } };
}

/** Where a program loads a file. */
function linkTo(uri: string, { document, whole }: ConfigReading): FileLink {
  const wanted = (whole?.document ?? document).program?.wanted ?? [];
  const request = wanted.find(({ path }) => fileName(path) === fileName(uri)) ?? wanted[0];
  const range = request?.range ?? document.root?.range;
  const start = { line: 0, character: 0 };
  return {
    path: request?.path ?? fileName(uri),
    range: range ?? { start, end: start },
    key: '',
    role: 'include',
  };
}

async function withoutLinked(
  config: ConfigReading,
  uses: readonly Use[],
  files: ParentSearch,
): Promise<readonly Use[]> {
  if (uses.length === 0) return uses;
  const { linked } = await followLinks(config, files);
  return uses.filter((use) => !linked.some(({ uri }) => uri === use.config.uri));
}

/** The files of one run in reading order, each with how it stands to the file at hand, and those of which nothing counts. */
export async function membersOf<C extends ConfigReading>(
  asIs: C,
  followed: Pick<FollowedLinks, 'linked' | 'unseen'>,
  run: RunFiles,
  files: ParentSearch,
): Promise<Pick<FollowedLinks, 'unseen'> & { readonly members: readonly Member[] }> {
  const config = await underLaunch(asIs, run, files);
  const self = canonicalUri(config.uri);
  const own = followed.linked;
  const fromRoot = run.above.length === 0 ? followed : await followLinks(run.root, files);
  const reached = fromRoot.linked;
  const order: ConfigReading[] = run.above.length === 0 ? [config] : [run.root];
  for (const other of [...reached, ...run.above.map((use) => use.config), config, ...own]) {
    const next = canonicalUri(other.uri) === self && !showsItself(other, config) ? config : other;
    const isThere = (known: ConfigReading) =>
      canonicalUri(known.uri) === canonicalUri(next.uri) && known.document.isShown === next.document.isShown;
    if (!order.some(isThere)) order.push(next);
  }
  const launches = run.above.flatMap((use) => (showsItself(use.config, config) ? use.config : []));
  const takers = await Promise.all([config, ...launches].map((taker) => takenIn(taker, files)));
  const overridden = new Set(takers.flatMap((taken) => [...taken]));
  const members = order.map((member) => ({ config: member, relation: relationOf(member) }));
  return { members, unseen: [...followed.unseen, ...fromRoot.unseen] };

  function relationOf(member: ConfigReading): Member['relation'] {
    const uri = canonicalUri(member.uri);
    if (uri === self && !showsItself(member, config)) return 'self';
    const level = run.above.findIndex((use) => canonicalUri(use.config.uri) === uri);
    if (level >= 0 && run.above.slice(level).every((use) => ROLES[use.link.role].overridden))
      return 'overrides';
    // A program that takes the file's values as arguments passes on what it makes of them.
    if (member.whole?.parts.some((part) => part.uri === self)) return 'overrides';
    return overridden.has(uri) ? 'overridden' : 'beside';
  }
}

/** A config that its launch gives other values, with them. */
async function underLaunch<C extends ConfigReading>(
  config: C,
  { above }: RunFiles,
  files: ParentSearch,
): Promise<C> {
  const use = above.at(-1);
  const { tree, choices } = use?.link.overrides ?? {};
  if (!use || !tree) return config;
  const chosen = await files.read(config.uri, config.dialect.id, choices);
  const whole = chosen?.whole ? { whole: chosen.whole } : {};
  return overlaid({ ...config, ...whole }, { uri: use.config.uri, tree });
}

/** Files that a config takes in, and that those take in. */
async function takenIn(config: ConfigReading, files: ParentSearch): Promise<ReadonlySet<string>> {
  const links = config.reading.links.filter(({ role }) => ROLES[role].overridden);
  if (links.length === 0) return new Set();
  const only = {
    ...config,
    reading: withChanges(config.reading, { links }),
  };
  const { links: resolved, linked } = await followLinks(only, files);
  const direct = resolved.flatMap(({ uri }) => uri ?? []);
  const inner = linked.filter(({ uri }) => direct.includes(uri));
  const deeper = await Promise.all(inner.map((next) => takenIn(next, files)));
  return new Set([...direct, ...deeper.flatMap((set) => [...set])]);
}

/**
 * What a file of the run states, with the weight that it has for the file at hand, `self`. A file that another one is merged with
 * states nothing by itself: the merged one does.
 */
export function factsOfMember({ config, relation }: Member, members: readonly Member[]): readonly Fact[] {
  if (relation === 'self') return [...config.reading.facts, ...config.directiveFacts];
  const own = canonicalUri(config.uri);
  const isPart = members.some(
    ({ config }) => config.whole?.parts.some(({ uri }) => uri === own) && !handsOn(config, own),
  );
  const facts = isPart ? factsOfLinked({ ...config, reading: NOTHING }) : factsOfLinked(config);
  if (relation !== 'overrides') return facts;
  const self = members.find((member) => member.relation === 'self')?.config.uri ?? '';
  return facts.map((stated) => {
    if (stated.origin.kind !== 'linked-file' || stated.origin.note === 'directive') return stated;
    const { location } = stated.origin;
    const here = location?.uri === canonicalUri(self);
    const origin = here
      ? { ...stated.origin, kind: 'file' as const, location: { ...location, uri: self } }
      : { ...stated.origin, kind: 'overriding-file' as const };
    return { ...stated, origin };
  });
}

/** Whether a program that looks into a file itself gives it to a framework as well, which reads it by its own rules. */
const handsOn = ({ reading }: ConfigReading, own: string) =>
  reading.links.some(
    ({ path, role }) => ROLES[role].family !== undefined && own.endsWith(`/${path.replace(/^(\.?\/)+/, '')}`),
  );

const NOTHING: Reading = { facts: [], links: [], problems: [], autos: [] };
