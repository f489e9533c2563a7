import type { Estimated } from '../advice/changed-run';
import type { NamedRequest } from '../explanation/named-requests';
import type { AllocationPhase, PhaseBytes } from '../measured/allocation-phase';
import type { AliveCall, MemorySnapshot } from '../measured/memory-snapshot';
import { cluesOf } from './oom/clues';
import { supportOf } from './oom/matches';
import { requestsOf } from './oom/requests-of-run';

/** A snapshot's level over its record, by the phase that asked for it, and what was alive at its highest point. */
export interface MeasuredTimeline {
  readonly device: number;
  readonly points: readonly MeasuredPoint[];
  readonly alive: readonly JoinedCall[];
  /** Alive at the highest point from before the record: no call is known of it. */
  readonly olderBytes: number;
}

interface MeasuredPoint {
  readonly bytes: number;
  readonly phases: PhaseBytes;
}

/** What a call of the person's code asked for, and what of the estimate's walk it may be. */
interface JoinedCall {
  readonly call: string;
  readonly phase: AllocationPhase;
  readonly bytes: number;
  readonly blocks: number;
  readonly blockBytes: number;
  /** For people, the likeliest first: `result of mlp.gate proj`. Empty: nothing of the walk has that size. */
  readonly tensors: readonly string[];
}

const MOST_POINTS = 240;
const MOST_CALLS = 12;
const MOST_TENSORS = 2;
/** Sizes that so many tensors have that a size alone joins nothing. Bytes. */
const SMALLEST_JOINED = 2 ** 20;

/** Puts a snapshot under the estimate of its run: where sizes and calls agree, calls get the names that the walk has. */
export function measuredTimeline(snapshot: MemorySnapshot, analysis: Estimated): MeasuredTimeline {
  const requests = requestsOf(analysis)?.requests ?? [];
  return {
    device: snapshot.device,
    points: highestOf(snapshot.course.map(({ allocatedBytes: bytes, phases }) => ({ bytes, phases }))),
    alive: snapshot.alive.slice(0, MOST_CALLS).map((one) => ({
      ...one,
      tensors: joinedWith(one, requests),
    })),
    olderBytes: snapshot.olderBytes,
  };
}

/** The highest of each stretch, where there are many. */
function highestOf(points: readonly MeasuredPoint[]): MeasuredPoint[] {
  const stride = Math.ceil(points.length / MOST_POINTS);
  if (stride <= 1) return [...points];
  return Array.from({ length: Math.ceil(points.length / stride) }, (_, index) =>
    points
      .slice(index * stride, (index + 1) * stride)
      .reduce((highest, point) => (point.bytes > highest.bytes ? point : highest)),
  );
}

/** The caching allocator rounds sizes up to so many bytes (`c10/cuda/CUDACachingAllocator.cpp`, `kMinBlockSize`). */
const BLOCK = 512;

function joinedWith({ call, phase, blockBytes }: AliveCall, requests: readonly NamedRequest[]): string[] {
  if (blockBytes < SMALLEST_JOINED) return [];
  const [, file = '', name = ''] = /^(.*):\d+ (.*)$/.exec(call) ?? [];
  const clues = cluesOf([{ file, line: 0, function: name }]);
  const moment = { forward: 'forward', backward: 'backward', optimizer: 'optimizer-step' } as const;
  const stated =
    phase === 'forward' || phase === 'backward' || phase === 'optimizer' ? moment[phase] : undefined;
  const found = requests
    .filter(({ bytes }) => Math.ceil(bytes / BLOCK) * BLOCK === blockBytes)
    .map((request) => ({
      request,
      support: supportOf(request, { ...clues, ...(stated ? { moment: stated } : {}) }),
    }))
    .filter(({ support }) => support >= 0)
    .sort((a, b) => b.support - a.support);
  return [...new Set(found.map(({ request }) => request.name))].slice(0, MOST_TENSORS);
}
