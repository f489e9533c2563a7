import type { Estimated } from '../../advice/changed-run';
import { tryChanges } from '../../advice/changed-run';
import type { OutOfMemory } from '../../measured/out-of-memory';
import type { Quantity } from '../../measured/quantity';
import type { TorchMessage } from '../../measured/torch-message';
import { leversOf } from '../../memory/causes';
import type { Category, Estimate, HostMemory, Moment } from '../../results/estimate';
import type { FieldPath } from '../../run/fields';
import { type Clues, cluesOf } from './clues';
import { type Matched, matchesOf } from './matches';
import { requestsOf } from './requests-of-run';
import { type Solution, solutionsOf } from './solutions';

/** Why memory ran out. */
type CauseKind =
  /** The run needs more than the card has. */
  | 'excess'
  /** Enough was free, in pieces that were too small. */
  | 'fragmentation'
  /** Somebody else is on the card. */
  | 'other-process'
  /** The process limits itself. */
  | 'process-limit'
  /** More is held than the run as stated would hold: other lengths, another batch, a leak, or another config. */
  | 'more-than-stated'
  /** Memory grew from step to step. */
  | 'leak'
  /** A moment around the steps needs more than they do. */
  | 'evaluation'
  | 'saving'
  | 'generation'
  /** What lies beside PyTorch's allocator found no room. */
  | 'outside-allocator'
  /** The machine's memory, not the card's. */
  | 'host'
  /** Nothing decides. */
  | 'undecided';

export interface Cause {
  readonly kind: CauseKind;
  /** Whether the figures prove it, or only speak for it. */
  readonly sure: boolean;
  /** What it comes to, bytes. */
  readonly bytes?: number;
}

/** Memory of the card as the message tells of it. Bytes. */
interface Occupied {
  readonly totalBytes: number;
  readonly freeBytes?: number;
  readonly allocatedBytes?: number;
  /** Held by the allocator beside tensors. */
  readonly unallocatedBytes?: number;
  /** The process's own beside its allocator: context, communicators, libraries. */
  readonly outsideBytes?: number;
  readonly othersBytes?: number;
  /** More is in use than the card has: the driver puts some of it into the machine's memory, as it does on Windows. */
  readonly spilled?: boolean;
}

/** What the run as stated would hold, where its config is known. */
export interface Expected {
  readonly estimate: Estimate;
  /** Most that is allocated at the moment of the message, by the estimate. */
  readonly allocatedThen?: number;
  /** Bytes in use and asked for beyond the highest allocated peak of the estimate, its uncertainty included. */
  readonly beyondBytes: number;
  /** The card of the message has another size than the one that the config names. */
  readonly otherCard: boolean;
}

/** All that is found out about one message. */
export interface Diagnosis {
  readonly message: OutOfMemory;
  readonly clues: Clues;
  /** The first explains it; the others add to it. */
  readonly causes: readonly Cause[];
  readonly occupied?: Occupied;
  readonly expected?: Expected;
  /** By the estimate, where it was the machine's own memory. */
  readonly host?: HostMemory;
  readonly matched?: Matched;
  readonly solutions: readonly Solution[];
  /** Run fields that shape what was asked for, the nearest lever first. */
  readonly fields: readonly FieldPath[];
}

/** What is known beside the message. */
interface Circumstances {
  /** The run that was launched; without one, only the message speaks. */
  readonly analysis?: Estimated;
  /** Growth of what was allocated over the steps of the log, bytes. */
  readonly grewBytes?: number;
}

const MIB = 2 ** 20;
const GIB = 2 ** 30;
/** Less than this of others is a display or a driver's own. */
const OTHERS_MATTER = 0.5 * GIB;
/** What a process may hold beside its allocator, where no run states it: context and communicators of eight GPUs. */
const OUTSIDE_AT_MOST = 4 * GIB;
/** Cards of one kind differ by what the driver keeps. */
const SAME_CARD = 0.04;

/** Explains one message. Throws nothing. */
export function diagnose(message: OutOfMemory, circumstances: Circumstances): Diagnosis {
  const clues = cluesOf(message.frames);
  const { torch, other } = message;
  const requested = torch?.requested ?? (other?.kind === 'tensorflow' ? other.requested : undefined);
  const era = torch?.era;
  const { analysis } = circumstances;
  const run = analysis && requested ? requestsOf(analysis) : undefined;
  const matched = run && requested ? matchesOf(run, requested, era, clues) : undefined;
  const expected = analysis && torch ? expectedOf(analysis, torch, clues.moment) : undefined;
  const unexplained = matched && !matched.tooSmall && !matched.matches.some(({ support }) => support >= 0);
  const solutions =
    analysis && run && requested && unexplained ? solutionsOf(analysis, run, requested, era, clues) : [];
  const occupied = torch && occupiedOf(torch);
  const shared = { message, clues, matched, solutions, ...(occupied ? { occupied } : {}) };
  return {
    ...shared,
    ...(expected ? { expected } : {}),
    ...(analysis && other?.kind === 'host' ? { host: analysis.estimate.host } : {}),
    causes: causesOf({ ...shared, expected }, circumstances),
    fields: fieldsOf(matched),
  };
}

