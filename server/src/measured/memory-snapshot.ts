import { say } from '../wording/say';
import { type AllocationPhase, type PhaseBytes, phaseOfCalls, settledPhases } from './allocation-phase';
import { DumpRefusal, type ReadBytes } from './byte-stream';
import { isDict, type Plain, readPlainPickle, type StandIn } from './plain-pickle';
import { readStreamedJson } from './streamed-json';

/**
 * A snapshot of PyTorch's allocator (`torch.cuda.memory._dump_snapshot`), read as plain data: the level over its recorded
 * events, and what was alive at the highest point. Bytes of one GPU.
 */
export interface MemorySnapshot {
  readonly device: number;
  readonly events: number;
  /** In tensors, at most and at the end. */
  readonly peakAllocatedBytes: number;
  readonly lastAllocatedBytes: number;
  readonly peakReservedBytes: number;
  /** In order, the highest of each stretch. */
  readonly course: readonly {
    readonly event: number;
    readonly allocatedBytes: number;
    readonly reservedBytes: number;
    /** What of the allocated bytes was asked for in which phase. */
    readonly phases: PhaseBytes;
  }[];
  /** What was alive at the highest point, by the call that asked for it, largest first. */
  readonly alive: readonly AliveCall[];
  /** Of it from before the first event that is recorded. */
  readonly olderBytes: number;
  /** Requests that failed. */
  readonly failed: readonly { readonly bytes: number; readonly freeBytes?: number }[];
  readonly allocatorSettings?: Readonly<Record<string, Plain>>;
}

/** Blocks that one call asked for. */
export interface AliveCall {
  readonly call: string;
  readonly phase: AllocationPhase;
  readonly bytes: number;
  readonly blocks: number;
  /** Of one of them: blocks of another size stand by themselves. */
  readonly blockBytes: number;
}

const POINTS = 600;
const MOST_ALIVE = 40;
const MOST_FAILED = 32;

type Action = 'alloc' | 'free' | 'reserve' | 'return' | 'oom';
const ACTIONS: Readonly<Record<string, Action>> = {
  alloc: 'alloc',
  free_completed: 'free',
  segment_alloc: 'reserve',
  segment_map: 'reserve',
  segment_free: 'return',
  segment_unmap: 'return',
  oom: 'oom',
};

interface Event {
  readonly action: Action;
  readonly address: number;
  readonly bytes: number;
  readonly call: Call;
  readonly freeBytes?: number;
}

/** The innermost call of a person's code, and the phase that all calls tell of. */
interface Call {
  readonly words: string;
  readonly phase: AllocationPhase;
}

interface Block {
  readonly bytes: number;
  readonly call: Call;
}

interface Point {
  readonly event: number;
  readonly allocated: number;
  readonly reserved: number;
  readonly phases: PhaseBytes;
}

