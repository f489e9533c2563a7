import type { Estimate } from '../results/estimate';
import type { TrainingRun } from '../run/fields';
import { isAssumed } from '../run/resolve';
import { isAtLeast } from '../terms/version';
import type { Estimated } from './changed-run';

/**
 * Frameworks that leave PyTorch's allocator as the environment has it. Others choose themselves: Axolotl's command line, LLaMA-Factory's launcher
 * of several processes and llm-foundry let segments grow, verl and NeMo-RL turn that on and off around what generates.
 */
const LEAVE_THE_ALLOCATOR: ReadonlySet<string | undefined> = new Set([
  undefined,
  'transformers',
  'trl',
  'accelerate',
  'deepspeed',
  'torchtune',
  'litgpt',
  'ms-swift',
  'megatron',
]);

/**
 * Whether the segments of PyTorch's allocator may be made to grow: from torch 2.1 on
 * (https://github.com/pytorch/pytorch/pull/96995), on NVIDIA's cards, and where nothing of the run stops on it. Who names other settings of the
 * allocator has chosen.
 */
export function maySegmentsGrow({
  accelerator,
  resolved,
}: Pick<Estimated, 'accelerator' | 'resolved'>): boolean {
  const { run, origins } = resolved;
  return (
    run !== undefined &&
    isAssumed(origins['allocator.expandableSegments']) &&
    run['allocator.maxSplit'] === undefined &&
    accelerator.vendor === 'NVIDIA' &&
    isAtLeast(run['version.torch'], '2.1') !== false &&
    LEAVE_THE_ALLOCATOR.has(run.framework) &&
    run['model.code'] !== 'tensorflow' &&
    !run['kernels.unsloth'] &&
    !stopsOnIt(run)
  );
}

/**
 * The pool of a vLLM that sleeps beside the trainer (https://github.com/vllm-project/vllm/blob/v0.11.0/vllm/device_allocator/cumem.py), and
 * Megatron-LM's CUDA graphs (https://github.com/NVIDIA/Megatron-LM/blob/core_v0.19.0/megatron/core/transformer/cuda_graphs.py) and buffers that
 * communicators share.
 */
const stopsOnIt = (run: TrainingRun): boolean =>
  run['rollout.engine'] === 'vllm-colocate' ||
  run['parallel.userBuffers'] ||
  run['features.unmodelled'].includes('cuda-graphs');

/** Whether what the allocator holds beyond what is handed out may decide: without any of it the run would fit. */
export function isFragmented({ peak, parts, capacityBytes }: Estimate): boolean {
  const overhead = parts.find(({ category }) => category === 'allocator-overhead')?.bytes ?? 0;
  return overhead > 0 && peak.upperBytes - overhead <= capacityBytes;
}
