import type { Accelerator } from '../hardware/accelerator';
import type { TrainingRun } from '../run/fields';
import { emptyLedger, type Ledger, post } from './ledger';

const MIB = 2 ** 20;

/**
 * cuBLAS workspace of one handle and stream, inside PyTorch's allocator: 32 MiB on Hopper, 8 MiB and 128 KiB else
 * (`CublasHandlePool.cpp`, `getChosenWorkspaceSize`).
 */
export function workspaceBytes(accelerator: Accelerator): number {
  if (accelerator.vendor !== 'NVIDIA') return 0;
  return accelerator.computeCapability?.startsWith('9.') ? 32 * MIB : 8_519_680;
}

/** A quantity that is known as a range only. Bytes per GPU. */
export interface Band {
  readonly lower: number;
  readonly likely: number;
  readonly upper: number;
}

/**
 * CUDA context and loaded kernels, outside the allocator. With lazy loading (CUDA 11.7 and later) about 300 MB are
 * reported (pytorch#107667), up to 650 MiB once cuBLAS and cuDNN modules are loaded.
 */
export const CUDA_CONTEXT: Band = { lower: 300 * MIB, likely: 500 * MIB, upper: 650 * MIB };

/**
 * NCCL's channel buffers, outside the allocator, per communicator: they grow with channels and peers
 * (NVIDIA/nccl#864 reports 1.6 GB after a first all-reduce on many channels).
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
  return {
    lower: CUDA_CONTEXT.lower + (count > 0 ? COMMUNICATOR.lower : 0),
    likely: CUDA_CONTEXT.likely + count * COMMUNICATOR.likely,
    upper: CUDA_CONTEXT.upper + (count > 0 ? COMMUNICATOR.upper : 0),
  };
}

/** Allocations that last the whole run whatever the scheme. */
export function constants(run: TrainingRun, accelerator: Accelerator, capacityBytes: number): Ledger {
  const ledger = emptyLedger();
  post(ledger, 'workspaces', workspaceBytes(accelerator));
  post(ledger, 'reserved-for-others', run['hardware.reservedFraction'] * capacityBytes);
  return ledger;
}
