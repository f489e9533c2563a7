import { type EstimateInput, estimate } from '../estimate';
import { FIELD_PATHS, FIELDS, type FieldPath, type FieldSpec, type TrainingRun } from '../run/fields';
import { sameValue } from '../run/resolve';
import { formatBytes, formatInteger } from '../wording/figures';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import { breakdownOf } from '../workspace/breakdown';
import type { Comparison, Difference } from './protocol';

/** Fields that make sense together alone: changed one by one they would be runs that nobody can start. */
const TOGETHER: readonly RegExp[] = [
  /^model\./,
  /^precision\./,
  /^(parallel\.data|zero\.stage|fsdp\.strategy)$/,
  /^(method\.kind|quantization\.)/,
  /^hardware\.(gpu|gpuMemory|instance)$/,
  /^hardware\.(gpus|nodes)$/,
];
/** Follow from others, or weigh nothing. */
const SILENT: ReadonlySet<FieldPath> = new Set<FieldPath>(['batch.global']);

/**
 * Two runs side by side, and what makes the difference: from `before` to `after` one group of fields is changed after the
 * other and each is estimated, so that the costs add up. Null where one of the two has no estimate.
 */
export function compare(before: Analysis, after: Analysis): Comparison | null {
  const from = inputOf(before);
  const to = inputOf(after);
  if (!from || !to) return null;
  return { before: breakdownOf(before), after: breakdownOf(after), differences: differences(from, to) };
}

function inputOf({ resolved, model, accelerator, estimate: known }: Analysis): EstimateInput | undefined {
  return resolved.run && model && accelerator && known
    ? { run: resolved.run, model, accelerator }
    : undefined;
}

function differences(from: EstimateInput, to: EstimateInput): Difference[] {
  const differing = FIELD_PATHS.filter((field) => !sameValue(from.run[field], to.run[field]));
  const groups = new Map<string, FieldPath[]>();
  for (const field of differing) {
    const name = String(TOGETHER.find((group) => group.test(field)) ?? field);
    groups.set(name, [...(groups.get(name) ?? []), field]);
  }
  let present = from;
  let last = estimate(from);
  const found: Difference[] = [];
  for (const fields of groups.values()) {
    const changed = Object.fromEntries(fields.map((field) => [field, to.run[field]]));
    present = {
      run: { ...present.run, ...changed } as TrainingRun,
      model: fields.some((field) => field.startsWith('model.')) ? to.model : present.model,
      accelerator: fields.some((field) => /^hardware\.gpu(Memory)?$/.test(field))
        ? to.accelerator
        : present.accelerator,
    };
    const next = estimate(present);
    const seconds = difference(last.compute.time?.stepSeconds.likely, next.compute.time?.stepSeconds.likely);
    const bytes = next.peak.processBytes - last.peak.processBytes;
    last = next;
    const told = fields.filter((field) => !SILENT.has(field));
    if (told.length === 0) continue;
    found.push({
      fields: told,
      before: told.map((field) => shown(field, from.run[field])).join(', '),
      after: told.map((field) => shown(field, to.run[field])).join(', '),
      bytes,
      seconds,
    });
  }
  return found.sort((a, b) => Math.abs(b.bytes) - Math.abs(a.bytes));
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
