import { type Accelerator, isModelled } from '../hardware/accelerator';
import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';
import { type Band, sumOfBands } from './band';

const MIB = 2 ** 20;

/** A card whose number is not known is taken for one of the larger ones. */
const UNKNOWN_MULTIPROCESSORS = 132;

/** Threads that a multiprocessor holds, by compute capability (CUDA C++ programming guide, technical specifications). */
function residentThreads(computeCapability: string | undefined): number {
  if (computeCapability === '7.5') return 1024;
  return /^(8\.[69]|12\.)/.test(computeCapability ?? '') ? 1536 : 2048;
}

/**
 * A stack for each thread that the card can hold, 1 KiB by default: 216 MiB on A100 (arcs-skku/EMDC_llvm#13). The driver
 * reserves stack x multiprocessors x threads (NVlabs/cuda-oxide#699; measured on H100, cms-sw/cmssw#51395).
 */
function stackBytes({ multiprocessors = UNKNOWN_MULTIPROCESSORS, computeCapability }: Accelerator): number {
  return 1024 * multiprocessors * residentThreads(computeCapability);
}

/**
 * What the driver takes beside the stacks: 160 MiB of an empty context's 320 on Titan V with CUDA 10 (pytorch#28394), 213 of
 * 426 on RTX 6000 Ada with CUDA 13 (unsloth-zoo#1053).
 */
const DRIVER: Band = { lower: 160 * MIB, likely: 187 * MIB, upper: 213 * MIB };

/** Drivers of the time of torch 1. */
const OLD_DRIVER: Band = { ...DRIVER, likely: DRIVER.lower };

/**
 * Kernels that are loaded when first used, since torch 1.13 and CUDA 11.7 (pytorch#86509): those of cuBLAS, cuDNN, flash
 * attention and PyTorch itself that a run comes by. Users report 300 to 400 MB for a first tensor (pytorch#107667, #109888)
 * and up to 650 MiB with cuBLAS and cuDNN loaded, which on the cards above leaves 224.
 */
const LAZY_KERNELS: Band = { lower: 0, likely: 112 * MIB, upper: 224 * MIB };

/**
 * All kernels of the library, loaded with the context before torch 1.13: 685 MiB with CUDA 10 (Titan V, torch 1.3,
 * pytorch#28394: 1005 of which 320 are the context's); with CUDA 11 1023 (V100, 1343 MB in transformers' guide of 2022,
 * `perf_train_gpu_one.md`) to 1205 (RTX 3090, torch 1.7, pytorch#49877: 1644 MiB with a tensor of 156).
 */
const ALL_KERNELS: Band = { lower: 685 * MIB, likely: 1023 * MIB, upper: 1205 * MIB };

/** What AMD's runtime takes is not published by card: NVIDIA's range over all cards. */
const OTHER_VENDORS: Band = { lower: 300 * MIB, likely: 500 * MIB, upper: 700 * MIB };

/** Context of a process and the kernels loaded in it, outside the allocator. */
export function contextBand(run: TrainingRun, accelerator: Accelerator): Band {
  // What other runtimes take is not known, and no number stands for it.
  if (!isModelled(accelerator)) return { lower: 0, likely: 0, upper: 0 };
  if (accelerator.vendor !== 'NVIDIA') return OTHER_VENDORS;
  const stacks = stackBytes(accelerator);
  const fixed = { lower: stacks, likely: stacks, upper: stacks };
  return sumOfBands(
    behaviours(run).loadsAllKernels ? [OLD_DRIVER, fixed, ALL_KERNELS] : [DRIVER, fixed, LAZY_KERNELS],
  );
}
