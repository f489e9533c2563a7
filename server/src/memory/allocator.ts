const MIB = 2 ** 20;

/** Constants of `c10/cuda/CUDACachingAllocator.cpp`, the same from torch 1.x to 2.9. */
const ROUND = 512;
const SMALL_LIMIT = MIB;
const SMALL_SEGMENT = 2 * MIB;
const MEDIUM_LIMIT = 10 * MIB;
const MEDIUM_SEGMENT = 20 * MIB;
const LARGE_ROUND = 2 * MIB;

/** How much larger than a request a block may be that is not split (`max_non_split_rounding_size`). Bytes. */
const UNSPLIT_REST = 20 * MIB;

const NONE = -1;

/** Fewer entries than this are moved faster one by one than by a call. */
const FEW = 48;

/** Bytes that a request comes to in a segment of its own: large segments are rounded up and not split for the rest. */
export function segmentBytes(bytes: number): number {
  return bytes < MEDIUM_LIMIT ? bytes : Math.ceil(bytes / LARGE_ROUND) * LARGE_ROUND;
}

/** What a handed-out block is returned by. */
export type BlockId = number;

/**
 * Blocks of a pool that are free, smallest first; of equals, the one that was freed last comes first. Layers that are alike free
 * many blocks of few sizes: those of a size form a list, so that the sizes alone are searched and moved.
 */
class FreeBlocks {
  /** Sizes of which there are blocks, ascending, and of each the block that was freed last. */
  private count = 0;
  private sizes = new Float64Array(256);
  private newest = new Int32Array(256);
  /** The block of the same size that was freed before a block, and the one after it. */
  private older = new Int32Array(512);
  private newer = new Int32Array(512);

  clear(): void {
    this.count = 0;
  }

  /** Position of the first size that is at least this one. */
  find(size: number): number {
    const { sizes } = this;
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sizes[middle] ?? 0) < size) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The block of the size at a position that was freed last. */
  blockAt(position: number): BlockId {
    return position < this.count ? (this.newest[position] ?? NONE) : NONE;
  }

  /** The block that comes next after the first of a position. */
  secondAt(position: number): BlockId {
    const older = this.older[this.newest[position] ?? 0] ?? NONE;
    return older === NONE ? this.blockAt(position + 1) : older;
  }

  insert(size: number, block: BlockId): void {
    const at = this.find(size);
    if (block >= this.older.length) this.enlargeLists(block);
    this.newer[block] = NONE;
    if (at < this.count && this.sizes[at] === size) {
      const before = this.newest[at] ?? NONE;
      this.older[block] = before;
      this.newer[before] = block;
    } else {
      this.older[block] = NONE;
      this.open(at);
      this.sizes[at] = size;
    }
    this.newest[at] = block;
  }

  /** Takes out a block that is there. */
  remove(size: number, block: BlockId): void {
    const above = this.newer[block] ?? NONE;
    const below = this.older[block] ?? NONE;
    if (below !== NONE) this.newer[below] = above;
    if (above !== NONE) {
      this.older[above] = below;
      return;
    }
    const at = this.find(size);
    if (below === NONE) this.close(at);
    else this.newest[at] = below;
  }

  /** All blocks, the largest first; what comes of one may take it out. */
  forEach(visit: (block: BlockId) => void): void {
    for (let at = this.count - 1; at >= 0; at--) {
      let block = this.newest[at] ?? NONE;
      while (block !== NONE) {
        const next = this.older[block] ?? NONE;
        visit(block);
        block = next;
      }
    }
  }

  /** Makes room for a size. */
  private open(position: number): void {
    if (this.count === this.sizes.length) this.enlargeSizes();
    const { sizes, newest } = this;
    const end = this.count++;
    if (end - position > FEW) {
      sizes.copyWithin(position + 1, position, end);
      newest.copyWithin(position + 1, position, end);
      return;
    }
    for (let i = end; i > position; i--) {
      sizes[i] = sizes[i - 1] ?? 0;
      newest[i] = newest[i - 1] ?? NONE;
    }
  }

  /** Forgets a size of which there are no blocks any more. */
  private close(position: number): void {
    const { sizes, newest } = this;
    const end = --this.count;
    if (end - position > FEW) {
      sizes.copyWithin(position, position + 1, end + 1);
      newest.copyWithin(position, position + 1, end + 1);
      return;
    }
    for (let i = position; i < end; i++) {
      sizes[i] = sizes[i + 1] ?? 0;
      newest[i] = newest[i + 1] ?? NONE;
    }
  }

  private enlargeSizes(): void {
    const { sizes, newest } = this;
    this.sizes = enlarged(sizes, new Float64Array(2 * sizes.length));
    this.newest = enlarged(newest, new Int32Array(2 * newest.length));
  }

  private enlargeLists(block: BlockId): void {
    this.older = enlarged(this.older, new Int32Array(2 * block));
    this.newer = enlarged(this.newer, new Int32Array(2 * block));
  }
}

