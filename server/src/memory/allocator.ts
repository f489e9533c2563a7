const MIB = 2 ** 20;

/** Constants of `c10/cuda/CUDACachingAllocator.cpp` (torch 2.6). */
const ROUND = 512;
const SMALL_LIMIT = MIB;
const SMALL_SEGMENT = 2 * MIB;
const MEDIUM_LIMIT = 10 * MIB;
const MEDIUM_SEGMENT = 20 * MIB;
const LARGE_ROUND = 2 * MIB;

/** What a request comes to in a segment of its own: large segments are rounded up and not split for the rest. */
export function segmentBytes(bytes: number): number {
  return bytes < MEDIUM_LIMIT ? bytes : Math.ceil(bytes / LARGE_ROUND) * LARGE_ROUND;
}

/** A stretch of a segment, handed out or free. */
interface Block {
  size: number;
  free: boolean;
  readonly small: boolean;
  previous?: Block;
  next?: Block;
}

/**
 * PyTorch's caching allocator on sizes alone: requests are rounded, taken from the smallest free block that is large
 * enough, which is split where enough is left; else a new segment is reserved. Free neighbours merge; segments are kept
 * until the card is full, then the wholly free ones are given back.
 */
export class CachingAllocator {
  reserved = 0;
  peakReserved = 0;
  private readonly capacity: number;
  private readonly expandable: boolean;
  /** Last block of the growing segment. */
  private tail?: Block;
  /** Free blocks by size, smallest first. */
  private readonly smallFree: Block[] = [];
  private readonly largeFree: Block[] = [];
  /** Blocks in use by their requested size, newest last. */
  private readonly used = new Map<number, Block[]>();

  constructor(capacity: number, expandable = false) {
    this.capacity = capacity;
    this.expandable = expandable;
  }

  /** A request that is never returned. */
  hold(bytes: number): void {
    this.place(Math.ceil(bytes / ROUND) * ROUND);
  }

  allocate(bytes: number): void {
    const size = Math.max(ROUND, Math.ceil(bytes / ROUND) * ROUND);
    const block = this.place(size);
    const list = this.used.get(size);
    if (list) list.push(block);
    else this.used.set(size, [block]);
  }

  private place(size: number): Block {
    const small = size <= SMALL_LIMIT;
    const free = small ? this.smallFree : this.largeFree;
    const at = lowerBound(free, size);
    const found = free[at];
    let block: Block;
    if (found) {
      free.splice(at, 1);
      block = found;
    } else {
      block = this.segment(size, small);
    }
    const rest = block.size - size;
    if (small || this.expandable ? rest >= ROUND : rest > SMALL_LIMIT) {
      const remainder: Block = { size: rest, free: true, small, previous: block, next: block.next };
      if (block.next) block.next.previous = remainder;
      block.next = remainder;
      if (this.tail === block) this.tail = remainder;
      block.size = size;
      this.insert(remainder);
    }
    block.free = false;
    return block;
  }

  /** Frees the newest block that was handed out for a request of this size. */
  release(bytes: number): void {
    const size = Math.max(ROUND, Math.ceil(bytes / ROUND) * ROUND);
    const block = this.used.get(size)?.pop();
    if (block) this.giveBack(block);
  }

  /** Frees all that is handed out. */
  releaseAll(): void {
    for (const list of this.used.values()) {
      for (let block = list.pop(); block; block = list.pop()) this.giveBack(block);
    }
  }

  private giveBack(freed: Block): void {
    let block = freed;
    block.free = true;
    const { previous, next } = block;
    if (next?.free) {
      this.remove(next);
      block.size += next.size;
      block.next = next.next;
      if (next.next) next.next.previous = block;
      if (this.tail === next) this.tail = block;
    }
    if (previous?.free) {
      this.remove(previous);
      previous.size += block.size;
      previous.next = block.next;
      if (block.next) block.next.previous = previous;
      if (this.tail === block) this.tail = previous;
      block = previous;
    }
    this.insert(block);
  }

  /** An expandable segment grows at its end by pages of 20 MiB; a free block there is part of what is needed. */
  private grow(size: number): Block {
    const { tail } = this;
    const there = tail?.free ? tail.size : 0;
    const bytes = Math.ceil((size - there) / MEDIUM_SEGMENT) * MEDIUM_SEGMENT;
    this.reserved += bytes;
    this.peakReserved = Math.max(this.peakReserved, this.reserved);
    if (tail?.free) {
      this.remove(tail);
      tail.size += bytes;
      return tail;
    }
    const block: Block = { size: bytes, free: false, small: false, previous: tail };
    if (tail) tail.next = block;
    this.tail = block;
    return block;
  }

  private segment(size: number, small: boolean): Block {
    if (this.expandable && !small) return this.grow(size);
    const bytes = small
      ? SMALL_SEGMENT
      : size < MEDIUM_LIMIT
        ? MEDIUM_SEGMENT
        : Math.ceil(size / LARGE_ROUND) * LARGE_ROUND;
    if (this.reserved + bytes > this.capacity) this.emptyCache();
    this.reserved += bytes;
    this.peakReserved = Math.max(this.peakReserved, this.reserved);
    return { size: bytes, free: false, small };
  }

  /** Gives wholly free segments back to the device. */
  private emptyCache(): void {
    for (const free of [this.smallFree, this.largeFree]) {
      const kept = free.filter((block) => block.previous || block.next);
      for (const block of free) if (!block.previous && !block.next) this.reserved -= block.size;
      free.splice(0, free.length, ...kept);
    }
  }

  private insert(block: Block): void {
    const free = block.small ? this.smallFree : this.largeFree;
    free.splice(lowerBound(free, block.size), 0, block);
  }

  private remove(block: Block): void {
    const free = block.small ? this.smallFree : this.largeFree;
    for (let i = lowerBound(free, block.size); i < free.length; i++) {
      if (free[i] === block) {
        free.splice(i, 1);
        return;
      }
    }
  }
}

/** Index of the first free block of at least this size. */
function lowerBound(free: readonly Block[], size: number): number {
  let low = 0;
  let high = free.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((free[middle]?.size ?? 0) < size) low = middle + 1;
    else high = middle;
  }
  return low;
}
