import type { Estimated } from '../advice/changed-run';
import { growthOf, type MeasuredKind, type Series } from '../measured/measurement';
import { leversOf } from '../memory/causes';
import type { Category, Estimate, Shares } from '../results/estimate';
import type { FieldPath } from '../run/fields';

/** A figure of a run beside the same of its estimate. Bytes of one GPU. */
export interface Compared {
  readonly source: string;
  readonly kind: MeasuredKind;
  readonly rank?: number;
  readonly step?: number;
  readonly line: number;
  readonly measuredBytes: number;
  /** What the printed figure may have been rounded from. */
  readonly measuredLowerBytes: number;
  readonly measuredUpperBytes: number;
  readonly estimatedBytes: number;
  /** Measured over estimated, less one: zero within what rounding hides. */
  readonly difference: number;
  /** Whether that lies within what the estimate is uncertain by. */
  readonly within: boolean;
}

/** A part of the estimate that is large enough to explain a difference, with the fields that shape it. */
interface Explaining {
  readonly category: Category;
  readonly bytes: number;
  readonly fields: readonly FieldPath[];
}

/** What nobody states and would move the estimate towards what was measured. */
interface OtherAnswer {
  readonly reason: string;
  readonly words?: string;
  readonly estimatedBytes: number;
}

/** A measured run beside its estimate. */
export interface ComparedRun {
  readonly compared: readonly Compared[];
  /** Figures that have no like in an estimate: levels of a moment, the machine's memory. */
  readonly others: readonly Series[];
  /** Where the comparison that counts lies outside: allocated before reserved before the process. */
  readonly farthest?: Compared;
  readonly parts: readonly Explaining[];
  readonly answers: readonly OtherAnswer[];
  /** Bytes by which memory grew over the steps. */
  readonly grewBytes: number;
}

/** What of a peak has the same meaning; several where the log does not say which it is. */
function likeOf({ peak }: Estimate, kind: MeasuredKind): readonly number[] {
  switch (kind) {
    // Blocks in use are tensors, and those that other streams have not let go of yet.
    case 'allocated':
    case 'active':
      return [peak.allocatedBytes];
    case 'reserved':
      return [peak.reservedBytes];
    case 'torch':
      return [peak.allocatedBytes, peak.reservedBytes];
    case 'process':
      return [peak.processBytes];
    default:
      return [];
  }
}

/** Whether a figure is the highest of training steps: not a level, nor the peak up to a moment before the first step. */
function isOfSteps({ peak, kind, highest }: Series): boolean {
  if (kind === 'process') return highest.moment === undefined;
  const before =
    highest.moment !== undefined && !/step|backward|train|iteration|update/i.test(highest.moment);
  return peak && !before;
}

const ORDER: readonly MeasuredKind[] = ['allocated', 'active', 'reserved', 'torch', 'process'];
const MOST_PARTS = 4;

/** Holds what was measured to the estimate, like with like: peaks of steps with the peak, of the rank with the highest figure. */
export function compareRun(series: readonly Series[], analysis: Estimated): ComparedRun {
  const { estimate } = analysis;
  const peaks = series.filter((one) => isOfSteps(one) && likeOf(estimate, one.kind).length > 0);
  const highest = ORDER.flatMap((kind) => {
    const own = peaks.filter((one) => one.kind === kind);
    // Sources reset their peaks at moments of their own: the run's is the highest that any of them reported.
    return own.sort((a, b) => b.highest.quantity.bytes - a.highest.quantity.bytes).slice(0, 1);
  });
  const compared = highest.map((one) => comparedWith(one, estimate));
  const farthest = compared.find(({ within }) => !within);
  const difference = farthest ? farthest.measuredBytes - farthest.estimatedBytes : 0;
  return {
    compared,
    others: series.filter((one) => !highest.includes(one)),
    ...(farthest ? { farthest } : {}),
    parts: farthest ? explaining(estimate, Math.abs(difference)) : [],
    answers: farthest ? answersTowards(analysis, difference) : [],
    grewBytes: Math.max(0, ...series.filter(({ kind }) => kind !== 'host').map(growthOf)),
  };
}

function comparedWith({ highest, kind, source, rank }: Series, estimate: Estimate): Compared {
  const { bytes, lowerBytes, upperBytes } = highest.quantity;
  const likes = likeOf(estimate, kind);
  const nearest = [...likes].sort((a, b) => Math.abs(a - bytes) - Math.abs(b - bytes))[0] ?? 0;
  const within =
    upperBytes >= Math.min(...likes) * (1 - sharesOf(estimate, kind).below) &&
    lowerBytes <= upperLike(estimate, kind, Math.max(...likes));
  return {
    source,
    kind,
    ...(rank === undefined ? {} : { rank }),
    ...(highest.step === undefined ? {} : { step: highest.step }),
    line: highest.line,
    measuredBytes: bytes,
    measuredLowerBytes: lowerBytes,
    measuredUpperBytes: upperBytes,
    estimatedBytes: nearest,
    difference: nearest >= lowerBytes && nearest <= upperBytes ? 0 : bytes / nearest - 1,
    within,
  };
}

/** The upper end of the process is the estimate's own; of its parts it is their share of the band. */
function upperLike(estimate: Estimate, kind: MeasuredKind, like: number): number {
  const upper = like * (1 + sharesOf(estimate, kind).above);
  return kind === 'process' ? Math.max(upper, estimate.peak.upperBytes) : upper;
}

/** The band of a meter: what a process holds is nearly what its allocator does. */
function sharesOf({ bands }: Estimate, kind: MeasuredKind): Shares {
  return kind === 'allocated' ? bands.allocated : bands.reserved;
}

/** Parts that are at least as large as half the difference, those nearest to it first. */
function explaining({ parts }: Estimate, difference: number): Explaining[] {
  return parts
    .filter(({ bytes }) => bytes >= difference / 2)
    .sort((a, b) => Math.abs(Math.log(a.bytes / difference)) - Math.abs(Math.log(b.bytes / difference)))
    .map(({ category, bytes }) => ({ category, bytes, fields: leversOf(category) }))
    .filter(({ fields }) => fields.length > 0)
    .slice(0, MOST_PARTS);
}

/** What would move the process's figure the right way, and by no more than twice as far. */
function answersTowards({ answers = [], estimate }: Estimated, difference: number): OtherAnswer[] {
  return answers.flatMap(({ reason, otherwise, estimate: other }) => {
    const move = (other?.processBytes ?? estimate.peak.processBytes) - estimate.peak.processBytes;
    if (!other || Math.sign(move) !== Math.sign(difference) || Math.abs(move) > 2 * Math.abs(difference))
      return [];
    return [
      { reason, ...(otherwise?.words ? { words: otherwise.words } : {}), estimatedBytes: other.processBytes },
    ];
  });
}