/** The level of one device, event by event. */
class Course {
  events = 0;
  allocated = 0;
  reserved = 0;
  highest = 0;
  highestReserved = 0;
  /** Of some request that succeeded it is known who called. */
  hasCalls = false;
  points: Point[] = [];
  readonly failed: { bytes: number; freeBytes?: number }[] = [];
  readonly #live = new Map<number, Block>();
  /** What changed since the highest point: what was alive there follows, without a look back. */
  #cameSince = new Set<number>();
  #wentSince: Block[] = [];
  #phases: Record<AllocationPhase, number> = {
    older: 0,
    forward: 0,
    backward: 0,
    optimizer: 0,
    other: 0,
    uncalled: 0,
  };
  #stride = 1;

  add({ action, address, bytes, call, freeBytes }: Event): void {
    if (action === 'alloc') this.#allocate(address, bytes, call);
    else if (action === 'free') this.#free(address, bytes);
    else if (action === 'reserve') this.reserved += bytes;
    else if (action === 'return') this.reserved -= bytes;
    else if (this.failed.length < MOST_FAILED)
      this.failed.push({ bytes, ...(freeBytes === undefined ? {} : { freeBytes }) });
    if (this.allocated > this.highest || this.events === 0) {
      this.highest = this.allocated;
      this.#cameSince = new Set();
      this.#wentSince = [];
    }
    if (this.reserved > this.highestReserved) this.highestReserved = this.reserved;
    this.#point();
    this.events++;
  }

  /** Recorded blocks that were alive at the highest point. */
  aliveAtHighest(): Block[] {
    const stayed = [...this.#live].filter(([address]) => !this.#cameSince.has(address));
    return [...stayed.map(([, block]) => block), ...this.#wentSince];
  }

  #allocate(address: number, bytes: number, call: Call): void {
    this.allocated += bytes;
    this.#phases[call.phase] += bytes;
    this.hasCalls ||= call.phase !== 'uncalled';
    this.#live.set(address, { bytes, call });
    this.#cameSince.add(address);
  }

  #free(address: number, bytes: number): void {
    this.allocated -= bytes;
    const block = this.#live.get(address);
    this.#phases[block?.call.phase ?? 'older'] -= bytes;
    this.#live.delete(address);
    if (!this.#cameSince.delete(address) && block) this.#wentSince.push(block);
  }

  #point(): void {
    const last = this.points.at(-1);
    const { events, allocated, reserved } = this;
    if (!last || Math.floor(events / this.#stride) > Math.floor(last.event / this.#stride))
      this.points.push({ event: events, allocated, reserved, phases: { ...this.#phases } });
    else if (allocated > last.allocated)
      this.points[this.points.length - 1] = {
        event: last.event,
        allocated,
        reserved,
        phases: { ...this.#phases },
      };
    if (this.points.length < 2 * POINTS) return;
    const pairs: typeof this.points = [];
    for (let i = 0; i < this.points.length; i += 2) {
      const [a, b] = [this.points[i], this.points[i + 1]];
      const higher = a && b && b.allocated > a.allocated ? b : a;
      if (a && higher) pairs.push({ ...higher, event: a.event });
    }
    this.points = pairs;
    this.#stride *= 2;
  }
}

/**
 * Reads a snapshot: a pickle of plain data, or the same as JSON. Its events are counted as they pass; what is kept is what is
 * alive, and a place for each that a pickle can refer to. Throws `DumpRefusal` where it is no snapshot, or holds more than
 * plain data.
 */
export function readSnapshot(read: ReadBytes): MemorySnapshot[] {
  const courses = new Map<Plain[], Course>();
  const root = readRoot(read, (event, list) => {
    let course = courses.get(list);
    if (!course) {
      course = new Course();
      courses.set(list, course);
    }
    course.add(event);
  });
  if (!isDict(root) || !Array.isArray(root.segments)) throw new DumpRefusal(say('it is no memory snapshot'));
  const traces = Array.isArray(root.device_traces) ? root.device_traces : [];
  const devices = new Set(
    root.segments.flatMap((segment) => (isDict(segment) ? [numberOf(segment.device)] : [])),
  );
  const found = [...courses].map(([list, course]) => snapshotOf(traces.indexOf(list), course, root));
  for (const device of devices) {
    if (!found.some((one) => one.device === device)) found.push(snapshotOf(device, new Course(), root));
  }
  return found.sort((a, b) => b.peakAllocatedBytes - a.peakAllocatedBytes);
}

function snapshotOf(device: number, course: Course, root: { readonly [key: string]: Plain }): MemorySnapshot {
  const segments = (Array.isArray(root.segments) ? root.segments : []).filter(
    (segment) => isDict(segment) && (device < 0 || numberOf(segment.device) === device),
  );
  const sum = (key: string) =>
    segments.reduce((all: number, one) => all + (isDict(one) ? numberOf(one[key]) : 0), 0);
  // The record may begin in the middle: the level before it is what is there at the end less what it changed.
  const last = sum('allocated_size');
  const older = last - course.allocated;
  const olderReserved = sum('total_size') - course.reserved;
  const live = course.aliveAtHighest();
  const byCall = new Map<Call, Map<number, number>>();
  for (const { call, bytes } of live) {
    const sizes = byCall.get(call) ?? new Map<number, number>();
    sizes.set(bytes, (sizes.get(bytes) ?? 0) + 1);
    byCall.set(call, sizes);
  }
  const recorded = live.reduce((all, { bytes }) => all + bytes, 0);
  const peak = older + course.highest;
  const settings = root.allocator_settings;
  return {
    device: Math.max(0, device),
    events: course.events,
    peakAllocatedBytes: Math.max(peak, last),
    lastAllocatedBytes: last,
    peakReservedBytes: olderReserved + course.highestReserved,
    course: course.points.map(({ event, allocated, reserved, phases }) => ({
      event,
      allocatedBytes: older + allocated,
      reservedBytes: olderReserved + reserved,
      phases: settledPhases({ ...phases, older: older + phases.older }, course.hasCalls),
    })),
    alive: [...byCall]
      .flatMap(([{ words, phase }, sizes]) =>
        [...sizes].map(([blockBytes, blocks]) => ({
          call: words,
          phase: phase !== 'uncalled' ? phase : course.hasCalls ? ('backward' as const) : ('other' as const),
          bytes: blockBytes * blocks,
          blocks,
          blockBytes,
        })),
      )
      .sort((a, b) => b.bytes - a.bytes)
      .slice(0, MOST_ALIVE),
    olderBytes: Math.max(0, peak - recorded),
    failed: course.failed,
    ...(isDict(settings) ? { allocatorSettings: settings } : {}),
  };
}

/** The snapshot without its events, which are handed out one by one with the list that they stand in. */
function readRoot(read: ReadBytes, each: (event: Event, list: Plain[]) => void): Plain {
  const calls = new Calls();
  const takes = (item: Plain, list: Plain[]) => {
    if (!isDict(item) || typeof item.action !== 'string') return undefined;
    const action = ACTIONS[item.action];
    const { call, standIns } = calls.of(item.frames);
    const freeBytes = typeof item.device_free === 'number' ? { freeBytes: item.device_free } : {};
    if (action)
      each({ action, address: numberOf(item.addr), bytes: numberOf(item.size), call, ...freeBytes }, list);
    return standIns;
  };
  const [first] = read(0, 1);
  const isJson = first === 0x7b || first === 0x20 || first === 0x0a;
  return isJson ? readStreamedJson(read, takes) : readPlainPickle(read, takes);
}

const NOTHING: readonly StandIn[] = [];
const NO_CALL = { call: { words: '', phase: 'uncalled' }, standIns: NOTHING } as const;

/** Calls by where they came from. An event's list of calls is let go of: one in its place states as much to the next event. */
class Calls {
  readonly #known = new Map<string, { readonly call: Call; readonly frames: Plain[] }>();
  readonly #of = new Map<Plain[], Call>();

  of(frames: Plain | undefined): { readonly call: Call; readonly standIns: readonly StandIn[] } {
    if (!Array.isArray(frames)) return NO_CALL;
    const reduced = this.#of.get(frames);
    if (reduced) return { call: reduced, standIns: NOTHING };
    const words = callOf(frames);
    const phase = phaseOfCalls(frames);
    const key = `${phase} ${words}`;
    let known = this.#known.get(key);
    if (!known) {
      known = { call: { words, phase }, frames: [] };
      this.#known.set(key, known);
      this.#of.set(known.frames, known.call);
    }
    return { call: known.call, standIns: [[frames, known.frames]] };
  }
}

const OWN = /[\\/]torch[\\/]|^<|^\?\?$/;

/** Files by name: a snapshot states each of them thousands of times. */
const files = new Map<string, 'foreign' | 'own' | 'other'>();
const MOST_FILES = 2 ** 16;

function kindOfFile(file: string): 'foreign' | 'own' | 'other' {
  const known = files.get(file);
  if (known) return known;
  const kind = !file.endsWith('.py') ? 'other' : OWN.test(file) ? 'own' : 'foreign';
  if (files.size < MOST_FILES) files.set(file, kind);
  return kind;
}

/** The innermost call of Python that is none of PyTorch's own, as people say it. */
function callOf(frames: Plain): string {
  if (!Array.isArray(frames)) return '';
  let own: Plain | undefined;
  for (const frame of frames) {
    if (!isDict(frame) || typeof frame.filename !== 'string') continue;
    const kind = kindOfFile(frame.filename);
    if (kind === 'foreign') return wordsOf(frame);
    if (kind === 'own') own ??= frame;
  }
  return isDict(own) ? wordsOf(own) : '';
}

function wordsOf(frame: { readonly [key: string]: Plain }): string {
  const file = String(frame.filename).split(/[\\/]/).slice(-2).join('/');
  return `${file}:${numberOf(frame.line)} ${String(frame.name)}`;
}

function numberOf(value: Plain | undefined): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}
