const MIB = 2 ** 20;

/** Constants of `c10/cuda/CUDACachingAllocator.cpp`, the same from torch 1.x to 2.9. */
const ROUND = 512;
const SMALL_LIMIT = MIB;
const SMALL_SEGMENT = 2 * MIB;
const MEDIUM_LIMIT = 10 * MIB;
const MEDIUM_SEGMENT = 20 * MIB;
const LARGE_ROUND = 2 * MIB;

const NONE = -1;

/** What a request comes to in a segment of its own: large segments are rounded up and not split for the rest. */
export function segmentBytes(bytes: number): number {
  return bytes < MEDIUM_LIMIT ? bytes : Math.ceil(bytes / LARGE_ROUND) * LARGE_ROUND;
}

/** What a handed-out block is returned by. */
export type BlockId = number;

/**
 * PyTorch's caching allocator of one stream, on sizes alone: requests are rounded, taken from the smallest free block
 * that is large enough (the one at the lowest address among equals), which is split where enough is left; else a new
 * segment is reserved. Free neighbours merge; segments are kept until the card is full, then the wholly free ones are
 * given back.
 *
 * Blocks are rows of parallel arrays, and their numbers are used again: a step makes no objects.
 */
export class CachingAllocator {
  reserved = 0;
  peakReserved = 0;
  private readonly capacity: number;
  private readonly expandable: boolean;
  /** Last block of the growing segment. */
  private tail = NONE;
  private nextAddress = 0;

  private readonly size: number[] = [];
  private readonly address: number[] = [];
  private readonly before: BlockId[] = [];
  private readonly after: BlockId[] = [];
  private readonly free: boolean[] = [];
  private readonly small: boolean[] = [];
  /** Rows of blocks that are gone. */
  private readonly spare: BlockId[] = [];
  /** Free blocks by size, then address, smallest first. */
  private readonly smallFree: BlockId[] = [];
  private readonly largeFree: BlockId[] = [];

  constructor(capacity: number, expandable = false) {
    this.capacity = capacity;
    this.expandable = expandable;
  }

  /** Hands out a block for a request of this many bytes. */
  allocate(bytes: number): BlockId {
    const size = Math.max(ROUND, Math.ceil(bytes / ROUND) * ROUND);
    const small = size <= SMALL_LIMIT;
    const block = this.takeFree(size, small);
    this.split(block, size, small);
    this.free[block] = false;
    return block;
  }

  /** Takes a block back. */
  release(released: BlockId): void {
    let block = released;
    this.free[block] = true;
    const next = this.afterOf(block);
    if (next !== NONE && this.free[next]) {
      this.remove(next);
      this.absorb(block, next);
    }
    const previous = this.beforeOf(block);
    if (previous !== NONE && this.free[previous]) {
      this.remove(previous);
      this.absorb(previous, block);
      block = previous;
    }
    this.insert(block);
  }

  /** A block that is large enough, out of the free ones or new. */
  private takeFree(size: number, small: boolean): BlockId {
    const list = small ? this.smallFree : this.largeFree;
    let at = this.position(list, size, NONE);
    // What may grow counts as large as it may become: it is taken last (`get_free_block`).
    if (this.expandable && list[at] === this.tail && at + 1 < list.length) at++;
    const found = list[at];
    if (found === undefined) return this.segment(size, small);
    list.splice(at, 1);
    return found;
  }

  private split(block: BlockId, size: number, small: boolean): void {
    const rest = this.sizeOf(block) - size;
    if (small || this.expandable ? rest < ROUND : rest <= SMALL_LIMIT) return;
    const next = this.afterOf(block);
    const remainder = this.add(rest, (this.address[block] ?? 0) + size, small, block, next);
    if (next !== NONE) this.before[next] = remainder;
    this.after[block] = remainder;
    this.size[block] = size;
    if (this.tail === block) this.tail = remainder;
    this.free[remainder] = true;
    this.insert(remainder);
  }

  /** Makes a block take in the one after it. */
  private absorb(block: BlockId, next: BlockId): void {
    this.size[block] = this.sizeOf(block) + this.sizeOf(next);
    const beyond = this.afterOf(next);
    this.after[block] = beyond;
    if (beyond !== NONE) this.before[beyond] = block;
    if (this.tail === next) this.tail = block;
    this.spare.push(next);
  }

