import type { Accelerator } from '../hardware/accelerator';
import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';
import { type Band, sumOfBands } from './band';
import { communicatorBands } from './communicators';
import { contextBand } from './cuda-context';
import { emptyLedger, type Ledger, post } from './ledger';
import { postOtherModels } from './other-models';
import { userBufferBand } from './user-buffers';

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
function workspaceBytes(accelerator: Accelerator): number {
  if (accelerator.vendor === 'NVIDIA')
    return accelerator.computeCapability?.startsWith('9.') ? 32 * MIB : 8_519_680;
  if (accelerator.vendor === 'AMD') return (/mi3\d\d/i.test(accelerator.name) ? 128 : 32) * MIB;
  return 0;
}

/** Bytes of one handle's workspace: as `CUBLAS_WORKSPACE_CONFIG` has it, else as PyTorch does, on Blackwell by its version. */
export function handleBytes(run: TrainingRun, accelerator: Accelerator): number {
  if (accelerator.vendor !== 'NVIDIA') return workspaceBytes(accelerator);
  const blackwell = /^1[02]\./.test(accelerator.computeCapability ?? '');
  const wide = blackwell && behaviours(run).hasWideBlackwellWorkspaces;
  return run['allocator.cublasWorkspace'] ?? (wide ? 32 * MIB : workspaceBytes(accelerator));
}

/** Streams that Transformer Engine runs the products of a group on (`nvte_get_num_compute_streams`). */
const GROUP_STREAMS = 4;

/**
 * Workspaces of Transformer Engine's own calls of cuBLASLt, each made once and kept (`pytorch/cpp_extensions/gemm.py`,
 * `get_cublas_workspace`): one for plain products, one for each stream of grouped ones. 32 MiB and 1 KiB since Hopper, 4 MiB before.
 */
export function transformerEngineWorkspaces(run: TrainingRun, accelerator: Accelerator): readonly number[] {
  const used = run['kernels.transformerEngine'] ?? run['precision.fp8'] === 'transformer-engine';
  if (!used || accelerator.vendor !== 'NVIDIA') return [];
  const major = Number(accelerator.computeCapability?.split('.')[0] ?? 0);
  const each = major >= 9 ? 32 * MIB + 1024 : 4 * MIB;
  return Array.from({ length: run['kernels.groupedExperts'] ? 1 + GROUP_STREAMS : 1 }, () => each);
}

/** Memory of the process outside PyTorch's allocator: context, kernels, buffers of communicators. `hiddenSize` is the model's; without it buffers of its width are left out. */
export function outsideAllocator(run: TrainingRun, accelerator: Accelerator, hiddenSize = 0): Band {
  const measured = run['hardware.outsideAllocator'];
  if (measured !== undefined) return { lower: measured, likely: measured, upper: measured };
  const buffers = [...communicatorBands(run, accelerator), ...userBufferBand(run, hiddenSize)];
  return sumOfBands([contextBand(run, accelerator), ...buffers]);
}

/** What of the card neither tensors nor the allocator's cache take: the process's own memory outside, and other processes. */
export function besideAllocator(run: TrainingRun, accelerator: Accelerator, hiddenSize: number): Band {
  const others = run['hardware.otherProcesses'];
  return sumOfBands([
    outsideAllocator(run, accelerator, hiddenSize),
    { lower: others, likely: others, upper: others },
  ]);
}

/** Allocations that last the whole run whatever the scheme. */
export function constants(run: TrainingRun, accelerator: Accelerator, capacityBytes: number): Ledger {
  const ledger = emptyLedger();
  post(ledger, 'workspaces', HANDLES * handleBytes(run, accelerator));
  for (const bytes of transformerEngineWorkspaces(run, accelerator)) post(ledger, 'workspaces', bytes);
  postOtherModels(ledger, run);
  // An engine that sleeps gives its memory back while the model trains.
  // One that shares the weights is counted beside them (`shared-engine.ts`).
  const colocated = run['rollout.engine'] === 'vllm-colocate';
  const counted = colocated && (run['rollout.sleep'] || run['rollout.sharesWeights']);
  const share = counted ? 0 : run['hardware.reservedFraction'];
  post(ledger, 'reserved-for-others', share * capacityBytes);
  return ledger;
}
