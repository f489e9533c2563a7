import { findAccelerator } from '../hardware/catalog';
import type { FieldPath, RunValues } from '../run/fields';
import type { Needs } from '../run/oldest-releases';
import type { Fact } from '../run/origin';
import { type Resolution, resolveRun, sameValue } from '../run/resolve';
import type { Member } from './member';
import { isAbout, type MeasuredEntry, type ProjectFile, plainValue } from './project-file';

/** A measurement that does not count, and in what the run is another than the one that was measured. */
export interface MovedMeasurement {
  readonly entry: MeasuredEntry;
  /** A field of the run, or a key of its config. */
  readonly field?: FieldPath;
  readonly key?: string;
  readonly was: unknown;
  readonly is: unknown;
}

/** A run with what was measured of runs like it. */
export interface WithMeasured {
  readonly resolution: Resolution;
  /** Measured facts that count. */
  readonly facts: readonly Fact[];
  readonly moved: readonly MovedMeasurement[];
}

/** Measurements of a project that are about a file of the run. */
export function measuredOf(
  project: ProjectFile | undefined,
  members: readonly Member[],
): readonly MeasuredEntry[] {
  if (!project) return [];
  return project.measured.filter(({ match }) =>
    members.some(({ config }) => isAbout(match, config.uri, project)),
  );
}

/** Joins statements, and those of measurements whose run this still is. */
export function resolvedWithMeasured(
  facts: readonly Fact[],
  entries: readonly MeasuredEntry[],
  members: readonly Member[],
  needs: Needs,
): WithMeasured {
  const alone = resolveRun(facts, needs);
  if (entries.length === 0) return { resolution: alone, facts: [], moved: [] };
  const kept: Fact[] = [];
  const moved: MovedMeasurement[] = [];
  for (const entry of entries) {
    const difference = differenceOf(entry, alone.values, members) ?? otherVersion(entry, alone);
    if (difference) moved.push({ entry, ...difference });
    else kept.push(...entry.facts);
  }
  if (kept.length === 0) return { resolution: alone, facts: kept, moved };
  return { resolution: resolveRun([...facts, ...kept], needs), facts: kept, moved };
}

type Difference = Omit<MovedMeasurement, 'entry'>;

function differenceOf(
  { when, keys }: MeasuredEntry,
  values: RunValues,
  members: readonly Member[],
): Difference | undefined {
  for (const [field, was] of Object.entries(when) as [FieldPath, unknown][]) {
    const is = values[field];
    if (!isAlike(field, was, is)) return { field, was, is };
  }
  for (const [key, was] of keys) {
    const stated = members.flatMap(({ config: { document } }) =>
      document.root?.kind === 'map' ? document.root.entries.filter((entry) => entry.key === key) : [],
    );
    if (stated.some(({ value }) => JSON.stringify(plainValue(value)) === was)) continue;
    const [other] = stated;
    return { key, was: JSON.parse(was), is: other && plainValue(other.value) };
  }
  return undefined;
}

/** Cards have several names. */
function isAlike(field: FieldPath, was: unknown, is: unknown): boolean {
  if (sameValue(was, is)) return true;
  if (field !== 'hardware.gpu' || typeof was !== 'string' || typeof is !== 'string') return false;
  const card = findAccelerator(was);
  return card !== undefined && card.name === findAccelerator(is)?.name;
}

/** Versions of a run that was made hold until the environment states that others are installed. */
function otherVersion({ facts }: MeasuredEntry, { winners }: Resolution): Difference | undefined {
  for (const { field, value } of facts) {
    const stated = field.startsWith('version.') ? winners.get(field) : undefined;
    if (stated?.origin.kind === 'environment' && !isSameVersion(String(value), String(stated.value)))
      return { field, was: value, is: stated.value };
  }
  return undefined;
}

/** `2.6.0+cu124` is `2.6`. */
function isSameVersion(one: string, other: string): boolean {
  const short = (version: string) => version.split(/[+.]/).slice(0, 2).join('.');
  return short(one) === short(other);
}
