import { speedPerToken } from '../advice/speed';
import { type EstimateInput, estimate } from '../estimate';
import { evenDataParallelSize } from '../run/derive';
import { FIELD_PATHS, FIELDS, type FieldPath, type FieldSpec, type TrainingRun } from '../run/fields';
import { sameValue } from '../run/resolve';
import { formatBytes, formatInteger } from '../wording/figures';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import { breakdownOf } from './breakdown';
import type { Comparison, Difference } from './protocol';

/** What a change costs: bytes per GPU at the peak, seconds of a step where the time is known, speed where the batch is another. */
export type Costly = Pick<Difference, 'bytes' | 'seconds' | 'speed'>;

/** Fields that make sense together alone: changed one by one they would be runs that nobody can start. */
const TOGETHER: readonly RegExp[] = [
  /^model\./,
  /^precision\./,
  /^(parallel\.data|zero\.stage|fsdp\.strategy)$/,
  /^(method\.kind|quantization\.)/,
  /^hardware\.(gpu|gpuMemory|instance)$/,
  /^hardware\.(gpus|nodes)$/,
];
/** The sides of the batch that follow from the others where a run does not state them. */
const FOLLOWING: Readonly<Partial<Record<FieldPath, (run: TrainingRun) => number>>> = {
  'batch.accumulation': (run) => Math.floor((run['batch.global'] ?? 0) / (run['batch.micro'] * copies(run))),
  'batch.global': (run) => run['batch.micro'] * run['batch.accumulation'] * copies(run),
};
const copies = (run: TrainingRun) => evenDataParallelSize(run) ?? 1;

/** Two runs side by side, and what makes the difference. Null where one of the two has no estimate. */
export function compareRuns(before: Analysis, after: Analysis): Comparison | null {
  const found = differencesOf(before, after);
  return found && { before: breakdownOf(before), after: breakdownOf(after), differences: found };
}

/**
 * What makes the difference between two runs: from `before` to `after` one group of fields is changed after the other and
 * each is estimated, so that the costs add up. Null where one of the two has no estimate.
 */
export function differencesOf(before: Analysis, after: Analysis): readonly Difference[] | null {
  const from = inputOf(before);
  const to = inputOf(after);
  if (!from || !to) return null;
  const isInferred = (field: FieldPath) =>
    [before, after].every(({ resolved }) => resolved.origins[field]?.kind === 'inferred');
  const following = FIELD_PATHS.filter((field) => FOLLOWING[field] && isInferred(field));
  return differences(from, to, following);
}

function inputOf({ resolved, model, accelerator, estimate: known }: Analysis): EstimateInput | undefined {
  return resolved.run && model && accelerator && known
    ? { run: resolved.run, model, accelerator }
    : undefined;
}

function differences(from: EstimateInput, to: EstimateInput, following: readonly FieldPath[]): Difference[] {
  const groups = new Map<string, FieldPath[]>();
  for (const field of FIELD_PATHS) {
    if (isSame(field, from.run, to.run) || following.includes(field)) continue;
    const name = String(TOGETHER.find((group) => group.test(field)) ?? field);
    groups.set(name, [...(groups.get(name) ?? []), field]);
  }
  let present = from;
  let last = estimate(from);
  const found: Difference[] = [];
  const change = (fields: readonly FieldPath[], run: TrainingRun): void => {
    present = {
      run,
      model: fields.some((field) => field.startsWith('model.')) ? to.model : present.model,
      accelerator: fields.some((field) => /^hardware\.gpu(Memory)?$/.test(field))
        ? to.accelerator
        : present.accelerator,
    };
    const next = estimate(present);
    found.push({
      fields,
      before: fields.map((field) => shown(field, from.run[field])).join(', '),
      after: fields.map((field) => shown(field, to.run[field])).join(', '),
      bytes: next.peak.processBytes - last.peak.processBytes,
      seconds: difference(last.compute.time?.stepSeconds.likely, next.compute.time?.stepSeconds.likely),
      speed: speedPerToken({ estimate: next }, { estimate: last }),
    });
    last = next;
  };
  for (const fields of groups.values()) {
    const run = withValues(present.run, fields, to.run);
    // What nobody states goes along with its cause instead of being one.
    const follow = following.map((field) => [field, FOLLOWING[field]?.(run) ?? 0] as const);
    change(fields, { ...run, ...Object.fromEntries(follow.filter(([, value]) => value >= 1)) });
  }
  const rest = following.filter((field) => !sameValue(present.run[field], to.run[field]));
  if (rest.length > 0) change(rest, withValues(present.run, rest, to.run));
  return found.sort((a, b) => Math.abs(b.bytes) - Math.abs(a.bytes));
}

/** Whether a field has the same value in two runs: `1.16` and `1.16.0` are one release (PEP 440, https://peps.python.org/pep-0440/#version-matching). */
function isSame(field: FieldPath, one: TrainingRun, other: TrainingRun): boolean {
  if (!field.startsWith('version.')) return sameValue(one[field], other[field]);
  const [a, b] = [one, other].map((run) => String(run[field]).replace(/(?:\.0)+$/, ''));
  return a === b;
}

/** A run with the values of another for these fields. */
function withValues(run: TrainingRun, fields: readonly FieldPath[], other: TrainingRun): TrainingRun {
  return { ...run, ...Object.fromEntries(fields.map((field) => [field, other[field]])) };
}

function difference(before: number | undefined, after: number | undefined): number | undefined {
  return before === undefined || after === undefined ? undefined : after - before;
}

function shown(field: FieldPath, value: unknown): string {
  const spec: FieldSpec = FIELDS[field];
  if (value === undefined) return say('unset');
  if (typeof value === 'number') {
    if (spec.type === 'integer' && spec.unit === 'bytes') return formatBytes(value);
    return Number.isInteger(value) ? formatInteger(value) : String(value);
  }
  if (Array.isArray(value)) return value.length === 0 ? say('none') : value.join(' ');
  return typeof value === 'object' ? say('given inline') : String(value);
}
