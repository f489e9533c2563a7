/** A setting of PyTorch's allocator as it stands in the text: `max_split_size_mb:128`. */
interface Setting {
  readonly name: string;
  readonly value: string;
}

/** What a setting takes. */
export type AllocatorValue = 'flag' | 'megabytes' | 'share' | 'power-of-two';

/** What the settings of PyTorch's allocator come to, those of its own pool of segments. */
interface AllocatorSettings {
  /** Whether segments grow; undefined where that is left to PyTorch. */
  readonly expandableSegments?: boolean;
  /** Bytes from which on a block is not split; undefined where every block may be. */
  readonly maxSplit?: number;
  /** Parts of a power of two that requests are rounded up to; undefined where they are not. */
  readonly roundup?: number;
  /** Settings that are known and change what the allocator holds in a way that is not counted. */
  readonly uncounted: readonly string[];
  /** Names that the releases which were read do not have, and the settings that they stand in. */
  readonly unknown: readonly { readonly name: string; readonly setting: string }[];
  /** Settings whose values no release takes; `mended`: as PyTorch spells what is surely meant. */
  readonly refused: readonly {
    readonly setting: string;
    readonly takes: AllocatorValue;
    readonly mended?: string;
  }[];
}

const MIB = 2 ** 20;

/** Blocks are split down to the segment of middle-sized requests (`kLargeBuffer`): nothing below it is taken. MiB. */
const LEAST_SPLIT = 20;

const isNumber = (value: string) => /^\d+$/.test(value);
const isMegabytes = (value: string) => isNumber(value) && Number(value) >= LEAST_SPLIT;
const isShare = (value: string) => Number(value) > 0 && Number(value) < 1;
const isFlag = (value: string) => value === 'True' || value === 'False';
/** A flag in the spelling of another language. */
const flagOf = (value: string) =>
  /^(?:true|1|yes|on)$/i.test(value) ? 'True' : /^(?:false|0|no|off)$/i.test(value) ? 'False' : undefined;
const isPowerOfTwo = (value: string) => isNumber(value) && Number.isInteger(Math.log2(Number(value)));

/** `[256:1,512:2,>:4]`: requests of up to so many MiB, and into how many parts a power of two is cut there. */
const partsOf = (value: string) =>
  value.startsWith('[') ? [...value.matchAll(/:([^,\]]*)/g)].map(([, parts = '']) => parts) : [value];
/** The fewest parts that anything is rounded by: fewer are larger. */
function fewestParts(value: string): number | undefined {
  const parts = partsOf(value)
    .map(Number)
    .filter((count) => count > 1);
  return parts.length > 0 ? Math.min(...parts) : undefined;
}
const areParts = (value: string) =>
  partsOf(value).every((parts) => isPowerOfTwo(parts) || (value.startsWith('[') && parts === '0'));

/** Settings whose values are checked, and those that change no memory of the device that is counted. */
const TAKES: Readonly<Record<string, readonly [takes: AllocatorValue, is: (value: string) => boolean]>> = {
  expandable_segments: ['flag', isFlag],
  max_split_size_mb: ['megabytes', isMegabytes],
  max_non_split_rounding_mb: ['megabytes', isMegabytes],
  garbage_collection_threshold: ['share', isShare],
  roundup_power2_divisions: ['power-of-two', areParts],
};

/** Settings that change what the allocator holds, or may hold, in a way that is not counted. */
const UNCOUNTED: ReadonlySet<string> = new Set([
  'max_non_split_rounding_mb',
  'large_segment_size_mb',
  'per_process_memory_fraction',
  'expandable_segments_reserve',
  'expandable_segments_reserve_by_class',
]);

/** Settings of host memory, of speed, and of CUDA graphs. */
const OTHERS: ReadonlySet<string> = new Set([
  'backend',
  // Of torch 1.12 and 1.13: larger requests are not rounded.
  'roundup_bypass_threshold_mb',
  'pinned_use_cuda_host_register',
  'pinned_use_hip_host_register',
  'pinned_num_register_threads',
  'pinned_use_background_threads',
  'pinned_reserve_segment_size_mb',
  'pinned_free_catch_all',
  'release_lock_on_cudamalloc',
  'release_lock_on_hipmalloc',
  'graph_capture_record_stream_reuse',
  'throw_on_cudamalloc_oom',
  // Of torch 2.15: addresses that segments which grow keep for themselves, which hold no memory.
  'expandable_segments_reserve',
  'expandable_segments_reserve_by_class',
]);

const isKnown = (name: string) => Object.hasOwn(TAKES, name) || UNCOUNTED.has(name) || OTHERS.has(name);

/**
 * What a text of settings comes to, as PyTorch reads it: blanks do not count, of the same setting twice the last does, and CUDA's own
 * pool has no segments (`c10/cuda/CUDAAllocatorConfig.cpp`; `c10/core/AllocatorConfig.cpp` since torch 2.9). Early garbage collection
 * returns what a request that does not fit would return, so that it changes nothing of what a run needs.
 */
export function allocatorSettingsOf(text: string): AllocatorSettings {
  const settings = splitSettings(text.replace(/\s/g, ''));
  const names = settings.map(({ name }) => name);
  const lastOf = (wanted: string) => settings.filter(({ name }) => name === wanted).at(-1)?.value;
  // Where the segments are made smaller, smaller blocks may be named, too.
  const smaller = names.includes('large_segment_size_mb');
  const refused = settings.flatMap(({ name, value }) => {
    const known = Object.hasOwn(TAKES, name) ? TAKES[name] : undefined;
    if (!known || known[1](value) || (smaller && known[0] === 'megabytes')) return [];
    const meant = known[0] === 'flag' ? flagOf(value) : undefined;
    const mended = meant === undefined ? {} : { mended: `${name}:${meant}` };
    return [{ setting: `${name}:${value}`, takes: known[0], ...mended }];
  });
  const unknown = settings
    .filter(({ name }) => !isKnown(name))
    .map(({ name, value }) => ({ name, setting: value === '' ? name : `${name}:${value}` }));
  if (/^(?:cuda|hip)MallocAsync$/i.test(lastOf('backend') ?? ''))
    return { expandableSegments: false, uncounted: [], unknown, refused };
  const grows = lastOf('expandable_segments')?.toLowerCase();
  const megabytes = lastOf('max_split_size_mb') ?? '';
  const roundup = fewestParts(lastOf('roundup_power2_divisions') ?? '');
  return {
    ...(grows === 'true' || grows === 'false' ? { expandableSegments: grows === 'true' } : {}),
    ...(isMegabytes(megabytes) ? { maxSplit: Number(megabytes) * MIB } : {}),
    ...(roundup === undefined ? {} : { roundup }),
    uncounted: settings
      .filter(({ name, value }) => UNCOUNTED.has(name) && !(name.endsWith('fraction') && Number(value) === 1))
      .map(({ name, value }) => `${name}:${value}`),
    unknown,
    refused,
  };
}

/** Settings in their order; commas inside of brackets part none. */
function splitSettings(bare: string): readonly Setting[] {
  return [...bare.matchAll(/([^,:[\]]+)(?::(\[[^\]]*\]?|[^,]*))?/g)].map(([, name = '', value = '']) => ({
    name,
    value,
  }));
}
