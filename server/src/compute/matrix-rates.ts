import type { Accelerator } from '../hardware/accelerator';
import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';
import type { DType } from '../terms/dtypes';
import { fastestProducts } from './achieved-rates';

/**
 * fp8 products make a step 1.25 to 1.36 times as fast as bf16 (torchtitan on H100, docs/performance.md, 8B with FSDP and
 * 70B with tensor parallelism): the middle. At best they run at their own rate, at worst they gain nothing.
 */
const FP8_GAIN = 1.3;

/**
 * Type that linear layers are multiplied in: fp8 where somebody does that and the card can, else as everything is computed. bitsandbytes
 * casts what comes to 8-bit weights to fp16 (0.49, `autograd/_functions.py`, `MatMul8bitLt`).
 */
export function multipliedIn(run: TrainingRun, { supports }: Accelerator): DType {
  if (run['precision.fp8'] !== 'none' && supports.fp8) return 'fp8';
  const compute = run['precision.compute'];
  return run['quantization.kind'] === 'int8' && compute === 'fp32' ? 'fp16' : compute;
}

/** Whether fp32 matrices are multiplied in TF32 where the card has it. */
export function inTf32(run: TrainingRun): boolean {
  return run['kernels.tf32'] || behaviours(run).multipliesInTf32;
}

/** Matrix rates of a type on a card, FLOP per second. */
interface MatrixRates {
  /** The fastest that was measured. */
  readonly best: number;
  /** Rated speed that usual shares refer to. */
  readonly rated: number;
  /** How much faster than rated the type usually runs. */
  readonly gain: number;
}

/** None where the card's rate is not known. */
export function matrixRates(
  accelerator: Accelerator,
  type: DType,
  lowered: boolean,
): MatrixRates | undefined {
  const { denseFlops } = accelerator;
  if (type === 'fp32') {
    // PyTorch has TF32 off by default for products (`torch.backends.cuda.matmul.allow_tf32`) since 1.12. TensorFlow has it on since 2.4
    // (`tensorflow/python/framework/config.py`, `enable_tensor_float_32_execution`), NVIDIA's 1.15 too.
    const { fp32, tf32 } = denseFlops;
    const rated = lowered ? (tf32 ?? fp32) : fp32;
    return rated === undefined ? undefined : { best: rated, rated, gain: 1 };
  }
  const rated = type === 'fp8' ? denseFlops.bf16 : denseFlops[type];
  if (rated === undefined) return undefined;
  if (type === 'fp8' && denseFlops.fp8 !== undefined) {
    return { best: fastestProducts(accelerator, 'fp8') ?? rated, rated, gain: FP8_GAIN };
  }
  // Both 16-bit types run at one rate where the card has both; a card without fp8 computes in bf16.
  const best = rated === denseFlops.bf16 ? fastestProducts(accelerator, 'bf16') : rated;
  return { best: best ?? rated, rated, gain: 1 };
}
