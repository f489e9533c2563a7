import type { PyProgram } from '../../config/python/value';
import { remembered } from '../../memo/remembered';
import type { Versions } from '../../run/versions';
import { fileIn, PEFT, type Repository, TRANSFORMERS, TRL } from '../../sources/repositories';
import { isAtLeast } from '../../terms/version';
import type { Range } from '../../text/place';
import { say } from '../../wording/say';
import type { Draft } from '../draft';

/** Packages whose names were looked at, over their releases (`scripts/framework-keys/names.py`). */
interface NamesFile {
  readonly versions: readonly string[];
  /** Names that came, and names that are no more, by the first release with, or without them. */
  readonly since: Readonly<Record<string, string>>;
  readonly until: Readonly<Record<string, string>>;
}

export type NamedPackage = 'transformers' | 'trl' | 'peft';
export const NAMED_PACKAGES: readonly NamedPackage[] = ['transformers', 'trl', 'peft'];
const SOURCES: Readonly<Record<NamedPackage, readonly [Repository, string]>> = {
  transformers: [TRANSFORMERS, 'src/transformers/__init__.py'],
  trl: [TRL, 'trl/__init__.py'],
  peft: [PEFT, 'src/peft/__init__.py'],
};

/** Which of the releases that were looked at have a name: from the first of them on where `since` is not set, up to the newest without `last`. */
interface NamedReleases {
  /** First release with it, and the last one without it before. */
  readonly since?: { readonly first: string; readonly before: string };
  /** First release without it, and the last one that has it. */
  readonly until?: { readonly first: string; readonly last: string };
}

const tables = remembered<ReadonlyMap<string, NamedReleases>>(NAMED_PACKAGES.length);

/** Names of a package that not all of its releases have. */
export function releasedNames(name: NamedPackage): ReadonlyMap<string, NamedReleases> {
  return tables.of(name, () => {
    const file = require('../../../data/imported-names.json') as Readonly<Record<NamedPackage, NamesFile>>;
    const { versions, since, until } = file[name];
    const before = (version: string) => versions[versions.indexOf(version) - 1] ?? '';
    const found = new Map<string, NamedReleases>();
    for (const [first, names] of Object.entries(since))
      for (const one of names.split(' ')) found.set(one, { since: { first, before: before(first) } });
    for (const [first, names] of Object.entries(until))
      for (const one of names.split(' '))
        found.set(one, { ...found.get(one), until: { first, last: before(first) } });
    return found;
  });
}

const configs = remembered<ReadonlyMap<string, string>>(1);

/** The first release of transformers that has a type of models, where not all that were looked at have it: that of its config's name. */
export function modelSince(modelType: string | undefined): string | undefined {
  if (modelType === undefined) return undefined;
  const since = configs.of('transformers', () => {
    const rows = [...releasedNames('transformers')].flatMap(([name, releases]): [string, string][] =>
      name.endsWith('Config') && releases.since ? [[name.toLowerCase(), releases.since.first]] : [],
    );
    return new Map(rows);
  });
  return since.get(`${modelType.replace(/[_-]/g, '')}config`);
}

/** A name that a text takes of a package, whatever it does with it. */
interface TakenName {
  readonly of: NamedPackage;
  readonly name: string;
  readonly range: Range;
  readonly releases: NamedReleases;
}

/**
 * Names that the text takes of packages and that not all releases have: those that it imports whatever the case, and those by which it
 * calls something. What stands in a `try`, below a condition or in a function may never be imported.
 */
export function takenNames({ imports, calls }: Pick<PyProgram, 'imports' | 'calls'>): TakenName[] {
  const found: TakenName[] = [];
  const take = (module: string, name: string, range: Range) => {
    const of = NAMED_PACKAGES.find((one) => one === module);
    const releases = of && releasedNames(of).get(name);
    if (of && releases) found.push({ of, name, range, releases });
  };
  for (const { module, names, places, guarded } of imports) {
    if (guarded) continue;
    names.forEach((name, index) => {
      const range = places[index];
      if (range) take(module, name, range);
    });
  }
  for (const { callee, calleeRange, conditions, of } of calls) {
    const [module = '', name = ''] = callee.split('.');
    if (of === undefined && conditions.length === 0 && calleeRange.uri === undefined)
      take(module, name, calleeRange);
  }
  return found;
}

/** The oldest end that names set to a package's releases; undefined where others are newer than that. */
export function newestWithNames(
  names: readonly TakenName[],
  of: NamedPackage,
): (TakenName & { readonly last: string }) | undefined {
  const own = names.filter((one) => one.of === of);
  const [end] = own
    .flatMap((one) => (one.releases.until ? { ...one, last: one.releases.until.last } : []))
    .sort((a, b) => (a.last === b.last ? 0 : isAtLeast(a.last, b.last) ? 1 : -1));
  if (!end) return undefined;
  // No release has both: the file is of none, or something in it is not what it seems.
  const isTooNew = ({ releases: { since } }: TakenName) =>
    since !== undefined && isAtLeast(end.last, since.first) === false;
  return own.some(isTooNew) ? undefined : end;
}

/** Names that the release of a package that is known for sure does not have: the import stops there. */
export function checkImportedNames(program: PyProgram, draft: Draft, versions: Versions = {}): void {
  const reported = new Set<string>();
  for (const { of, name, range, releases } of takenNames(program)) {
    const known = versions[of];
    if (!known || known.source === 'assumed' || reported.has(`${of}.${name}`)) continue;
    const ends = [known.version, ...(known.oldest === undefined ? [] : [known.oldest])];
    const { since, until } = releases;
    const isGone = until && ends.every((version) => isAtLeast(version, until.first) === true);
    const isToCome = since && ends.every((version) => isAtLeast(since.before, version) === true);
    if (!isGone && !isToCome) continue;
    reported.add(`${of}.${name}`);
    const [repository, file] = SOURCES[of];
    const at = isGone ? until.first : (since?.first ?? '');
    draft.report(
      'imported-name',
      'warning',
      isGone
        ? say('`{0}` {1} has no `{2}`: {3} is the last release with it.', of, known.version, name, until.last)
        : say('`{0}` {1} has no `{2}`: {3} is the first release with it.', of, known.version, name, at),
      range,
      { source: fileIn({ ...repository, at: `v${at}` }, file) },
    );
  }
}
