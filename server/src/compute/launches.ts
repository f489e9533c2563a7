import type { Accelerator } from '../hardware/accelerator';
import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';
import { multipliedIn } from './matrix-rates';
import { type ExpertLoop, launchedOperators, type MicroBatchWork } from './roofline';

/**
 * Seconds from one operator of ours to the next where the host cannot keep up: those of published runs whose steps take as long
 * with twice the tokens. Likely: the median of five of Qwen's `finetune.py` with LoRA on 256 and 512 tokens (25, 28, 28,
 * 28 and 29 µs), of three on GPTQ weights of 1.8 billion parameters, which are unpacked before each product (in nf4 notebooks had 51 to 117), and of five
 * with ZeRO-3, whose hooks run around every module (130 to 187 µs on two GPUs).
 */
const LAUNCH = 27.6e-6;
const LAUNCH_QUANTIZED = 47.3e-6;
const LAUNCH_ZERO3 = 136e-6;

/**
 * The slowest: of loops over experts 8.6 s a step of Unsloth's notebook of Qwen 3.6 MoE (193,689 launches), on Colab's A100 as
 * the next; on quantized weights 3.47 s a step of the notebook
 * `sft_tool_calling` (huggingface/trl, `examples/notebooks`: 15 steps of 4 micro batches of one sample in 52 s).
 */
const SLOWEST_LAUNCH = 44e-6;
const SLOWEST_LAUNCH_ZERO3 = 187e-6;
const SLOWEST_LAUNCH_QUANTIZED = 117e-6;

/** Cards for which PyTorch has a kernel of grouped products in bf16 (`aten/src/ATen/native/cuda/GroupedBlas.cpp`). */
const GROUPED = /^(?:9|10)\./;

/** Cards for which Unsloth has a kernel of its own since 2026.10.2 (`unsloth_zoo/temporary_patches/moe_utils.py`). */
const GROUPED_BY_UNSLOTH = /^(?:8\.0|8\.9|12\.[01])$/;

/** Seconds of an optimizer step in which the host launches its operators one by one: of what is compiled, only what loops over experts repeat. */
export function launchSeconds(
  work: MicroBatchWork,
  run: TrainingRun,
  accelerator: Accelerator,
): { readonly likely: number; readonly high: number } {
  const compiled = run['kernels.compile'] || run['kernels.xla'];
  const zero3 = run['parallel.data'] === 'zero' && run['zero.stage'] === 3;
  const [likely, slowest] = zero3
    ? [LAUNCH_ZERO3, SLOWEST_LAUNCH_ZERO3]
    : run['quantization.kind'] !== 'none'
      ? [LAUNCH_QUANTIZED, SLOWEST_LAUNCH_QUANTIZED]
      : [LAUNCH, SLOWEST_LAUNCH];
  const times = run['batch.accumulation'] / run['parallel.pipeline'];
  const loop = expertLoop(run, accelerator);
  const usual = loopDependsOnRelease(run, accelerator) ? 'none' : loop;
  return {
    likely: times * launchedOperators(work, usual, compiled) * likely,
    high: times * launchedOperators(work, loop, compiled) * slowest,
  };
}

/**
 * What runs once for each expert. Where each is a module, Python's loop runs all of it. Stacked ones are multiplied by PyTorch's
 * grouped product, which is a loop of products on other cards than Hopper and Blackwell's and in other types than bf16.
 */
function expertLoop(run: TrainingRun, accelerator: Accelerator): ExpertLoop {
  const does = behaviours(run);
  if (run['model.linearExperts'] === true || does.runsExpertsInLoop) return 'modules';
  const grouped = accelerator.vendor !== 'NVIDIA' || GROUPED.test(accelerator.computeCapability ?? '9.0');
  const hasKernel = grouped && multipliedIn(run, accelerator) === 'bf16';
  return hasKernel || !does.groupsProductsByPytorch ? 'none' : 'products';
}

/** Whether Unsloth runs stacked experts by a loop or by a kernel of its own, by its release, which no run states. */
export function loopDependsOnRelease(run: TrainingRun, accelerator: Accelerator): boolean {
  return (
    run['kernels.unsloth'] &&
    expertLoop(run, accelerator) === 'products' &&
    GROUPED_BY_UNSLOTH.test(accelerator.computeCapability ?? '')
  );
}
