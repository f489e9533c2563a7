const MIB = 2 ** 20;

/** Constants of `c10/cuda/CUDACachingAllocator.cpp`, the same from torch 1.x to 2.9. */
const ROUND = 512;
const SMALL_LIMIT = MIB;
const SMALL_SEGMENT = 2 * MIB;
const MEDIUM_LIMIT = 10 * MIB;
const MEDIUM_SEGMENT = 20 * MIB;
const LARGE_ROUND = 2 * MIB;

const NONE = -1;

/** Fewer entries than this are moved faster one by one than by a call. */
const FEW = 48;

/** Bytes that a request comes to in a segment of its own: large segments are rounded up and not split for the rest. */
export function segmentBytes(bytes: number): number {
  return bytes < MEDIUM_LIMIT ? bytes : Math.ceil(bytes / LARGE_ROUND) * LARGE_ROUND;
}

/** What a handed-out block is returned by. */
export type BlockId = number;

/** Blocks of a pool that are free, smallest first; of equals, the one that was freed last comes first. */
class FreeBlocks {
  count = 0;
  private sizes = new Float64Array(256);
  private blocks = new Int32Array(256);

  /** Position of the first block of at least this size. */
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

  blockAt(position: number): BlockId {
    return position < this.count ? (this.blocks[position] ?? NONE) : NONE;
  }

  /** Position of a block that is there. */
  positionOf(size: number, block: BlockId): number {
    let position = this.find(size);
    while (this.blocks[position] !== block) position++;
    return position;
  }

  insert(size: number, block: BlockId): void {
    if (this.count === this.blocks.length) this.enlarge();
    this.put(this.find(size), this.count++, size, block);
  }

  removeAt(position: number): void {
    this.close(position, --this.count);
  }

  remove(size: number, block: BlockId): void {
    this.removeAt(this.positionOf(size, block));
  }

  /** What a removal and an insertion come to, moving only what lies between. */
  replaceAt(position: number, size: number, block: BlockId): void {
    const to = this.find(size);
    if (to <= position) {
      this.put(to, position, size, block);
      return;
    }
    this.close(position, to - 1);
    this.sizes[to - 1] = size;
    this.blocks[to - 1] = block;
  }

  /** Moves what is from a position to another up by one, and puts a block there. */
  private put(position: number, end: number, size: number, block: BlockId): void {
    const { sizes, blocks } = this;
    if (end - position > FEW) {
      sizes.copyWithin(position + 1, position, end);
      blocks.copyWithin(position + 1, position, end);
    } else {
      for (let i = end; i > position; i--) {
        sizes[i] = sizes[i - 1] ?? 0;
        blocks[i] = blocks[i - 1] ?? NONE;
      }
    }
    sizes[position] = size;
    blocks[position] = block;
  }

  /** Moves what is behind a position down by one, up to and with the end. */
  private close(position: number, end: number): void {
    const { sizes, blocks } = this;
    if (end - position > FEW) {
      sizes.copyWithin(position, position + 1, end + 1);
      blocks.copyWithin(position, position + 1, end + 1);
      return;
    }
    for (let i = position; i < end; i++) {
      sizes[i] = sizes[i + 1] ?? 0;
      blocks[i] = blocks[i + 1] ?? NONE;
    }
  }

  private enlarge(): void {
    const { sizes, blocks } = this;
    this.sizes = enlarged(sizes, new Float64Array(2 * sizes.length));
    this.blocks = enlarged(blocks, new Int32Array(2 * blocks.length));
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

  constructor(capacity: number, expandable = false) {
    this.capacity = capacity;
    this.expandable = expandable;
  }

  /** Forgets all that it handed out and reserved, to be used anew: its tables stay as large as they have become. */
  reset(capacity: number, expandable: boolean): void {
    this.capacity = capacity;
    this.expandable = expandable;
    this.reserved = 0;
    this.peakReserved = 0;
    this.tail = NONE;
    this.rows = 0;
    this.spare = NONE;
    this.smallFree.count = 0;
    this.largeFree.count = 0;
  }

  /** Hands out a block for a request of this many bytes. */
  allocate(bytes: number): BlockId {
    const size = Math.max(ROUND, Math.ceil(bytes / ROUND) * ROUND);
    const small = size <= SMALL_LIMIT;
    const list = small ? this.smallFree : this.largeFree;
    let at = list.find(size);
    // What may grow counts as large as it may become: it is taken last (`get_free_block`).
    if (this.expandable && list.blockAt(at) === this.tail && at + 1 < list.count) at++;
    const found = list.blockAt(at);
    const block = found === NONE ? this.segment(size, small) : found;
    const rest = (this.size[block] ?? 0) - size;
    if (small || this.expandable ? rest >= ROUND : rest > SMALL_LIMIT) {
      const remainder = this.split(block, size, rest, small);
      if (found === NONE) list.insert(rest, remainder);
      else list.replaceAt(at, rest, remainder);
    } else if (found !== NONE) list.removeAt(at);
    this.free[block] = 0;
    return block;
  }

  /** Takes a block back. */
  release(released: BlockId): void {
    let block = released;
    const list = this.small[block] ? this.smallFree : this.largeFree;
    this.free[block] = 1;
    const next = this.after[block] ?? NONE;
    const previous = this.before[block] ?? NONE;
    // Place in the list of a neighbour that is taken in.
    let place = NONE;
    if (next !== NONE && this.free[next]) {
      place = list.positionOf(this.size[next] ?? 0, next);
      this.absorb(block, next);
    }
    if (previous !== NONE && this.free[previous]) {
      if (place !== NONE) list.removeAt(place);
      place = list.positionOf(this.size[previous] ?? 0, previous);
      this.absorb(previous, block);
      block = previous;
    }
    const size = this.size[block] ?? 0;
    if (place === NONE) list.insert(size, block);
    else list.replaceAt(place, size, block);
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
    const bytes = Math.ceil((size - there) / MEDIUM_SEGMENT) * MEDIUM_SEGMENT;
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
      for (let at = list.count - 1; at >= 0; at--) {
        const block = list.blockAt(at);
        if (block === this.tail) continue;
        const size = this.size[block] ?? 0;
        if (this.before[block] === NONE && this.after[block] === NONE) {
          this.reserved -= size;
          this.discard(block);
        } else if (this.expandable && list === this.largeFree && size >= MEDIUM_SEGMENT) {
          this.reserved -= Math.floor(size / MEDIUM_SEGMENT) * MEDIUM_SEGMENT;
          this.free[block] = 0;
        } else continue;
        list.removeAt(at);
      }
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
