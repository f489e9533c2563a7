import least from '../../data/least-releases.json';
import { isAtLeast } from '../terms/version';
import type { FieldPath } from './fields';
import type { Fact } from './origin';

/** By the field of its version, the first release of a package that has what a run takes of it. */
export type Needs = Readonly<Partial<Record<FieldPath, string>>>;

type VersionField = Extract<FieldPath, `version.${string}`>;
type LeastReleases = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Packages with what their releases run with (`scripts/framework-keys/least_releases.py`), those first that others are no part of. */
const PACKAGES: readonly (readonly [VersionField, LeastReleases])[] = [
  ['version.trl', least.trl],
  ['version.peft', least.peft],
  ['version.liger', least['liger-kernel']],
  ['version.bitsandbytes', least.bitsandbytes],
  ['version.transformers', least.transformers],
  ['version.accelerate', least.accelerate],
];

/** The newer of two releases; the first where that is not known. */
export function newerOf(one: string | undefined, other: string): string {
  return one !== undefined && isAtLeast(other, one) !== true ? one : other;
}

/**
 * A range of releases begins no earlier than the first that has what the run takes of the package. Where its newest is older than that, it
 * stays as it is: the file runs with none of it, or something in it is not what it seems.
 */
export function raiseOldest(winners: Map<FieldPath, Fact>, needs: Needs): void {
  for (const [name, first] of Object.entries(needs)) {
    const field = name as FieldPath;
    const winner = winners.get(field);
    const oldest = winner?.origin.orElse;
    if (!winner || !field.startsWith('version.') || first === undefined || oldest === undefined) continue;
    if (isAtLeast(oldest, first) === true || isAtLeast(String(winner.value), first) !== true) continue;
    const { orElse: _, ...origin } = winner.origin;
    const isOne = isAtLeast(first, String(winner.value)) === true;
    winners.set(field, { ...winner, origin: isOne ? origin : { ...origin, orElse: first } } as Fact);
  }
}

/** The row of a release, or of the newest before it. */
function rowOf(rows: LeastReleases, release: string): Readonly<Record<string, string>> {
  const known = Object.keys(rows).findLast((row) => isAtLeast(release, row) === true);
  return (known === undefined ? undefined : rows[known]) ?? {};
}

/**
 * The oldest release that a run may have of a package: of a range its end, what is named, and of what nobody names the first that has what the
 * run takes of it. Undefined where nothing bounds it.
 */
function oldestOf(winner: Fact | undefined, need: string | undefined): string | undefined {
  if (!winner) return need;
  const { kind, orElse, pinned } = winner.origin;
  const isHead = kind === 'environment' && pinned === 'by-newest-release';
  const isOfNobody = pinned === undefined && (kind === 'default' || kind === 'inferred');
  const isOpen = orElse === undefined && (isHead || isOfNobody);
  const stated = isOpen ? undefined : (orElse ?? String(winner.value));
  // A range, or a release, that what is needed lies outside of stays as it is.
  const isIn = need !== undefined && isAtLeast(String(winner.value), need) === true;
  return isIn ? newerOf(stated, need) : stated;
}

/** What the oldest release that a run may have of each package needs of the others, beside what the run needs of them itself. */
export function neededByPackages(winners: ReadonlyMap<FieldPath, Fact>, own: Needs): Needs {
  const needs: Partial<Record<FieldPath, string>> = { ...own };
  for (const [field, rows] of PACKAGES) {
    const oldest = oldestOf(winners.get(field), needs[field]);
    if (oldest === undefined) continue;
    for (const [name, release] of Object.entries(rowOf(rows, oldest))) {
      const other = `version.${name}` as VersionField;
      needs[other] = newerOf(needs[other], release);
    }
  }
  return needs;
}
