import type { Verdict } from '../estimate';
import { FIELDS, type FieldPath, type RunValues } from '../run/fields';
import { sameValue } from '../run/resolve';
import { type Estimated, tryChanges } from './changed-run';
import { type Knob, knobOf } from './knobs';
import { type RelativeTime, relativeTime } from './speed';

/** One neighbouring value and what it gives. */
export interface Neighbour {
  readonly label: string;
  readonly changes: RunValues;
  /** Where the run stands now. */
  readonly current: boolean;
  /** Bytes of the process at the peak, one GPU. */
  readonly peakBytes: number;
  readonly capacityBytes: number;
  readonly verdict: Verdict;
  /** Time per token against the present run; undefined where it is not known. */
  readonly relativeTime?: RelativeTime;
  /** Host memory of a node does not suffice. */
  readonly hostExceeds: boolean;
}

export interface WhatIf {
  readonly field: FieldPath;
  readonly name: string;
  readonly neighbours: readonly Neighbour[];
  readonly doesNot?: string;
  readonly costs?: string;
}

/** More rows than this are no table for a glance. */
const MOST = 7;

const kept = new WeakMap<Estimated, Map<FieldPath, WhatIf | undefined>>();

/**
 * The neighbouring values of a field, each estimated by the engine itself; undefined where the field is no knob of this run.
 * At most seven estimates, remembered per analysis.
 */
export function whatIf(analysis: Estimated, field: FieldPath): WhatIf | undefined {
  const known = kept.get(analysis) ?? new Map<FieldPath, WhatIf | undefined>();
  kept.set(analysis, known);
  if (known.has(field)) return known.get(field);
  const knob = knobOf(field);
  const table = knob && tableOf(analysis, knob);
  known.set(field, table);
  return table;
}

function tableOf(analysis: Estimated, knob: Knob): WhatIf | undefined {
  const { run } = analysis.resolved;
  if (!run) return undefined;
  const present = { estimate: analysis.estimate };
  const neighbours = knob
    .settings(analysis)
    .slice(0, MOST)
    .flatMap(({ label, changes }): Neighbour[] => {
      const current = Object.entries(changes).every(([field, value]) =>
        sameValue(run[field as FieldPath], value),
      );
      const trial = current ? present : tryChanges(analysis, changes);
      if (!trial) return [];
      const { verdict, peak, capacityBytes, host } = trial.estimate;
      return [
        {
          label,
          changes,
          current,
          peakBytes: peak.processBytes,
          capacityBytes,
          verdict,
          relativeTime: relativeTime(trial, present),
          hostExceeds: host.verdict === 'exceeds',
        },
      ];
    });
  if (neighbours.length < 2) return undefined;
  return { field: knob.field, name: knob.name, neighbours, doesNot: knob.doesNot?.(run), costs: knob.costs };
}

/** The first of some fields that is a knob of this run: keys may set several. */
export function whatIfOfFields(analysis: Estimated, fields: readonly FieldPath[]): WhatIf | undefined {
  for (const field of fields) {
    const table = Object.hasOwn(FIELDS, field) ? whatIf(analysis, field) : undefined;
    if (table) return table;
  }
  return undefined;
}
