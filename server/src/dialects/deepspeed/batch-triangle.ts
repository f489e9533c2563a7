import { say } from '../../wording/say';

/** The three batch sizes of DeepSpeed; undefined where the file leaves one out or another tool fills it in. */
export interface BatchSizes {
  /** `train_batch_size`: samples per optimizer step over all GPUs. */
  readonly global?: number;
  /** `train_micro_batch_size_per_gpu`. */
  readonly micro?: number;
  /** `gradient_accumulation_steps`. */
  readonly accumulation?: number;
}

interface BatchTriangle extends BatchSizes {
  /** Data-parallel GPUs: as given, or what follows from three stated sizes. */
  readonly dataParallel?: number;
  /** Where the sizes contradict each other: what DeepSpeed compares, `global` against `product`. */
  readonly contradiction?: { readonly global: number; readonly product?: number; readonly message: string };
}

/**
 * Completes the batch sizes as DeepSpeed does, with floor division, and checks its assertion
 * `train_batch_size == micro * accumulation * data-parallel GPUs`.
 * https://github.com/deepspeedai/DeepSpeed/blob/v0.19.5/deepspeed/runtime/config.py (`_set_batch_related_parameters`)
 */
export function completeBatch(sizes: BatchSizes, dataParallel: number | undefined): BatchTriangle {
  const { global, micro, accumulation } = sizes;
  if (global !== undefined && micro !== undefined && accumulation !== undefined) {
    return checkAll(global, micro, accumulation, dataParallel);
  }
  if (dataParallel === undefined) {
    // With one of the two batches alone, DeepSpeed accumulates one micro batch.
    const alone = (global === undefined) !== (micro === undefined);
    return { ...sizes, accumulation: accumulation ?? (alone ? 1 : undefined) };
  }
  const derived = derive(sizes, dataParallel);
  if (derived.global === undefined || derived.micro === undefined || derived.accumulation === undefined) {
    return { ...derived, dataParallel };
  }
  return checkAll(derived.global, derived.micro, derived.accumulation, dataParallel);
}

function derive(sizes: BatchSizes, gpus: number): BatchSizes {
  const { global, micro, accumulation } = sizes;
  if (global !== undefined && micro !== undefined) {
    return { global, micro, accumulation: Math.floor(Math.floor(global / micro) / gpus) };
  }
  if (global !== undefined) {
    const steps = accumulation ?? 1;
    return { global, accumulation: steps, micro: Math.floor(Math.floor(global / gpus) / steps) };
  }
  if (micro !== undefined) {
    const steps = accumulation ?? 1;
    return { micro, accumulation: steps, global: micro * steps * gpus };
  }
  return sizes;
}

function checkAll(
  global: number,
  micro: number,
  accumulation: number,
  dataParallel: number | undefined,
): BatchTriangle {
  const perGpu = micro * accumulation;
  if (dataParallel === undefined) {
    if (perGpu > 0 && global % perGpu === 0)
      return { global, micro, accumulation, dataParallel: global / perGpu };
    const message = say(
      'train_batch_size {0} is not a multiple of micro batch {1} × accumulation {2} = {3}: DeepSpeed refuses it for every number of GPUs.',
      String(global),
      String(micro),
      String(accumulation),
      String(perGpu),
    );
    return { global, micro, accumulation, contradiction: { global, message } };
  }
  const product = perGpu * dataParallel;
  const whole = { global, micro, accumulation, dataParallel };
  if (product === global && product > 0) return whole;
  const message = say(
    'train_batch_size {0} is not micro batch {1} × accumulation {2} × {3} data-parallel GPUs = {4}: DeepSpeed refuses it.',
    String(global),
    String(micro),
    String(accumulation),
    String(dataParallel),
    String(product),
  );
  return { ...whole, contradiction: { global, product, message } };
}
