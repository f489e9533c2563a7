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

/** What a request comes to in a segment of its own: large segments are rounded up and not split for the rest. */
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

  insert(size: number, block: BlockId): void {
    if (this.count === this.blocks.length) this.enlarge();
    const { sizes, blocks } = this;
    const position = this.find(size);
    if (this.count - position > FEW) {
      sizes.copyWithin(position + 1, position, this.count);
      blocks.copyWithin(position + 1, position, this.count);
    } else {
      for (let i = this.count; i > position; i--) {
        sizes[i] = sizes[i - 1] ?? 0;
        blocks[i] = blocks[i - 1] ?? NONE;
      }
    }
    sizes[position] = size;
    blocks[position] = block;
    this.count++;
  }

  removeAt(position: number): void {
    const { sizes, blocks } = this;
    this.count--;
    if (this.count - position > FEW) {
      sizes.copyWithin(position, position + 1, this.count + 1);
      blocks.copyWithin(position, position + 1, this.count + 1);
    } else {
      for (let i = position; i < this.count; i++) {
        sizes[i] = sizes[i + 1] ?? 0;
        blocks[i] = blocks[i + 1] ?? NONE;
      }
    }
  }

  remove(size: number, block: BlockId): void {
    let position = this.find(size);
    while (this.blocks[position] !== block) position++;
    this.removeAt(position);
  }

  private enlarge(): void {
    const { sizes, blocks } = this;
    this.sizes = new Float64Array(2 * sizes.length);
    this.sizes.set(sizes);
    this.blocks = new Int32Array(2 * blocks.length);
    this.blocks.set(blocks);
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
  private readonly capacity: number;
  private readonly expandable: boolean;
  /** Last block of the growing segment. */
  private tail = NONE;

  private readonly size: number[] = [];
  private readonly before: BlockId[] = [];
  private readonly after: BlockId[] = [];
  private readonly free: boolean[] = [];
  private readonly small: boolean[] = [];
  /** Rows of blocks that are gone. */
  private readonly spare: BlockId[] = [];
  private readonly smallFree = new FreeBlocks();
  private readonly largeFree = new FreeBlocks();

  constructor(capacity: number, expandable = false) {
    this.capacity = capacity;
    this.expandable = expandable;
  }

  /** Hands out a block for a request of this many bytes. */
  allocate(bytes: number): BlockId {
    const size = Math.max(ROUND, Math.ceil(bytes / ROUND) * ROUND);
    const small = size <= SMALL_LIMIT;
    const block = this.takeFree(size, small);
    const rest = this.sizeOf(block) - size;
    if (small || this.expandable ? rest >= ROUND : rest > SMALL_LIMIT) this.split(block, size, rest, small);
    this.free[block] = false;
    return block;
  }

  /** Takes a block back. */
  release(released: BlockId): void {
    let block = released;
    const list = this.small[block] ? this.smallFree : this.largeFree;
    this.free[block] = true;
    const next = this.afterOf(block);
    if (next !== NONE && this.free[next]) {
      list.remove(this.sizeOf(next), next);
      this.absorb(block, next);
    }
    const previous = this.beforeOf(block);
    if (previous !== NONE && this.free[previous]) {
      list.remove(this.sizeOf(previous), previous);
      this.absorb(previous, block);
      block = previous;
    }
    list.insert(this.sizeOf(block), block);
  }

  /** A block that is large enough, out of the free ones or new. */
  private takeFree(size: number, small: boolean): BlockId {
    const list = small ? this.smallFree : this.largeFree;
    let at = list.find(size);
    // What may grow counts as large as it may become: it is taken last (`get_free_block`).
    if (this.expandable && list.blockAt(at) === this.tail && at + 1 < list.count) at++;
    const found = list.blockAt(at);
    if (found === NONE) return this.segment(size, small);
    list.removeAt(at);
    return found;
  }

  private split(block: BlockId, size: number, rest: number, small: boolean): void {
    const next = this.afterOf(block);
    const remainder = this.add(rest, small, block, next);
    if (next !== NONE) this.before[next] = remainder;
    this.after[block] = remainder;
    this.size[block] = size;
    if (this.tail === block) this.tail = remainder;
    this.free[remainder] = true;
    (small ? this.smallFree : this.largeFree).insert(rest, remainder);
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
    return this.add(bytes, small, NONE, NONE);
  }

  /** An expandable segment grows at its end by pages of 20 MiB; a free block there is part of what is needed. */
  private grow(size: number): BlockId {
    const { tail } = this;
    const there = tail !== NONE && this.free[tail] ? this.sizeOf(tail) : 0;
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
        const size = this.sizeOf(block);
        if (this.beforeOf(block) === NONE && this.afterOf(block) === NONE) {
          this.reserved -= size;
          this.spare.push(block);
        } else if (this.expandable && list === this.largeFree && size >= MEDIUM_SEGMENT) {
          this.reserved -= Math.floor(size / MEDIUM_SEGMENT) * MEDIUM_SEGMENT;
          this.free[block] = false;
        } else continue;
        list.removeAt(at);
      }
    }
  }

  private add(size: number, small: boolean, before: BlockId, after: BlockId): BlockId {
    const block = this.spare.pop() ?? this.size.length;
    this.size[block] = size;
    this.small[block] = small;
    this.before[block] = before;
    this.after[block] = after;
    this.free[block] = false;
    return block;
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
