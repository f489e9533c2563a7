import { ELEMENT_BYTES } from '../model/tape';
import type { OptimizerName, TrainingRun } from '../run/fields';

/**
 * What an optimizer keeps per parameter. `state` counts tensors of the stepped type, `fixed` bytes whatever that type
 * is; block-wise quantized states add their fp32 scales.
 */
export interface OptimizerCost {
  /** Tensors of the type that the optimizer steps. */
  readonly tensors: number;
  /** Bytes per parameter whatever the type. */
  readonly fixedBytes: number;
  /** Temporary tensors of the stepped type in a `foreach` step, per parameter. */
  readonly foreachTensors: number;
  /** States live in CUDA managed memory, outside PyTorch's allocator. */
  readonly paged: boolean;
  /** No gradients live together: the step runs inside backward. */
  readonly inBackward: boolean;
  readonly source: string;
}

const TORCH = 'https://github.com/pytorch/pytorch/tree/main/torch/optim';
const BNB =
  'https://github.com/bitsandbytes-foundation/bitsandbytes/blob/main/bitsandbytes/optim/optimizer.py';
const AO = 'https://github.com/pytorch/ao/tree/main/torchao/optim';

function states(tensors: number, foreachTensors: number, source = TORCH): OptimizerCost {
  return { tensors, fixedBytes: 0, foreachTensors, paged: false, inBackward: false, source };
}

/** One byte per state and an fp32 scale per block of 256 (`optimizer.py`, block-wise states). */
const QUANTIZED_STATE = 1 + 4 / 256;

function quantized(count: number, paged: boolean): OptimizerCost {
  return {
    tensors: 0,
    fixedBytes: count * QUANTIZED_STATE,
    foreachTensors: 0,
    paged,
    inBackward: false,
    source: BNB,
  };
}

function paged(count: number): OptimizerCost {
  return {
    tensors: 0,
    fixedBytes: 4 * count,
    foreachTensors: 0,
    paged: true,
    inBackward: false,
    source: BNB,
  };
}

export const OPTIMIZER_COSTS: Readonly<Record<OptimizerName, OptimizerCost>> = {
  adamw: states(2, 1),
  adam: states(2, 1),
  adamax: states(2, 1),
  nadam: states(2, 1),
  radam: states(2, 1),
  adagrad: states(1, 1),
  adadelta: states(2, 1),
  rmsprop: states(1, 1),
  sgd: states(0, 0),
  'sgd-momentum': states(1, 0),
  lion: states(1, 1, 'https://arxiv.org/abs/2302.06675'),
  lamb: states(2, 0, 'https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/ops/lamb/fused_lamb.py'),
  // Row and column statistics are far below a byte per parameter.
  adafactor: states(0, 0),
  'adamw-8bit': quantized(2, false),
  'adam-8bit': quantized(2, false),
  'lion-8bit': quantized(1, false),
  'paged-adamw': paged(2),
  'paged-adamw-8bit': quantized(2, true),
  'paged-lion': paged(1),
  'paged-lion-8bit': quantized(1, true),
  'ao-adamw-8bit': { ...quantized(2, false), source: AO },
  'ao-adamw-4bit': {
    tensors: 0,
    fixedBytes: 2 * (0.5 + 4 / 128),
    foreachTensors: 0,
    paged: false,
    inBackward: false,
    source: AO,
  },
  ademamix: states(3, 1, 'https://arxiv.org/abs/2409.03137'),
  muon: states(1, 0, 'https://github.com/KellerJordan/Muon'),
  'galore-adamw': states(0.5, 0, 'https://arxiv.org/abs/2403.03507'),
  'apollo-adamw': states(0.5, 0, 'https://arxiv.org/abs/2412.05270'),
  lomo: { ...states(0, 0, 'https://arxiv.org/abs/2306.09782'), inBackward: true },
  adalomo: { ...states(0, 0, 'https://arxiv.org/abs/2310.10195'), inBackward: true },
  'onebit-adam': states(3, 0, 'https://arxiv.org/abs/2102.02888'),
  'zero-one-adam': states(3, 0, 'https://arxiv.org/abs/2202.06009'),
  'onebit-lamb': states(3, 0, 'https://arxiv.org/abs/2104.06069'),
};

/** Bytes per parameter of the optimizer's states on the device; `stepBytes` is the size of what it steps. */
export function stateBytes(run: TrainingRun, stepBytes: number): number {
  const cost = OPTIMIZER_COSTS[run['optimizer.name']];
  const dtype = run['precision.optimizerStates'];
  const width = dtype === undefined ? stepBytes : ELEMENT_BYTES[dtype];
  return cost.tensors * width + cost.fixedBytes;
}

/**
 * Temporary bytes during the step over `elements` of which the largest tensor has `largest`. PyTorch's default on CUDA
 * is `foreach`, which makes whole lists of temporaries; a `for` loop makes two tensors at a time; fused kernels none.
 */
export function stepTransient(
  run: TrainingRun,
  elements: number,
  largest: number,
  stepBytes: number,
): number {
  const cost = OPTIMIZER_COSTS[run['optimizer.name']];
  switch (run['optimizer.implementation'] ?? 'foreach') {
    case 'foreach':
      return cost.foreachTensors * elements * stepBytes;
    case 'for-loop':
      return cost.foreachTensors > 0 ? 2 * Math.min(elements, largest) * stepBytes : 0;
    default:
      return 0;
  }
}