/**
 * PyTorch's caching allocator of one stream, on sizes alone: requests are rounded, taken from the smallest free block
 * that is large enough, which is split where enough is left; else a new segment is reserved. Free neighbours merge;
 * segments are kept until the card is full, then the wholly free ones are given back.
 *
 * Blocks are rows of parallel arrays, and their numbers are used again: a step makes no objects.
 */
export class CachingAllocator {
  reserved = 0;
  peakReserved = 0;
  private capacity: number;
  private expandable: boolean;
  private maxSplit: number;
  /** Last block of the growing segment. */
  private tail = NONE;

  // Room for the rows of a first few hundred blocks; it doubles.
  private size = new Float64Array(512);
  private before = new Int32Array(512);
  private after = new Int32Array(512);
  private free = new Uint8Array(512);
  private small = new Uint8Array(512);
  /** Rows that were ever in use; those of blocks that are gone form a list through `after`. */
  private rows = 0;
  private spare = NONE;
  private readonly smallFree = new FreeBlocks();
  private readonly largeFree = new FreeBlocks();

  /** `maxSplit`: bytes from which on blocks are handed out whole, and go to requests of about their size alone. */
  constructor(capacity: number, expandable = false, maxSplit = Number.POSITIVE_INFINITY) {
    this.capacity = capacity;
    this.expandable = expandable;
    this.maxSplit = maxSplit;
  }

  /** Forgets all that it handed out and reserved, to be used anew: its tables stay as large as they have become. */
  reset(capacity: number, expandable: boolean, maxSplit = Number.POSITIVE_INFINITY): void {
    this.capacity = capacity;
    this.expandable = expandable;
    this.maxSplit = maxSplit;
    this.reserved = 0;
    this.peakReserved = 0;
    this.tail = NONE;
    this.rows = 0;
    this.spare = NONE;
    this.smallFree.clear();
    this.largeFree.clear();
  }

  /** Hands out a block for a request of this many bytes, which stands for so many equal ones. */
  allocate(bytes: number, requests = 1): BlockId {
    const size = Math.max(ROUND, Math.ceil(bytes / ROUND) * ROUND);
    const small = size <= SMALL_LIMIT;
    const list = small ? this.smallFree : this.largeFree;
    const at = list.find(size);
    let found = list.blockAt(at);
    // What may grow counts as large as it may become: it is taken last (`get_free_block`).
    if (this.expandable && found !== NONE && found === this.tail) {
      const other = list.secondAt(at);
      if (other !== NONE) found = other;
    }
    const maxSplit = this.maxSplit * requests;
    if (found !== NONE && this.isTooLarge(this.size[found] ?? 0, size, maxSplit, requests)) found = NONE;
    if (found !== NONE) list.remove(this.size[found] ?? 0, found);
    const block = found === NONE ? this.segment(size, small) : found;
    const rest = (this.size[block] ?? 0) - size;
    if (small || this.expandable ? rest >= ROUND : rest > SMALL_LIMIT && size < maxSplit)
      list.insert(rest, this.split(block, size, rest, small));
    this.free[block] = 0;
    return block;
  }

  /** Whether a block is not for requests of a size: one that is not split, for others than those that fill it (`get_free_block`). */
  private isTooLarge(block: number, size: number, maxSplit: number, requests: number): boolean {
    return size < maxSplit ? block >= maxSplit : block >= size + UNSPLIT_REST * requests;
  }

  /** Takes a block back. */
  release(released: BlockId): void {
    let block = released;
    const list = this.small[block] ? this.smallFree : this.largeFree;
    this.free[block] = 1;
    const next = this.after[block] ?? NONE;
    const previous = this.before[block] ?? NONE;
    if (next !== NONE && this.free[next]) {
      list.remove(this.size[next] ?? 0, next);
      this.absorb(block, next);
    }
    if (previous !== NONE && this.free[previous]) {
      list.remove(this.size[previous] ?? 0, previous);
      this.absorb(previous, block);
      block = previous;
    }
    list.insert(this.size[block] ?? 0, block);
  }

