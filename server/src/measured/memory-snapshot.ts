import { say } from '../wording/say';
import { isDict, PickleRefusal, type Plain, type ReadBytes, readPlainPickle } from './plain-pickle';

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
  }[];
  /** What was alive at the highest point, by the call that asked for it, largest first. */
  readonly alive: readonly { readonly call: string; readonly bytes: number; readonly blocks: number }[];
  /** Of it from before the first event that is recorded. */
  readonly olderBytes: number;
  /** Requests that failed. */
  readonly failed: readonly { readonly bytes: number; readonly freeBytes?: number }[];
  readonly allocatorSettings?: Readonly<Record<string, Plain>>;
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
  readonly call: string;
  readonly freeBytes?: number;
}

/** The level of one device, event by event. */
class Course {
  events = 0;
  allocated = 0;
  reserved = 0;
  highest = 0;
  highestAt = -1;
  highestReserved = 0;
  points: { event: number; allocated: number; reserved: number }[] = [];
  readonly failed: { bytes: number; freeBytes?: number }[] = [];
  #stride = 1;

  add({ action, bytes, freeBytes }: Event): void {
    if (action === 'alloc') this.allocated += bytes;
    else if (action === 'free') this.allocated -= bytes;
    else if (action === 'reserve') this.reserved += bytes;
    else if (action === 'return') this.reserved -= bytes;
    else if (this.failed.length < MOST_FAILED)
      this.failed.push({ bytes, ...(freeBytes === undefined ? {} : { freeBytes }) });
    if (this.allocated > this.highest || this.highestAt === -1) {
      this.highest = this.allocated;
      this.highestAt = this.events;
    }
    if (this.reserved > this.highestReserved) this.highestReserved = this.reserved;
    this.#point();
    this.events++;
  }

