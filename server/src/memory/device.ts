import type { Accelerator } from '../hardware/accelerator';
import type { TrainingRun } from '../run/fields';
import { emptyLedger, type Ledger, post } from './ledger';

const MIB = 2 ** 20;

/**
 * Handles of cuBLAS that a training process has: every thread takes one of its own (`CublasHandlePool.cpp`, a
 * `thread_local` window of the pool), and autograd runs backward in a thread of the device (`engine.cpp`). A workspace
 * belongs to a handle and a stream, is made at the first product, and stays.
 */
export const HANDLES = 2;

/**
 * Workspace of cuBLAS for one handle and stream, inside PyTorch's allocator: 32 MiB on Hopper, 8 MiB and 128 KiB on other
 * NVIDIA cards, 128 MiB on MI300 and its successors, 32 MiB on other AMD cards (`CublasHandlePool.cpp`,
 * `parseChosenWorkspaceSize`).
 */
export function workspaceBytes(accelerator: Accelerator): number {
  if (accelerator.vendor === 'NVIDIA')
    return accelerator.computeCapability?.startsWith('9.') ? 32 * MIB : 8_519_680;
  if (accelerator.vendor === 'AMD') return (/mi3\d\d/i.test(accelerator.name) ? 128 : 32) * MIB;
  return 0;
}

/** A quantity that is known as a range only. Bytes per GPU. */
export interface Band {
  readonly lower: number;
  readonly likely: number;
  readonly upper: number;
}

/**
 * CUDA context and loaded kernels, outside the allocator. Kernels are loaded when first used since torch 1.13 and CUDA
 * 11.7: 274 MiB with the first tensor (pytorch#86509), 300 to 400 MB as users report them (pytorch#107667, #109888), 426 MiB
 * for the empty context alone with CUDA 13 on Ada (unsloth-zoo#1053), up to 650 MiB once cuBLAS and cuDNN modules are
 * loaded.
 */
export const CUDA_CONTEXT: Band = { lower: 300 * MIB, likely: 500 * MIB, upper: 650 * MIB };

/**
 * The same before torch 1.13, which was the first to load kernels lazily (`torch/cuda/__init__.py`,
 * `CUDA_MODULE_LOADING`): every kernel of the library is loaded with the context. transformers' guide measured 1343 MB
 * for a first tensor of one element on a V100 (`docs/source/en/perf_train_gpu_one.md` of 2022).
 */
const EAGER_CONTEXT: Band = { lower: 1000 * MIB, likely: 1343 * MIB, upper: 1600 * MIB };

function contextOf(run: TrainingRun): Band {
  const [major = 0, minor = 0] = run['version.torch'].split('.').map(Number);
  return major === 1 && minor < 13 ? EAGER_CONTEXT : CUDA_CONTEXT;
}

/**
 * NCCL's buffers, outside the allocator, per communicator: 4 MiB per channel and peer for the Simple protocol and less for
 * the others (`NCCL_BUFFSIZE`; nccl#285, #1450). Rings have 2 peers, and 16 to 32 channels with NVLink, 2 to 8 without: 16
 * to 256 MiB and the others' share; all-to-all and trees connect more (nccl#864: 1.6 GB after a first all-reduce).
 */
const COMMUNICATOR: Band = { lower: 100 * MIB, likely: 300 * MIB, upper: 1600 * MIB };

/** Communicators that a run opens: data, tensor, pipeline, context and expert groups each have their own. */
export function communicators(run: TrainingRun): number {
  if (run['hardware.gpus'] <= 1) return 0;
  const groups = [
    'parallel.tensor',
    'parallel.pipeline',
    'parallel.context',
    'parallel.ulysses',
    'parallel.expert',
  ] as const;
  return 1 + groups.filter((group) => run[group] > 1).length;
}

/** Memory of the process outside PyTorch's allocator. */
export function outsideAllocator(run: TrainingRun): Band {
  const count = communicators(run);
  const context = contextOf(run);
  return {
    lower: context.lower + (count > 0 ? COMMUNICATOR.lower : 0),
    likely: context.likely + count * COMMUNICATOR.likely,
    upper: context.upper + (count > 0 ? COMMUNICATOR.upper : 0),
  };
}

/** Allocations that last the whole run whatever the scheme. */
export function constants(run: TrainingRun, accelerator: Accelerator, capacityBytes: number): Ledger {
  const ledger = emptyLedger();
  post(ledger, 'workspaces', HANDLES * workspaceBytes(accelerator));
  // An engine that sleeps gives its memory back while the model trains.
  const sleeps = run['rollout.engine'] === 'vllm-colocate' && run['rollout.sleep'];
  const share = sleeps ? 0 : run['hardware.reservedFraction'];
  post(ledger, 'reserved-for-others', share * capacityBytes);
  return ledger;
}
