import { speedPerToken } from '../advice/speed';
import type { Estimate } from '../results/estimate';
import { outcomeLabel } from '../results/labels';
import { formatDuration } from '../results/time-labels';
import { fieldLabel } from '../run/field-labels';
import type { FieldPath } from '../run/fields';
import type { Range } from '../text/place';
import { canonicalUri } from '../text/uri';
import { formatBytes, formatBytesOf, formatInteger } from '../wording/figures';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import { type Costly, differencesOf } from './compare';
import type { ChangeCost, CostAtKey } from './protocol';

/** Smaller changes are noise beside what a run weighs. */
const LEAST_BYTES = 2 ** 20;
const LEAST_SECONDS = 0.01;

/**
 * What changes of one file's text cost a run that reads it: as a whole, and behind each key there that states another value. Null where one
 * of the two has no estimate, or where nothing changes for the run.
 */
export function changeCost(before: Analysis, after: Analysis, file = after.uri): ChangeCost | null {
  const found = differencesOf(before, after);
  if (!found || !before.estimate || !after.estimate) return null;
  const total = {
    bytes: after.estimate.peak.processBytes - before.estimate.peak.processBytes,
    seconds: difference(secondsOf(before.estimate), secondsOf(after.estimate)),
    speed: speedPerToken({ estimate: after.estimate }, { estimate: before.estimate }),
  };
  const turned = turnOf(before.estimate, after.estimate);
  const words = [costWords(total), batchTurn(before, after)].filter((word) => word).join(', ');
  if (words === '' && turned === undefined) return null;
  const whole = [words, turned].filter((word) => word).join(', ');
  const at = found.flatMap((one): (CostAtKey & { readonly time: string })[] => {
    const cost = costWords(one);
    const place = placeOf(one.fields, after, file) ?? placeOf(one.fields, before, file);
    if (cost === '' || !place) return [];
    const value = say('{0}: {1} → {2}', fieldLabel(one.fields[0] as FieldPath), one.before, one.after);
    const lines = [
      value,
      cost,
      ...(found.length > 1 ? [say('All changes: {0}', whole)] : turned ? [turned] : []),
      say('{0} → {1} per GPU', formatBytes(before.estimate?.peak.processBytes ?? 0), peakOf(after)),
    ];
    // Half of a diff has room for a few letters: the figure comes first, what becomes of the verdict next.
    const label = roughly(one.bytes);
    const time = shortTime(one);
    return [{ range: place.range, removed: place.of === before, bytes: one.bytes, label, time, lines }];
  });
  // The key that costs most tells what becomes of the verdict: in a diff there is no line of its own for it.
  const [heaviest] = [...at].sort((a, b) => Math.abs(b.bytes) - Math.abs(a.bytes));
  return {
    ...total,
    verdict: after.estimate.verdict,
    short: shortCost({ bytes: total.bytes }) || shortCost(total) || (turned ?? ''),
    words: whole,
    at: at.map(({ time, ...one }) => ({
      ...one,
      label: [one.label, one.range === heaviest?.range ? turned : '', time].filter((word) => word).join(', '),
    })),
  };
}

const peakOf = ({ estimate }: Analysis) =>
  estimate ? formatBytesOf(estimate.peak.processBytes, estimate.capacityBytes) : '';

const secondsOf = ({ compute }: Estimate) => compute.time?.stepSeconds.likely;

const difference = (before: number | undefined, after: number | undefined) =>
  before === undefined || after === undefined ? undefined : after - before;

/** `peak +27.8 GiB, step +4.2 s, 1.22× faster per token`; empty where none is worth a word. */
function costWords({ bytes, seconds = 0, speed = '' }: Costly): string {
  return [
    Math.abs(bytes) < LEAST_BYTES ? '' : say('peak {0}', signed(bytes, formatBytes)),
    Math.abs(seconds) < LEAST_SECONDS ? '' : say('step {0}', signed(seconds, formatDuration)),
    speed,
  ]
    .filter((word) => word !== '')
    .join(', ');
}

/** `+27.8 GiB, +4.2 s/step`. */
function shortCost(cost: Costly): string {
  const bytes = Math.abs(cost.bytes) < LEAST_BYTES ? '' : signed(cost.bytes, formatBytes);
  return [bytes, shortTime(cost)].filter((word) => word !== '').join(', ');
}

/** Of a step that holds another number of tokens the time alone misleads. */
function shortTime({ seconds = 0, speed }: Costly): string {
  if (speed !== undefined) return speed;
  return Math.abs(seconds) < LEAST_SECONDS ? '' : say('{0}/step', signed(seconds, formatDuration));
}

/** `+91 GiB`, `+2.4 GiB`: two figures are enough where there is little room. */
function roughly(bytes: number): string {
  if (Math.abs(bytes) < LEAST_BYTES) return '';
  if (Math.abs(bytes) < 10 * 2 ** 30) return signed(bytes, formatBytes);
  return signed(bytes, (size) => `${formatInteger(size / 2 ** 30)} ${say('GiB')}`);
}

const signed = (value: number, format: (value: number) => string) =>
  `${value < 0 ? '−' : '+'}${format(Math.abs(value))}`;

/** `fits → does not fit`; undefined where the verdict stays. */
function turnOf(before: Estimate, after: Estimate): string | undefined {
  const [old, now] = [outcomeLabel(before), outcomeLabel(after)];
  return old === now ? undefined : `${old} → ${now}`;
}

/** `global batch 16 → 64`; undefined where it stays, or nobody knows it. */
function batchTurn(before: Analysis, after: Analysis): string | undefined {
  const [old, now] = [before, after].map(({ resolved }) => resolved.run?.['batch.global']);
  return old === undefined || now === undefined || old === now
    ? undefined
    : say('global batch {0} → {1}', old, now);
}

/** Where a file of the run states the first of some fields that it states. */
function placeOf(
  fields: readonly FieldPath[],
  of: Analysis,
  file: string,
): { readonly of: Analysis; readonly range: Range } | undefined {
  for (const field of fields) {
    const { location, kind } = of.resolved.origins[field] ?? {};
    if (location && kind !== 'inferred' && canonicalUri(location.uri) === canonicalUri(file))
      return { of, range: location.range };
  }
  return undefined;
}