  #point(): void {
    const last = this.points.at(-1);
    const { events, allocated, reserved } = this;
    if (!last || Math.floor(events / this.#stride) > Math.floor(last.event / this.#stride))
      this.points.push({ event: events, allocated, reserved });
    else if (allocated > last.allocated)
      this.points[this.points.length - 1] = { event: last.event, allocated, reserved };
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
 * Reads a snapshot: a pickle of plain data, or the same as JSON. The file is gone through twice where something is recorded, and
 * only what is alive is kept, not its events. Throws `PickleRefusal` where it is no snapshot, or holds more than plain data.
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
  if (!isDict(root) || !Array.isArray(root.segments))
    throw new PickleRefusal(say('it is no memory snapshot'));
  const traces = Array.isArray(root.device_traces) ? root.device_traces : [];
  const alive = courses.size > 0 ? aliveAtPeaks(read, [...courses.values()]) : [];
  const devices = new Set(
    root.segments.flatMap((segment) => (isDict(segment) ? [numberOf(segment.device)] : [])),
  );
  const found = [...courses].map(([list, course], order) => {
    const device = traces.indexOf(list);
    return snapshotOf(device, course, alive[order] ?? new Map(), root);
  });
  for (const device of devices) {
    if (!found.some((one) => one.device === device))
      found.push(snapshotOf(device, new Course(), new Map(), root));
  }
  return found.sort((a, b) => b.peakAllocatedBytes - a.peakAllocatedBytes);
}

type Live = Map<number, Event>;

/** What of the recorded requests is alive at the highest point of each course. */
function aliveAtPeaks(read: ReadBytes, courses: readonly Course[]): Live[] {
  const order = new Map<Plain[], number>();
  const lives = courses.map((): { live: Live; seen: number } => ({ live: new Map(), seen: 0 }));
  readRoot(read, (event, list) => {
    const index = order.get(list) ?? order.size;
    order.set(list, index);
    const state = lives[index];
    if (!state || state.seen++ > (courses[index]?.highestAt ?? -1)) return;
    if (event.action === 'alloc') state.live.set(event.address, event);
    else if (event.action === 'free') state.live.delete(event.address);
  });
  return lives.map(({ live }) => live);
}

function snapshotOf(
  device: number,
  course: Course,
  live: Live,
  root: { readonly [key: string]: Plain },
): MemorySnapshot {
  const segments = (Array.isArray(root.segments) ? root.segments : []).filter(
    (segment) => isDict(segment) && (device < 0 || numberOf(segment.device) === device),
  );
  const sum = (key: string) =>
    segments.reduce((all: number, one) => all + (isDict(one) ? numberOf(one[key]) : 0), 0);
  // The record may begin in the middle: the level before it is what is there at the end less what it changed.
  const last = sum('allocated_size');
  const older = last - course.allocated;
  const olderReserved = sum('total_size') - course.reserved;
  const byCall = new Map<string, { bytes: number; blocks: number }>();
  for (const { call, bytes } of live.values()) {
    const known = byCall.get(call) ?? { bytes: 0, blocks: 0 };
    byCall.set(call, { bytes: known.bytes + bytes, blocks: known.blocks + 1 });
  }
  const recorded = [...live.values()].reduce((all, { bytes }) => all + bytes, 0);
  const peak = older + course.highest;
  const settings = root.allocator_settings;
  return {
    device: Math.max(0, device),
    events: course.events,
    peakAllocatedBytes: Math.max(peak, last),
    lastAllocatedBytes: last,
    peakReservedBytes: olderReserved + course.highestReserved,
    course: course.points.map(({ event, allocated, reserved }) => ({
      event,
      allocatedBytes: older + allocated,
      reservedBytes: olderReserved + reserved,
    })),
    alive: [...byCall]
      .map(([call, held]) => ({ call, ...held }))
      .sort((a, b) => b.bytes - a.bytes)
      .slice(0, MOST_ALIVE),
    olderBytes: Math.max(0, peak - recorded),
    failed: course.failed,
    ...(isDict(settings) ? { allocatorSettings: settings } : {}),
  };
}

/** The snapshot without its events, which are handed out one by one with the list that they stand in. */
function readRoot(read: ReadBytes, each: (event: Event, list: Plain[]) => void): Plain {
  const calls = new WeakMap<object, string>();
  const takes = (item: Plain, list: Plain[]) => {
    if (!isDict(item) || typeof item.action !== 'string') return false;
    const action = ACTIONS[item.action];
    const { frames } = item;
    let call = '';
    if (typeof frames === 'object' && frames !== null) {
      call = calls.get(frames) ?? callOf(frames);
      calls.set(frames, call);
    }
    const freeBytes = typeof item.device_free === 'number' ? { freeBytes: item.device_free } : {};
    if (action)
      each({ action, address: numberOf(item.addr), bytes: numberOf(item.size), call, ...freeBytes }, list);
    return true;
  };
  const [first] = read(0, 1);
  if (first !== 0x7b && first !== 0x20 && first !== 0x0a) return readPlainPickle(read, takes);
  return withoutEvents(jsonOf(read), takes);
}

/** As much text as fits into one string of V8. */
const LARGEST_JSON = 2 ** 28;

function jsonOf(read: ReadBytes): Plain {
  const decoder = new TextDecoder('utf-8');
  const pieces: string[] = [];
  const piece = 2 ** 22;
  for (let at = 0; ; at += piece) {
    const bytes = read(at, piece);
    pieces.push(decoder.decode(bytes, { stream: true }));
    if (bytes.length < piece) break;
    if (at > LARGEST_JSON) throw new PickleRefusal(say('it is too long for JSON: dump it as a pickle'));
  }
  try {
    return JSON.parse(pieces.join('')) as Plain;
  } catch {
    throw new PickleRefusal(say('it is no JSON'));
  }
}

function withoutEvents(root: Plain, takes: (item: Plain, list: Plain[]) => boolean): Plain {
  const traces = isDict(root) ? root.device_traces : undefined;
  if (isDict(root) && Array.isArray(traces)) {
    for (const trace of traces) if (Array.isArray(trace)) for (const item of trace) takes(item, trace);
  }
  return root;
}

const OWN = /[\\/]torch[\\/]|[\\/]site-packages[\\/]torch[\\/]|^<|^\?\?$/;

/** The innermost call of Python that is none of PyTorch's own, as people say it. */
function callOf(frames: Plain): string {
  if (!Array.isArray(frames)) return '';
  const python = frames.filter((frame) => isDict(frame) && /\.py$/.test(String(frame.filename)));
  const foreign = python.find((frame) => isDict(frame) && !OWN.test(String(frame.filename))) ?? python[0];
  if (!isDict(foreign)) return '';
  const file = String(foreign.filename).split(/[\\/]/).slice(-2).join('/');
  return `${file}:${numberOf(foreign.line)} ${String(foreign.name)}`;
}

function numberOf(value: Plain | undefined): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}