  /** Cuts a block to a size; what is left of it is free, and its number is returned. */
  private split(block: BlockId, size: number, rest: number, small: boolean): BlockId {
    const next = this.after[block] ?? NONE;
    const remainder = this.add(rest, small, block, next);
    if (next !== NONE) this.before[next] = remainder;
    this.after[block] = remainder;
    this.size[block] = size;
    if (this.tail === block) this.tail = remainder;
    this.free[remainder] = 1;
    return remainder;
  }

  /** Makes a block take in the one after it. */
  private absorb(block: BlockId, next: BlockId): void {
    this.size[block] = (this.size[block] ?? 0) + (this.size[next] ?? 0);
    const beyond = this.after[next] ?? NONE;
    this.after[block] = beyond;
    if (beyond !== NONE) this.before[beyond] = block;
    if (this.tail === next) this.tail = block;
    this.discard(next);
  }

  private discard(block: BlockId): void {
    this.after[block] = this.spare;
    this.spare = block;
  }

  private segment(size: number, small: boolean): BlockId {
    if (this.expandable && !small) return this.grow(size);
    const bytes = small ? SMALL_SEGMENT : size < MEDIUM_LIMIT ? MEDIUM_SEGMENT : segmentBytes(size);
    this.reserve(bytes);
    return this.add(bytes, small, NONE, NONE);
  }

  /** An expandable segment grows at its end by pages of 20 MiB; a free block there is part of what is needed. */
  private grow(size: number): BlockId {
    const { tail } = this;
    const there = tail !== NONE && this.free[tail] ? (this.size[tail] ?? 0) : 0;
    const bytes = Math.max(0, Math.ceil((size - there) / MEDIUM_SEGMENT)) * MEDIUM_SEGMENT;
    this.reserve(bytes);
    if (there > 0) {
      this.largeFree.remove(there, tail);
      this.size[tail] = there + bytes;
      return tail;
    }
    const block = this.add(bytes, false, tail, NONE);
    if (tail !== NONE) this.after[tail] = block;
    this.tail = block;
    return block;
  }

  private reserve(bytes: number): void {
    if (this.reserved + bytes > this.capacity) this.emptyCache();
    this.reserved += bytes;
    if (this.reserved > this.peakReserved) this.peakReserved = this.reserved;
  }

  /**
   * Gives back to the device what is wholly free: segments, or in an expandable one the pages inside free blocks, whose
   * ends then stay out of use.
   */
  private emptyCache(): void {
    for (const list of [this.smallFree, this.largeFree]) {
      list.forEach((block) => {
        if (block === this.tail) return;
        const size = this.size[block] ?? 0;
        if (this.before[block] === NONE && this.after[block] === NONE) {
          this.reserved -= size;
          this.discard(block);
        } else if (this.expandable && list === this.largeFree && size >= MEDIUM_SEGMENT) {
          this.reserved -= Math.floor(size / MEDIUM_SEGMENT) * MEDIUM_SEGMENT;
          this.free[block] = 0;
        } else return;
        list.remove(size, block);
      });
    }
  }

  private add(size: number, small: boolean, before: BlockId, after: BlockId): BlockId {
    let block = this.spare;
    if (block === NONE) {
      block = this.rows++;
      if (block === this.size.length) this.enlarge();
    } else this.spare = this.after[block] ?? NONE;
    this.size[block] = size;
    this.small[block] = small ? 1 : 0;
    this.before[block] = before;
    this.after[block] = after;
    this.free[block] = 0;
    return block;
  }

  private enlarge(): void {
    this.size = enlarged(this.size, new Float64Array(2 * this.rows));
    this.before = enlarged(this.before, new Int32Array(2 * this.rows));
    this.after = enlarged(this.after, new Int32Array(2 * this.rows));
    this.free = enlarged(this.free, new Uint8Array(2 * this.rows));
    this.small = enlarged(this.small, new Uint8Array(2 * this.rows));
  }
}

/** The larger array, which begins with what the smaller one holds. */
function enlarged<A extends Float64Array | Int32Array | Uint8Array>(from: A, to: A): A {
  to.set(from);
  return to;
}
