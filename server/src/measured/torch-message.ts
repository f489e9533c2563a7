import { addedUp, exactly, FIGURE, figureAt, type Quantity, quantityOf } from './quantity';

/** What PyTorch's allocators say when a request fails. Bytes of one GPU. */
interface TorchFigures {
  /** What was asked of the device: the tensor's bytes as the allocator rounds them (`allocation.ts`). */
  readonly requested: Quantity;
  readonly gpu?: number;
  readonly total?: Quantity;
  readonly free?: Quantity;
  /** In tensors. */
  readonly allocated?: Quantity;
  /** Held by the allocator: in tensors and beside them. */
  readonly reserved?: Quantity;
  /** Of it in pools of their own, such as those of CUDA graphs. */
  readonly privatePools?: Quantity;
  /** Of the process, with what lies outside the allocator. */
  readonly process?: Quantity;
  readonly others: readonly { readonly pid: number; readonly bytes: Quantity }[];
  /** Where `set_per_process_memory_fraction` or a watermark limits the process. */
  readonly allowed?: Quantity;
}

/**
 * By the words of each: `cached` up to 1.3, `reserved in total` from 1.4, the advice from 1.10, sentences from 2.1 on
 * (`c10/cuda/CUDACachingAllocator.cpp`, "Tried to allocate").
 */
export type TorchEra = 'cached' | 'reserved' | 'advice' | 'sentences';

export const TORCH_MESSAGE = /\b(?:(CUDA|HIP|XPU|MPS|NPU|MLU)(?: backend)?) out of memory\b/;

export interface TorchMessage extends TorchFigures {
  readonly era: TorchEra;
  readonly device: 'cuda' | 'hip' | 'xpu' | 'mps' | 'other';
}

/** Whether a message that a log broke into lines is whole. */
export function isWhole(text: string): boolean {
  return (
    /ALLOC_CONF|cached\)|by PyTorch\)|WATERMARK_RATIO|release all unoccupied/.test(text) || text.length > 1600
  );
}

/** Figures of a message of any era; undefined where it has none (`CUDA error: out of memory`). */
export function readTorchMessage(message: string): TorchMessage | undefined {
  const text = message.replace(/\s+/g, ' ');
  const requested = figureAt(text, 'Tried to allocate #');
  if (!requested) return undefined;
  const device = (TORCH_MESSAGE.exec(text)?.[1] ?? 'CUDA').toLowerCase();
  const gpu = /\bGPU ?(\d{1,4})\b|\bdevice (\d{1,4})\b/.exec(text);
  const shared = {
    requested,
    device: device === 'cuda' || device === 'hip' || device === 'xpu' || device === 'mps' ? device : 'other',
    ...(gpu ? { gpu: Number(gpu[1] ?? gpu[2]) } : {}),
    ...defined({ allowed: figureAt(text, '# allowed') ?? figureAt(text, 'max allowed: #') }),
  } as const;
  if (device === 'mps') return { ...shared, ...mps(text), era: 'sentences' };
  const isOld = /already allocated/.test(text);
  return isOld ? { ...shared, ...inBrackets(text) } : { ...shared, ...inSentences(text), era: 'sentences' };
}

type Figures = Omit<TorchFigures, 'requested' | 'gpu' | 'allowed'>;

function inBrackets(text: string): Figures & { readonly era: TorchEra } {
  const cached = figureAt(text, '# cached\\)');
  const allocated = figureAt(text, '# already allocated');
  // Up to 1.3 what is "cached" is what the allocator keeps beside tensors up to 1.0, and all that it holds since then.
  const reserved = figureAt(text, '# reserved in total by PyTorch') ?? heldBy(cached, allocated);
  return {
    ...defined({
      total: figureAt(text, '# total capacity'),
      allocated,
      free: figureAt(text, '# free'),
      reserved,
    }),
    others: [],
    era: cached ? 'cached' : /max_split_size_mb|expandable/.test(text) ? 'advice' : 'reserved',
  };
}

/** What the allocator holds where `cached` may mean all of it or what lies beside tensors: never less than the tensors. */
function heldBy(cached: Quantity | undefined, allocated: Quantity | undefined): Quantity | undefined {
  if (!cached || !allocated) return cached;
  return cached.upperBytes >= allocated.lowerBytes ? cached : addedUp(cached, allocated);
}

function inSentences(text: string): Figures {
  // 2.1 writes "capacty".
  const total = figureAt(text, 'total capaci?ty of #');
  const allocated = figureAt(text, '# is allocated by PyTorch');
  const unallocated = figureAt(text, '# is reserved by PyTorch but unallocated');
  const reserved = allocated && (unallocated ? addedUp(allocated, unallocated) : allocated);
  const reported = figureAt(text, 'this process has #');
  // Where the driver does not know the process by its number, as in some containers, it counts nothing for it.
  const own = reported && reserved && reported.upperBytes < reserved.lowerBytes ? undefined : reported;
  const named = [...text.matchAll(new RegExp(`Process (\\d{1,10}) has ${FIGURE} memory in use`, 'g'))];
  const others = named.flatMap(([, pid, number = '', unit = '']) => {
    const bytes = quantityOf(number, unit);
    return bytes ? [{ pid: Number(pid), bytes }] : [];
  });
  // In a container the driver knows the process by another number than itself: it is among the others, and holds at least
  // what its allocator does.
  const itself = own || !reserved ? undefined : nearestAbove(others, reserved);
  return {
    ...defined({
      total,
      free: figureAt(text, 'of which # is free'),
      allocated,
      reserved,
      privatePools: figureAt(text, 'with # allocated in private pools'),
      process: own ?? itself?.bytes,
    }),
    others: others.filter((one) => one !== itself),
  };
}

function nearestAbove<T extends { readonly bytes: Quantity }>(
  all: readonly T[],
  least: Quantity,
): T | undefined {
  return [...all]
    .filter(({ bytes }) => bytes.upperBytes >= least.lowerBytes)
    .sort((a, b) => a.bytes.bytes - b.bytes.bytes)[0];
}

/** `aten/src/ATen/mps/MPSAllocator.mm`: GB are GiB; the limit stands in the place of a capacity. */
function mps(text: string): Figures {
  const allocated = figureAt(text, 'MPS allocated: #');
  const other = figureAt(text, 'other allocations: #');
  return {
    ...defined({ allocated, process: allocated && addedUp(allocated, other ?? exactly(0)) }),
    others: [],
  };
}

type Present<T> = { [K in keyof T]?: NonNullable<T[K]> };

/** Without what is undefined. */
function defined<T extends object>(values: T): Present<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Present<T>;
}