function occupiedOf(torch: TorchMessage): Occupied | undefined {
  const { total, free, allocated, reserved, process } = torch;
  if (!total) return undefined;
  const present = (value: number | undefined, name: keyof Occupied) =>
    value === undefined ? {} : { [name]: Math.max(0, value) };
  const named = torch.others.reduce((sum, { bytes }) => sum + bytes.bytes, 0);
  const rest = free && process && total.bytes - free.bytes - process.bytes;
  return {
    totalBytes: total.bytes,
    ...present(free?.bytes, 'freeBytes'),
    ...present(allocated?.bytes, 'allocatedBytes'),
    ...present(reserved && allocated && reserved.bytes - allocated.bytes, 'unallocatedBytes'),
    ...present(process && reserved && process.bytes - reserved.bytes, 'outsideBytes'),
    // The driver keeps some of the card for itself: what is named counts where it is stated.
    ...present(named > 0 ? named : rest, 'othersBytes'),
    ...(process || named > 0 ? {} : present(beyondContext(torch), 'othersBytes')),
    ...(spilled(torch) ? { spilled: true } : {}),
  };
}

function spilled({ total, allocated }: TorchMessage): boolean {
  return total !== undefined && allocated !== undefined && allocated.lowerBytes > total.upperBytes;
}

/** Up to torch 2.0 the process's own context and other processes are one figure: more than any context is somebody else. */
function beyondContext({ total, free, reserved }: TorchMessage): number | undefined {
  if (!total || !free || !reserved) return undefined;
  const outside = total.lowerBytes - free.upperBytes - reserved.upperBytes;
  return outside > OUTSIDE_AT_MOST ? outside - OUTSIDE_AT_MOST : undefined;
}

function expectedOf(analysis: Estimated, torch: TorchMessage, moment: Moment | undefined): Expected {
  const { allocated, total } = torch;
  const stated = analysis.estimate;
  const otherCard =
    total !== undefined && Math.abs(total.bytes - stated.capacityBytes) > SAME_CARD * stated.capacityBytes;
  const estimate = (total && tryChanges(analysis, { 'hardware.gpuMemory': total.bytes })?.estimate) ?? stated;
  const then = estimate.timeline.filter((sample) => sample.moment === moment).map(({ bytes }) => bytes);
  const held = (allocated?.lowerBytes ?? 0) + lowerRequest(torch.requested);
  const most = estimate.peak.allocatedBytes * (1 + estimate.bands.allocated.above);
  return {
    estimate,
    ...(then.length > 0 ? { allocatedThen: Math.max(...then) } : {}),
    beyondBytes: allocated ? Math.max(0, Math.round(held - most)) : 0,
    otherCard,
  };
}

/** A segment of 20 MiB is asked for a tensor of 1 MiB. */
function lowerRequest(requested: Quantity): number {
  return requested.bytes <= 20 * MIB ? 0 : requested.lowerBytes - 2 * MIB;
}

type Found = Omit<Diagnosis, 'causes' | 'fields'>;

function causesOf(found: Found, { grewBytes }: Circumstances): Cause[] {
  const { message, clues, occupied, expected } = found;
  const { torch, other } = message;
  if (other?.kind === 'host') return [{ kind: 'host', sure: other.certain }];
  if (!torch) {
    const outside = other?.kind === 'nccl' || other?.kind === 'library' || other?.kind === 'bitsandbytes';
    return [{ kind: outside ? 'outside-allocator' : 'undecided', sure: outside && other.certain }];
  }
  const causes: Cause[] = [];
  const requested = torch.requested.bytes;
  const { freeBytes = 0, othersBytes = 0, unallocatedBytes = 0, totalBytes = 0 } = occupied ?? {};
  if (torch.allowed && freeBytes >= requested)
    causes.push({ kind: 'process-limit', sure: true, bytes: torch.allowed.bytes });
  if (othersBytes >= OTHERS_MATTER && requested <= freeBytes + othersBytes)
    causes.push({ kind: 'other-process', sure: torch.process !== undefined, bytes: othersBytes });
  if (unallocatedBytes >= requested && unallocatedBytes >= 0.03 * totalBytes)
    causes.push({ kind: 'fragmentation', sure: true, bytes: unallocatedBytes });
  if (grewBytes !== undefined && grewBytes > 0) causes.push({ kind: 'leak', sure: false, bytes: grewBytes });
  const around = clues.moment;
  if (around === 'evaluation' || around === 'saving' || around === 'generation')
    causes.push({ kind: around, sure: true });
  if (expected && expected.beyondBytes > 0)
    causes.push({ kind: 'more-than-stated', sure: false, bytes: expected.beyondBytes });
  else if (expected?.estimate.verdict === 'exceeds') causes.push({ kind: 'excess', sure: true });
  else if (expected?.estimate.verdict === 'tight') causes.push({ kind: 'excess', sure: false });
  else if (causes.length === 0 && alone(occupied, requested))
    causes.push({ kind: 'excess', sure: expected === undefined });
  if (causes.length === 0) return [{ kind: 'undecided', sure: false }];
  return [...causes.filter(({ sure }) => sure), ...causes.filter(({ sure }) => !sure)];
}

/** Whether tensors and what is asked for come to more than the card has, whoever else may be on it. */
function alone(occupied: Occupied | undefined, requested: number): boolean {
  if (occupied?.allocatedBytes === undefined) return false;
  return occupied.allocatedBytes + requested > 0.9 * occupied.totalBytes;
}

function fieldsOf(matched: Matched | undefined): FieldPath[] {
  const [best] = matched?.matches ?? [];
  const category: Category | undefined = best?.request.category;
  return category ? [...leversOf(category)] : [];
}
