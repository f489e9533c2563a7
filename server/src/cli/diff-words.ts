import { categoryLabel } from '../results/labels';
import {
  formatDollars,
  formatDuration,
  formatDurations,
  formatUsd,
  threeFigures,
} from '../results/time-labels';
import { fieldLabel } from '../run/field-labels';
import { formatBytes, formatBytesOf } from '../wording/figures';
import { say } from '../wording/say';
import { displayPath } from './report';
import { type DiffCause, isWorse, type RunDiff, type TreeDiff } from './run-diff';
import { runOutcome } from './run-outcome';

/** The most parts and causes that a run tells of; JSON has all. */
const MOST = 4;
/** Smaller changes are reported in JSON alone. */
const LEAST_BYTES = 2 ** 20;
const LEAST_SECONDS = 0.01;

/** A change of bytes with its sign, `+22.8 GiB`. */
function bytesChange(bytes: number): string {
  return `${bytes < 0 ? '−' : '+'}${formatBytes(Math.abs(bytes))}`;
}

/** `fits → does not fit`, or the one where nothing changed. */
export function outcomeChange({ before, after }: RunDiff): string {
  const first = before ? runOutcome(before) : '';
  const last = after ? runOutcome(after) : '';
  return first === '' || last === '' || first === last ? last || first : `${first} → ${last}`;
}

/** `61.2 GiB → 84.0 of 79.1 GiB (+22.8 GiB), 78.1 GiB to 86.0 GiB`: the band is that of the last; empty where nobody knows. */
export function peakChange({ before, after }: RunDiff): string {
  const run = after?.peak ? after : before;
  if (!run?.peak || run.capacityBytes === undefined) return '';
  const shown = formatBytesOf(run.peak.processBytes, run.capacityBytes);
  const { lowerBytes, upperBytes } = run.peak;
  const band = `, ${say('{0} to {1}', formatBytes(lowerBytes), formatBytes(upperBytes))}`;
  if (!before?.peak || !after?.peak) return `${shown}${band}`;
  const gained = after.peak.processBytes - before.peak.processBytes;
  return gained === 0
    ? `${shown}${band}`
    : `${formatBytes(before.peak.processBytes)} → ${shown} (${bytesChange(gained)})${band}`;
}

/** Time of a step and cost of the run where they changed, `step 834 ms → 12 s (9 to 14)`: the range is that of the last. */
export function timeChanges({ before, after }: RunDiff): string[] {
  const found: string[] = [];
  if (before?.stepSeconds !== undefined && after?.stepSeconds !== undefined) {
    const [first, last] = [formatDuration(before.stepSeconds), formatDuration(after.stepSeconds)];
    const band = after.stepSpread ? formatDurations(after.stepSpread) : last;
    if (first !== last) found.push(say('step {0} → {1}', first, band));
    // Of steps that hold other numbers of tokens the times alone mislead.
    if (before.tokensPerStep !== after.tokensPerStep) {
      const [few = '', many = ''] = [before, after].map(({ tokensPerStep = 0, stepSeconds = 0 }) =>
        threeFigures(tokensPerStep / stepSeconds),
      );
      found.push(say('{0} → {1} tokens/s', few, many));
    }
  }
  if (before?.costUsd !== undefined && after?.costUsd !== undefined) {
    const [first, last] = [formatUsd(before.costUsd), formatUsd(after.costUsd)];
    const band = after.costSpread ? formatDollars(after.costSpread) : last;
    if (first !== last) found.push(say('cost {0} → {1}', first, band));
  }
  return found;
}

/** Parts that changed most. */
export function partWords({ parts }: RunDiff): string {
  return parts
    .filter(({ bytes }) => Math.abs(bytes) >= LEAST_BYTES)
    .slice(0, MOST)
    .map(({ category, bytes }) => `${categoryLabel(category)} ${bytesChange(bytes)}`)
    .join(', ');
}

/** What made the difference: each field with its values, what it costs, and the key that states it. */
export function causeWords({ causes }: RunDiff, folder: string): { text: string; place: string }[] {
  return causes
    .filter(matters)
    .slice(0, MOST)
    .map((cause) => ({ text: causeText(cause), place: placeOf(cause, folder) }));
}

function matters({ bytes, seconds = 0 }: DiffCause): boolean {
  return Math.abs(bytes) >= LEAST_BYTES || Math.abs(seconds) >= LEAST_SECONDS;
}

function causeText({ fields, before, after, bytes, seconds = 0, speed }: DiffCause): string {
  const [first = ''] = fields;
  const more = fields.length > 1 ? ` ${say('and {0} more', fields.length - 1)}` : '';
  // Several values in a row say little.
  const values = fields.length > 2 ? '' : ` ${before} → ${after}`;
  const changes = [
    ...(Math.abs(bytes) >= LEAST_BYTES ? [bytesChange(bytes)] : []),
    ...(Math.abs(seconds) >= LEAST_SECONDS
      ? [say('step {0}', `${seconds < 0 ? '−' : '+'}${formatDuration(Math.abs(seconds))}`)]
      : []),
    ...(speed === undefined ? [] : [speed]),
  ];
  return `${fieldLabel(first)}${more}${values}: ${changes.join(', ')}`;
}

function placeOf({ key, assumed }: DiffCause, folder: string): string {
  if (key) return `${key.name}, ${displayPath(key.uri, folder)}:${key.line}`;
  return assumed ? say('assumed') : '';
}

/** The whole in a sentence. */
export function diffHeadline({ runs }: TreeDiff): string {
  const worse = runs.filter((run) => isWorse(run) && run.after?.verdict === 'exceeds').length;
  if (worse > 0)
    return say(
      '{0} {0|run does|runs do} not fit any more, or {0|is|are} new and {0|does|do} not fit.',
      worse,
    );
  const grown = runs.filter(isWorse).length;
  if (grown > 0) return say('{0} {0|run comes|runs come} out worse.', grown);
  if (runs.length === 0) return say('No run changes.');
  return say('{0} {0|run changes|runs change}, none for the worse.', runs.length);
}

/** What the files were held to: `Under transformers 5.23.0, trl 1.16.0:`; empty where two commits were compared. */
export function versionWords(versions: Readonly<Record<string, string>> | undefined): string {
  const words = Object.entries(versions ?? {}).map((version) => version.join(' '));
  return words.length === 0 ? '' : say('Under {0}:', words.join(', '));
}

/** What is not listed, counted. */
export function restWords({ equal, unknown }: TreeDiff): string {
  const words = [
    ...(equal > 0 ? [say('{0} {0|run|runs} unchanged', equal)] : []),
    ...(unknown > 0 ? [say('{0} without a verdict before and after', unknown)] : []),
  ];
  return words.join(', ');
}