  private segment(size: number, small: boolean): BlockId {
    if (this.expandable && !small) return this.grow(size);
    const bytes = small ? SMALL_SEGMENT : size < MEDIUM_LIMIT ? MEDIUM_SEGMENT : segmentBytes(size);
    this.reserve(bytes);
    const address = this.nextAddress;
    this.nextAddress += bytes;
    return this.add(bytes, address, small, NONE, NONE);
  }

  /** An expandable segment grows at its end by pages of 20 MiB; a free block there is part of what is needed. */
  private grow(size: number): BlockId {
    const { tail } = this;
    const isFree = tail !== NONE && this.free[tail] === true;
    const there = isFree ? this.sizeOf(tail) : 0;
    const bytes = Math.ceil((size - there) / MEDIUM_SEGMENT) * MEDIUM_SEGMENT;
    this.reserve(bytes);
    const address = this.nextAddress;
    this.nextAddress += bytes;
    if (isFree && this.free[tail] && this.tail === tail) {
      this.remove(tail);
      this.size[tail] = this.sizeOf(tail) + bytes;
      return tail;
    }
    const block = this.add(bytes, address, false, this.tail, NONE);
    if (this.tail !== NONE) this.after[this.tail] = block;
    this.tail = block;
    return block;
  }

  private reserve(bytes: number): void {
    if (this.reserved + bytes > this.capacity) this.emptyCache();
    this.reserved += bytes;
    if (this.reserved > this.peakReserved) this.peakReserved = this.reserved;
  }

  /** Gives back to the device what is wholly free: segments, or in an expandable one the pages of free blocks. */
  private emptyCache(): void {
    for (const list of [this.smallFree, this.largeFree]) {
      const kept: BlockId[] = [];
      for (const block of list) {
        const whole = this.beforeOf(block) === NONE && this.afterOf(block) === NONE && block !== this.tail;
        if (whole) {
          this.reserved -= this.sizeOf(block);
          this.spare.push(block);
        } else if (this.expandable && !this.small[block] && block !== this.tail) {
          this.unmap(block, kept);
        } else kept.push(block);
      }
      list.splice(0, list.length, ...kept);
    }
  }

  /** Pages inside a free block go; what is left at its ends is too small to matter and stays out of use. */
  private unmap(block: BlockId, kept: BlockId[]): void {
    const pages = Math.floor(this.sizeOf(block) / MEDIUM_SEGMENT) * MEDIUM_SEGMENT;
    if (pages === 0) {
      kept.push(block);
      return;
    }
    this.reserved -= pages;
    this.free[block] = false;
  }

  private add(size: number, address: number, small: boolean, before: BlockId, after: BlockId): BlockId {
    const block = this.spare.pop() ?? this.size.length;
    this.size[block] = size;
    this.address[block] = address;
    this.small[block] = small;
    this.before[block] = before;
    this.after[block] = after;
    this.free[block] = false;
    return block;
  }

  private insert(block: BlockId): void {
    const list = this.small[block] ? this.smallFree : this.largeFree;
    list.splice(this.position(list, this.sizeOf(block), block), 0, block);
  }

  private remove(block: BlockId): void {
    const list = this.small[block] ? this.smallFree : this.largeFree;
    list.splice(this.position(list, this.sizeOf(block), block), 1);
  }

  /** Where a block of this size stands among the free ones; without a block, the first that is large enough. */
  private position(list: readonly BlockId[], size: number, block: BlockId): number {
    const address = block === NONE ? NONE : (this.address[block] ?? 0);
    let low = 0;
    let high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = list[middle] ?? 0;
      const difference = this.sizeOf(other) - size;
      if (difference < 0 || (difference === 0 && (this.address[other] ?? 0) < address)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private sizeOf(block: BlockId): number {
    return this.size[block] ?? 0;
  }

  private beforeOf(block: BlockId): BlockId {
    return this.before[block] ?? NONE;
  }

  private afterOf(block: BlockId): BlockId {
    return this.after[block] ?? NONE;
  }
}
