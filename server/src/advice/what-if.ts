import { rememberedOf } from '../memo/remembered';
import type { Verdict } from '../results/estimate';
import { FIELDS, type FieldPath, type RunValues } from '../run/fields';
import { sameValue } from '../run/resolve';
import { formatInteger } from '../wording/figures';
import { type Estimated, tryChanges } from './changed-run';
import { knobOf, type Lever, type Setting } from './knobs';
import { largestMicroBatch, MOST_SAMPLES } from './largest-batch';
import { type RelativeTime, relativeTime } from './speed';

/** One neighbouring value and what it gives. */
export interface Neighbour {
  readonly label: string;
  readonly changes: RunValues;
  /** Where the run stands now. */
  readonly current: boolean;
  /** Bytes of the process at the peak, one GPU. */
  readonly peakBytes: number;
  /** Of tensors at the peak: what `torch.cuda.max_memory_allocated` would report. */
  readonly allocatedBytes: number;
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
  /** There are no other values. */
  readonly isClosed?: boolean;
  readonly doesNot?: string;
  readonly costs?: string;
}

/** More rows than this are no table for a glance. */
const MOST = 7;

const kept = rememberedOf<Estimated, WhatIf | undefined>(Number.POSITIVE_INFINITY);

/**
 * The neighbouring values of a field, each estimated by the engine itself; undefined where the field is no knob of this run.
 * At most seven estimates, and those of the largest batch, remembered per analysis.
 */
export function whatIf(analysis: Estimated, field: FieldPath): WhatIf | undefined {
  return kept.of(analysis, field, () => {
    const knob = knobOf(field);
    return knob && tableOf(analysis, knob);
  });
}

function tableOf(analysis: Estimated, knob: Lever): WhatIf | undefined {
  const { run } = analysis.resolved;
  if (!run) return undefined;
  const present = { estimate: analysis.estimate };
  const neighbours = settingsOf(analysis, knob)
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
          allocatedBytes: peak.allocatedBytes,
          capacityBytes,
          verdict,
          relativeTime: relativeTime(trial, present),
          hostExceeds: host.verdict === 'exceeds',
        },
      ];
    });
  if (neighbours.length < 2) return undefined;
  const { field, name, isClosed, costs } = knob;
  return { field, name, neighbours, isClosed, doesNot: knob.doesNot?.(run), costs };
}

/** The values of a knob; of the micro batch, the largest that fits is always among them. */
function settingsOf(analysis: Estimated, knob: Lever): readonly Setting[] {
  const settings = knob.settings(analysis);
  if (knob.field !== 'batch.micro') return settings;
  const { micro } = largestMicroBatch(analysis);
  const isThere = settings.some(({ changes }) => changes['batch.micro'] === micro);
  if (micro < 1 || micro >= MOST_SAMPLES || isThere) return settings;
  const boundary: Setting = { label: formatInteger(micro), changes: { 'batch.micro': micro } };
  return [...settings, boundary].sort(
    (a, b) => (a.changes['batch.micro'] ?? 0) - (b.changes['batch.micro'] ?? 0),
  );
}

/** The first of some fields that is a knob of this run: keys may set several. */
export function whatIfOfFields(analysis: Estimated, fields: readonly FieldPath[]): WhatIf | undefined {
  for (const field of fields) {
    const table = Object.hasOwn(FIELDS, field) ? whatIf(analysis, field) : undefined;
    if (table) return table;
  }
  return undefined;
}
