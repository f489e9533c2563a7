import { exactly, FIGURE, figureAt, type Quantity, quantityOf } from './quantity';

/** Who ran out of memory, where it is not PyTorch's allocator. */
export type OtherKind = 'tensorflow' | 'xla' | 'bitsandbytes' | 'nccl' | 'library' | 'driver' | 'host';

export interface OtherMessage {
  readonly kind: OtherKind;
  /** Bytes that were asked for, where the message states them. */
  readonly requested?: Quantity;
  /** What the device or machine has, and what was in use. */
  readonly total?: Quantity;
  readonly inUse?: Quantity;
  readonly free?: Quantity;
  /** TensorFlow: shape and type of the tensor, and the operation that makes it. */
  readonly tensor?: { readonly shape: readonly number[]; readonly dtype: string };
  readonly operation?: string;
  /** False where the message fits other causes too, as a signal 9 does. */
  readonly certain: boolean;
}

/** TensorFlow's names of types, and bytes of an element. */
const TENSORFLOW_BYTES: Readonly<Record<string, number>> = {
  float: 4,
  half: 2,
  bfloat16: 2,
  double: 8,
  int32: 4,
  int64: 8,
  bool: 1,
  uint8: 1,
  int8: 1,
};

interface Reader {
  readonly pattern: RegExp;
  readonly read: (found: RegExpExecArray, text: string) => OtherMessage;
}

const READERS: readonly Reader[] = [
  {
    pattern: /OOM when allocating tensor with shape\[([\d,]{0,200})\] and type (\w{1,20})/,
    read: ([, dims = '', dtype = ''], text) => {
      const shape = dims === '' ? [] : dims.split(',').map(Number);
      const bytes = shape.reduce((product, n) => product * n, 1) * (TENSORFLOW_BYTES[dtype] ?? Number.NaN);
      const operation = /\[\[(?:node |\{\{node )?([^\s\]}]{1,300})/.exec(text)?.[1];
      const onHost = /\bon \S{0,120}device:CPU/.test(text);
      return {
        kind: onHost ? 'host' : 'tensorflow',
        tensor: { shape, dtype },
        ...(Number.isSafeInteger(bytes) ? { requested: exactly(bytes) } : {}),
        ...(operation ? { operation } : {}),
        certain: true,
      };
    },
  },
  {
    // `tsl/framework/bfc_allocator.cc`: the rounded figure is exact.
    pattern: new RegExp(`ran out of memory trying to allocate ${FIGURE}(?: \\(rounded to (\\d{1,18})\\))?`),
    read: ([, number = '', unit = '', exact], text) => {
      const requested = exact ? exactly(Number(exact)) : quantityOf(number, unit);
      const operation = /requested by op (\S{1,300})/.exec(text)?.[1];
      return {
        kind: 'tensorflow',
        ...(requested ? { requested } : {}),
        ...(operation ? { operation } : {}),
        certain: true,
      };
    },
  },
  {
    pattern: /Ran out of memory in memory space (\w{1,20})/,
    read: (_found, text) => xla(undefined, figureAt(text, 'of #'), figureAt(text, 'Used #')),
  },
  {
    pattern: new RegExp(
      `(?:RESOURCE_EXHAUSTED|XlaRuntimeError|xla).{0,200}?(?:allocat\\w{1,5}|Attempting to allocate) ${FIGURE}`,
      'i',
    ),
    read: ([, number = '', unit = ''], text) =>
      xla(quantityOf(number, unit), undefined, undefined, figureAt(text, 'There are # free')),
  },
  {
    pattern: /Error (?:out of memory|2).{0,20}at line \d{1,6} in file \S{0,200}(?:pythonInterface|ops\.cu)/,
    read: () => ({ kind: 'bitsandbytes', certain: true }),
  },
  {
    pattern:
      /Cuda failure (?:\d )?'out of memory'|Failed to CUDA (?:calloc|malloc)|ncclUnhandledCudaError.{0,400}out of memory/i,
    read: () => ({ kind: 'nccl', certain: true }),
  },
  {
    pattern: /\b(?:CUBLAS|CUDNN|CUSOLVER|CUSPARSE|CUFFT)_STATUS_(?:ALLOC_FAILED|NOT_INITIALIZED)/,
    read: ([status = '']) => ({
      kind: 'library',
      operation: status,
      certain: status.endsWith('ALLOC_FAILED'),
    }),
  },
  {
    pattern:
      /can't allocate memory: you tried to allocate (\d{1,18}) bytes|not enough memory: you tried to allocate (\d{1,18}) bytes/,
    read: ([, a, b]) => ({ kind: 'host', requested: exactly(Number(a ?? b)), certain: true }),
  },
  {
    pattern: new RegExp(`Unable to allocate ${FIGURE} for an array`),
    read: ([, number = '', unit = '']) => host(quantityOf(number, unit)),
  },
  {
    pattern: /ray\.exceptions\.OutOfMemoryError|running low on memory|killed due to memory pressure/i,
    // Ray prints GiB as GB (`src/ray/common/memory_monitor`).
    read: (_found, text) => {
      const used = new RegExp(`was ${FIGURE} / ${FIGURE}`).exec(text);
      const [inUse, total] = [
        used && quantityOf(used[1] ?? '', used[2] ?? ''),
        used && quantityOf(used[3] ?? '', used[4] ?? ''),
      ];
      return { kind: 'host', ...(inUse ? { inUse } : {}), ...(total ? { total } : {}), certain: true };
    },
  },
  {
    pattern:
      /Out of memory: Killed process \d{1,10}|\boom[-_]kill(?:er|ed)?\b|cgroup out-of-memory|OOMKilled/i,
    read: (_found, text) => {
      const rss = /anon-rss:(\d{1,15})kB/.exec(text)?.[1];
      return { kind: 'host', ...(rss ? { inUse: exactly(Number(rss) * 1024) } : {}), certain: true };
    },
  },
  {
    pattern: /\[Errno 12\] Cannot allocate memory|^MemoryError\b/,
    read: () => host(undefined),
  },
  {
    pattern:
      /exit ?code ?: ?-9\b|return code = -9\b|\(exitcode: -9\)|Signal 9 \(SIGKILL\)|exit code 137\b|\b\d{1,10} Killed\s{1,20}\S/,
    read: () => ({ kind: 'host', certain: false }),
  },
  {
    pattern:
      /CUDA (?:driver )?error: out of memory|cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY|hipErrorOutOfMemory/,
    read: () => ({ kind: 'driver', certain: true }),
  },
];

/** A word that every message has, to pass over other lines at once. */
const WORTH =
  /memory|oom|RESOURCE_EXHAUSTED|ALLOC_FAILED|NOT_INITIALIZED|-9|SIGKILL|Killed|Error 2|allocate|code 137/i;

/** What a line states about memory that ran out; undefined where it states nothing. */
export function readOtherMessage(text: string): OtherMessage | undefined {
  if (!WORTH.test(text)) return undefined;
  for (const { pattern, read } of READERS) {
    const found = pattern.exec(text);
    if (found) return read(found, text);
  }
  return undefined;
}

function xla(requested?: Quantity, total?: Quantity, inUse?: Quantity, free?: Quantity): OtherMessage {
  return {
    kind: 'xla',
    ...(requested ? { requested } : {}),
    ...(total ? { total } : {}),
    ...(inUse ? { inUse } : {}),
    ...(free ? { free } : {}),
    certain: true,
  };
}

function host(requested: Quantity | undefined): OtherMessage {
  return { kind: 'host', ...(requested ? { requested } : {}), certain: true };
}
