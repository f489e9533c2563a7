import type { Weight } from '../model/tape';
import type { AllocatorEvent } from './play';

/** Requests and returns in order: class + 1 of a request, its negative for the return of the newest of that class. */
export type RequestProgram = Int32Array;

/** Smaller requests share segments of 2 MiB (`kSmallBuffer`): all of a step fit into a few, so they are not played. */
const SMALL = 2 ** 20;
/** Requests are rounded up to blocks (`kMinBlockSize`, `c10/cuda/CUDACachingAllocator.h`). Bytes. */
const BLOCK = 512;

/** The distinct requests of a step. Equal ones that grow alike with the batch's length are of one class. */
export class Requests {
  readonly none: RequestProgram = new Int32Array();
  private readonly bytes: number[] = [];
  private readonly power: number[] = [];
  private readonly known = new Map<number, number>();

  /** Large requests of a list. */
  program(events: readonly AllocatorEvent[]): RequestProgram {
    const codes: number[] = [];
    for (const { bytes, power } of events) {
      if (bytes > SMALL) codes.push(this.classOf(bytes, power) + 1);
      else if (bytes < -SMALL) codes.push(-this.classOf(-bytes, power) - 1);
    }
    return Int32Array.from(codes);
  }

  /** One request, whatever the batch's length. */
  single(bytes: number): RequestProgram {
    return bytes > SMALL ? Int32Array.of(this.classOf(bytes, 0) + 1) : this.none;
  }

  /** A total made of one tensor per weight. */
  pieces(total: number, weights: readonly Weight[]): RequestProgram {
    const elements = weights.reduce((sum, weight) => sum + weight.localElements, 0);
    const events = weights.map((weight) => ({
      bytes: Math.ceil((total * weight.localElements) / elements / BLOCK) * BLOCK,
      power: 0 as const,
    }));
    return this.program(events);
  }

  /** What a program comes to. */
  net(program: RequestProgram): RequestProgram {
    const counts = new Int32Array(this.bytes.length);
    for (const code of program) {
      if (code > 0) counts[code - 1] = (counts[code - 1] ?? 0) + 1;
      else counts[-code - 1] = (counts[-code - 1] ?? 0) - 1;
    }
    const codes: number[] = [];
    counts.forEach((count, index) => {
      const code = count > 0 ? index + 1 : -index - 1;
      for (let i = Math.abs(count); i > 0; i--) codes.push(code);
    });
    return Int32Array.from(codes);
  }

  /** Requests of a program whose size does not depend on the batch. */
  fixed(program: RequestProgram): RequestProgram {
    return program.filter((code) => code > 0 && this.power[code - 1] === 0);
  }

  /** A program less some of its codes. */
  without(program: RequestProgram, codes: RequestProgram): RequestProgram {
    return codes.length === 0 ? program : program.filter((code) => !codes.includes(code));
  }

  /** Bytes of each class in a batch of this share of the longest length. */
  sizes(length: number): Float64Array {
    const sizes = new Float64Array(this.bytes.length);
    for (let i = 0; i < sizes.length; i++) {
      const bytes = (this.bytes[i] ?? 0) * length ** (this.power[i] ?? 0);
      sizes[i] = Math.ceil(bytes / BLOCK) * BLOCK;
    }
    return sizes;
  }

  private classOf(bytes: number, power: number): number {
    const key = 4 * bytes + power;
    const known = this.known.get(key);
    if (known !== undefined) return known;
    const index = this.bytes.length;
    this.known.set(key, index);
    this.bytes.push(bytes);
    this.power.push(power);
    return index;
  }
}
