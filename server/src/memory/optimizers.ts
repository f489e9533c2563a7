import { ELEMENT_BYTES, type Weight } from '../model/tape';
import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';
import { targetPattern } from '../run/module-pattern';
import {
  ADAM_MINI,
  APOLLO,
  BITSANDBYTES,
  CAME,
  DEEPSPEED,
  fileIn,
  GALORE,
  GROKADAMW,
  LION,
  OLMO,
  OLMO_CORE,
  OPTIMI,
  PYTORCH,
  PYTORCH_OPTIMIZER,
  SCHEDULE_FREE,
  SOPHIA,
  TORCHAO,
  TORCHDISTX,
  TRANSFORMERS,
} from '../sources/repositories';
import type { OptimizerName } from '../terms/optimizers';

/** A trained weight that an optimizer steps, with how often it occurs in the stage's copies. Per GPU, unsharded. */
export interface SteppedTensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly elements: number;
  readonly copies: number;
  readonly role: Weight['role'];
}

/** How a step runs: torch's three ways, weight by weight in Python, over whole lists, or in a kernel of its own. */
type Steps = 'torch' | 'loop' | 'lists' | 'kernel';

/**
 * What an optimizer keeps, and what it needs while it steps. `test/oracle/optimizers.py` records both of the real ones.
 */
interface OptimizerCost {
  /** State tensors of the type that the optimizer steps. */
  readonly tensors: number;
  /** State bytes per parameter whatever the type. */
  readonly fixedBytes: number;
  /** State bytes of one weight where they depend on its shape; `width` is the size of an element that is stepped. */
  readonly stateOf?: (weight: SteppedTensor, width: number, run: TrainingRun) => number;
  readonly steps: Steps;
  /** Temporary tensors of the stepped type per parameter when whole lists are stepped. */
  readonly listTensors: number;
  /** The same in bytes where states of another type count: of an element that is stepped, and of a state's. */
  readonly listBytes?: (width: number, states: number) => number;
  /** The same beside the largest weight, weight by weight. */
  readonly loopTensors: number;
  /** The loop's variables name them until the next weight has its own. */
  readonly loopNamed?: boolean;
  /** So many of the weight before are there beside all of the next one's. */
  readonly loopKept?: number;
  /** Temporary bytes for one weight, where they are not a number of its copies. */
  readonly stepOf?: (weight: SteppedTensor, width: number, run: TrainingRun) => number;
  /** Bytes per parameter of states in CUDA managed memory, outside PyTorch's allocator. */
  readonly paged: boolean;
  /** No gradients live together: the step runs inside backward. */
  readonly inBackward: boolean;
  readonly source: string;
}

const BNB = fileIn(BITSANDBYTES, 'bitsandbytes/optim/optimizer.py');
const AO = fileIn(TORCHAO, 'torchao/optim');
const HF_OPTIMIZATION = fileIn(TRANSFORMERS, 'src/transformers/optimization.py');
const GALORE_PROJECTOR = fileIn(GALORE, 'galore_torch/galore_projector.py');
const APOLLO_STEPS = fileIn(APOLLO, 'apollo_torch/apollo.py');
const SCHEDULE_FREE_STEPS = fileIn(SCHEDULE_FREE, 'schedulefree');
const COLLECTION = fileIn(PYTORCH_OPTIMIZER, 'pytorch_optimizer/optimizer');

const PLAIN = {
  tensors: 0,
  fixedBytes: 0,
  steps: 'kernel',
  listTensors: 0,
  loopTensors: 0,
  paged: false,
  inBackward: false,
} as const;

/** `torch.optim` classes: state tensors, temporaries of a `foreach` step, temporaries weight by weight. */
function ofTorch(
  tensors: number,
  listTensors: number,
  loopTensors: number,
  loopNamed = false,
): OptimizerCost {
  return {
    ...PLAIN,
    tensors,
    steps: 'torch',
    listTensors,
    loopTensors,
    loopNamed,
    source: fileIn(PYTORCH, 'torch/optim'),
  };
}

/** Steps weight by weight in Python. */
function looped(tensors: number, loopTensors: number, source: string): OptimizerCost {
  return { ...PLAIN, tensors, steps: 'loop', loopTensors, source };
}

function inKernel(tensors: number, source: string): OptimizerCost {
  return { ...PLAIN, tensors, source };
}

/** bitsandbytes quantizes the states of no smaller tensor (`min_8bit_size`), nor does torchao. */
const SMALLEST_QUANTIZED = 4096;

/** bitsandbytes pages no smaller tensor (`optimizer.py`, `get_state_buffer`). */
const SMALLEST_PAGED = 100_000;

function blocks(elements: number, size: number): number {
  return Math.ceil(elements / size);
}

/** Elements that share a scale (bitsandbytes, `optim/optimizer.py`, `blocksize`; torchao's stand with each). */
const SCALED_BLOCK = 256;

function isWide(weight: SteppedTensor, run: TrainingRun): boolean {
  const embedding = run['optimizer.wideEmbeddings'] && weight.role === 'embedding';
  return weight.elements < SMALLEST_QUANTIZED || embedding;
}

/** bitsandbytes: a byte per state and an fp32 scale per block; tensors below 4096 elements keep fp32 states. */
function quantized(count: number, paged = false): OptimizerCost {
  return {
    ...PLAIN,
    fixedBytes: count * (1 + 4 / SCALED_BLOCK),
    stateOf: (weight, _width, run) =>
      isWide(weight, run)
        ? 4 * count * weight.elements
        : count * (weight.elements + 4 * blocks(weight.elements, run['optimizer.blockSize'] ?? SCALED_BLOCK)),
    paged,
    source: BNB,
  };
}

/** bitsandbytes' 32-bit optimizers keep fp32 states whatever the weights are. */
function wide(count: number, paged = false): OptimizerCost {
  return { ...PLAIN, fixedBytes: 4 * count, paged, source: BNB };
}

/** torchao: whole blocks only; other tensors keep states of their own type. */
function lowBit(bytes: number, block: number): OptimizerCost {
  return {
    ...PLAIN,
    fixedBytes: 2 * (bytes + 4 / block),
    stateOf: ({ elements }, width, run) => {
      const size = run['optimizer.blockSize'] ?? block;
      if (elements < SMALLEST_QUANTIZED || elements % size !== 0) return 2 * width * elements;
      return 2 * (bytes * elements + (4 * elements) / size);
    },
    source: AO,
  };
}

/** A flat part of the weights, as ZeRO and FSDP 1 step it, has one dimension: nothing can be factored or projected. */
function isMatrix({ shape }: SteppedTensor): boolean {
  return shape.length >= 2;
}

function sides({ shape, elements }: SteppedTensor): { rows: number; columns: number } {
  const columns = shape.at(-1) ?? 1;
  return { rows: elements / columns, columns };
}

/** Row and column statistics: a mean over each of the last two dimensions; vectors keep one value per element. */
function factored(weight: SteppedTensor): number {
  if (!isMatrix(weight)) return weight.elements;
  const last = weight.shape.at(-1) ?? 1;
  const before = weight.shape.at(-2) ?? 1;
  return weight.elements / last + weight.elements / before;
}

/** Which weights GaLore, APOLLO and Muon treat as matrices of linear layers. */
function isTreated(weight: SteppedTensor, run: TrainingRun): boolean {
  if (!isMatrix(weight)) return false;
  const targets = run['optimizer.targets'];
  if (targets.length === 0 || targets.includes('all-linear')) {
    return weight.role === 'matrix' || weight.role === 'adapter';
  }
  return targets.some((target) => targetPattern(target).test(weight.name.replace(/\.weight$/, '')));
}

interface Projection {
  readonly rank: number;
  readonly long: number;
  readonly short: number;
}

function projection(weight: SteppedTensor, run: TrainingRun): Projection {
  const { rows, columns } = sides(weight);
  const short = Math.min(rows, columns);
  return { rank: Math.min(run['optimizer.rank'], short), long: Math.max(rows, columns), short };
}

/**
 * GaLore keeps the projector and states of the projected gradient. Of fp32 gradients the projector is a view, so the whole
 * square factor of the decomposition stays (`galore_projector.py`, `get_orthogonal_matrix`).
 */
function galore(rest: OptimizerCost, moments: (elements: number, width: number) => number): OptimizerCost {
  return {
    ...rest,
    stateOf: (weight, width, run) => {
      if (!isTreated(weight, run)) return stateOf(rest, weight, width, run);
      const { rank, long, short } = projection(weight, run);
      return (width === 4 ? short * short : rank * short) * width + moments(rank * long, width);
    },
    stepOf: (weight, width, run) => {
      if (!isTreated(weight, run)) return 2 * width * weight.elements;
      // The decomposition of the fp32 gradient: the copy that it overwrites, the cast itself, both factors; and the update
      // of the weight before, which the loop still names.
      const { long, short } = projection(weight, run);
      const copies = 4 * weight.elements * (width === 4 ? 1 : 2);
      return copies + 4 * (long * short + short * short) + width * weight.elements;
    },
    steps: 'loop',
    source: GALORE_PROJECTOR,
  };
}

/** APOLLO keeps the random projector too; then it scales the gradient itself, in a few tensors of its size. */
function apollo(): OptimizerCost {
  return {
    ...PLAIN,
    tensors: 2,
    stateOf: (weight, width, run) => {
      if (!isTreated(weight, run)) return 2 * width * weight.elements;
      const { rank, long, short } = projection(weight, run);
      return (rank * short + 2 * rank * long) * width;
    },
    stepOf: (weight, width, run) => {
      if (!isTreated(weight, run)) return 2 * width * weight.elements;
      const { rank, long } = projection(weight, run);
      return width * (2 * weight.elements + 3 * rank * long);
    },
    steps: 'loop',
    source: APOLLO_STEPS,
  };
}

/**
 * Muon: one momentum for matrices, AdamW for the rest. The iteration works in bf16 (`torch/optim/_muon.py`,
 * `_zeropower_via_newtonschulz`).
 */
function muon(): OptimizerCost {
  return {
    ...PLAIN,
    tensors: 1,
    stateOf: (weight, width, run) => (isTreated(weight, run) ? 1 : 2) * width * weight.elements,
    stepOf: (weight, width, run) => {
      if (!isTreated(weight, run)) return 2 * width * weight.elements;
      const { long, short } = projection(weight, run);
      // The update, its bf16 copy, the next iterate, and two Gram matrices.
      return width * weight.elements + 2 * (2 * long * short + 2 * short * short);
    },
    steps: 'loop',
    source: fileIn({ ...PYTORCH, at: 'v2.9.0' }, 'torch/optim/_muon.py'),
  };
}

/**
 * Adafactor of transformers: fp32 statistics of rows and columns; the update is made in fp32, of weights in another type
 * through fp32 copies of weight and gradient.
 */
const ADAFACTOR: OptimizerCost = {
  ...PLAIN,
  stateOf: (weight, _width, run) => 4 * factored(weight) + 4 * run['optimizer.extraStates'] * weight.elements,
  stepOf: ({ elements }, width) => 4 * elements * (width === 4 ? 2 : 4),
  steps: 'loop',
  source: HF_OPTIMIZATION,
};

/** Shampoo and SOAP keep square statistics of each side that is not too long (Shampoo: of vectors too), and factors of them. */
function preconditioned(tensors: number, longest: number, vectors: boolean): OptimizerCost {
  return {
    ...PLAIN,
    tensors,
    stateOf: (weight, width) => {
      let squares = 0;
      if (vectors || isMatrix(weight)) {
        for (const side of weight.shape) if (side <= longest) squares += 2 * side * side;
      }
      return width * (tensors * weight.elements + squares);
    },
    steps: 'loop',
    loopTensors: 3,
    source: COLLECTION,
  };
}

export const OPTIMIZER_COSTS: Readonly<Record<OptimizerName, OptimizerCost>> = {
  adamw: ofTorch(2, 1, 2),
  // L2 decay adds to the gradients: one more temporary weight by weight; `foreach` frees it before its own.
  adam: ofTorch(2, 1, 3),
  adamax: ofTorch(2, 1, 1),
  nadam: ofTorch(2, 1, 2),
  radam: ofTorch(2, 1, 2),
  adagrad: ofTorch(1, 2, 1, true),
  adadelta: ofTorch(2, 2, 2, true),
  rmsprop: ofTorch(1, 1, 1, true),
  rprop: ofTorch(2, 1, 3),
  asgd: ofTorch(1, 1, 0),
  // A history of 100 steps and directions by default, and the flat gradient and direction (`lbfgs.py`).
  lbfgs: { ...ofTorch(203, 0, 0), steps: 'kernel' },
  sgd: ofTorch(0, 0, 0),
  'sgd-momentum': ofTorch(1, 0, 0),
  lion: looped(1, 2, fileIn(LION, 'lion_pytorch/lion_pytorch.py')),
  // The two parts of the update and their sum; the sum and its sign of the weight before have names.
  lionw: { ...looped(1, 3, fileIn(OLMO, 'olmo/optim.py')), loopKept: 2 },
  // Squares of the gradients, denominators and updates have names to the end; gradients are copied into another type.
  'skip-step-adamw': {
    ...ofTorch(2, 3, 3),
    listBytes: (width, states) => (states === width ? 3 : 4) * states,
    source: fileIn(OLMO_CORE, 'src/olmo_core/optim/adamw.py'),
  },
  lamb: inKernel(2, fileIn(DEEPSPEED, 'deepspeed/ops/lamb/fused_lamb.py')),
  lars: looped(1, 1, COLLECTION),
  adafactor: ADAFACTOR,
  'torch-adafactor': {
    ...ofTorch(0, 1, 1, true),
    stateOf: (weight, width) => width * factored(weight),
  },
  adabelief: looped(2, 2, COLLECTION),
  adan: looped(4, 2, fileIn(OPTIMI, 'optimi/adan.py')),
  'adam-mini': looped(1, 2, fileIn(ADAM_MINI, 'adam_mini/adam_mini.py')),
  came: {
    ...PLAIN,
    // Two pairs of statistics of rows and columns beside the momentum, all fp32.
    stateOf: (weight) => 4 * (weight.elements + (isMatrix(weight) ? 2 : 1) * factored(weight)),
    stepOf: ({ elements }, width) => 4 * elements * (width === 4 ? 3 : 4),
    steps: 'loop',
    source: fileIn(CAME, 'came_pytorch/CAME.py'),
  },
  sophia: looped(2, 1, fileIn(SOPHIA, 'sophia.py')),
  prodigy: looped(4, 2, COLLECTION),
  shampoo: preconditioned(1, Number.POSITIVE_INFINITY, true),
  soap: preconditioned(2, 10_000, false),
  'adamw-32bit': wide(2),
  'lion-32bit': wide(1),
  'rmsprop-32bit': wide(1),
  'adagrad-32bit': wide(1),
  'sgd-32bit': wide(1),
  'lamb-32bit': wide(2),
  'adamw-8bit': quantized(2),
  'adam-8bit': quantized(2),
  'lion-8bit': quantized(1),
  'rmsprop-8bit': quantized(1),
  'adagrad-8bit': quantized(1),
  'sgd-8bit': quantized(1),
  'lamb-8bit': quantized(2),
  'ademamix-8bit': quantized(3),
  'paged-adamw': wide(2, true),
  'paged-adamw-8bit': quantized(2, true),
  'paged-lion': wide(1, true),
  'paged-lion-8bit': quantized(1, true),
  'paged-ademamix': wide(3, true),
  'paged-ademamix-8bit': quantized(3, true),
  'ao-adamw-8bit': lowBit(1, 256),
  'ao-adamw-4bit': lowBit(0.5, 128),
  'ao-adamw-fp8': lowBit(1, 256),
  ademamix: wide(3),
  'anyprecision-adamw': {
    ...looped(0, 2, fileIn(TORCHDISTX, 'src/python/torchdistx/optimizers/anyprecision_optimizer.py')),
    fixedBytes: 8,
  },
  // Kahan summation is on for 16-bit weights unless set otherwise; Triton kernels step.
  'stable-adamw': {
    ...inKernel(2, fileIn(OPTIMI, 'optimi/stableadamw.py')),
    stateOf: ({ elements }, width) => elements * (2 * width + (width < 4 ? 2 : 0)),
  },
  grokadamw: looped(3, 2, fileIn(GROKADAMW, 'grokadamw/grokadamw.py')),
  'schedule-free-adamw': { ...inKernel(2, SCHEDULE_FREE_STEPS), steps: 'lists', listTensors: 1 },
  'schedule-free-radam': inKernel(2, SCHEDULE_FREE_STEPS),
  'schedule-free-sgd': inKernel(1, SCHEDULE_FREE_STEPS),
  muon: muon(),
  'galore-adamw': galore(looped(2, 2, GALORE_PROJECTOR), (elements, width) => 2 * width * elements),
  'galore-adamw-8bit': galore(
    quantized(2),
    (elements) => 2 * (elements + 4 * blocks(elements, SCALED_BLOCK)),
  ),
  'galore-adafactor': galore(ADAFACTOR, () => 0),
  'q-galore-adamw-8bit': galore(
    quantized(2),
    (elements) => 2 * (elements + 4 * blocks(elements, SCALED_BLOCK)),
  ),
  'apollo-adamw': apollo(),
  lomo: { ...inKernel(0, 'https://arxiv.org/abs/2306.09782'), inBackward: true },
  adalomo: {
    ...inKernel(0, 'https://arxiv.org/abs/2310.10195'),
    stateOf: (weight) => 4 * factored(weight),
    inBackward: true,
  },
  // Momentum, variance, error feedback of the worker; the server's share of errors is small (`onebit/adam.py`).
  'onebit-adam': looped(3, 2, fileIn(DEEPSPEED, 'deepspeed/runtime/fp16/onebit/adam.py')),
  // One accumulator of momentum more.
  'zero-one-adam': looped(4, 2, fileIn(DEEPSPEED, 'deepspeed/runtime/fp16/onebit/zoadam.py')),
  'onebit-lamb': looped(4, 2, fileIn(DEEPSPEED, 'deepspeed/runtime/fp16/onebit/lamb.py')),
};

function stateOf(cost: OptimizerCost, weight: SteppedTensor, width: number, run: TrainingRun): number {
  if (cost.stateOf) return cost.stateOf(weight, width, run);
  return weight.elements * (cost.tensors * width + cost.fixedBytes);
}

/** Bytes of what an option adds to the states of every weight. */
function optionBytes(run: TrainingRun, width: number): number {
  const extra = run['optimizer.name'] === 'adafactor' ? 0 : run['optimizer.extraStates'];
  // What rounding to 16 bits loses is kept in 16 bits.
  const compensated =
    run['optimizer.compensation'] && (width < 4 || run['optimizer.name'] === 'anyprecision-adamw');
  return extra * width + (compensated ? 2 : 0);
}

/** Type of the states, where it is not that of what is stepped. */
function stateWidth(run: TrainingRun, stepBytes: number): number {
  const dtype = run['precision.optimizerStates'];
  return dtype === undefined ? stepBytes : ELEMENT_BYTES[dtype];
}

/** ZeRO and FSDP 1 step flat pieces of one dimension; DeepSpeed gives Muon whole matrices. */
function flattened(run: TrainingRun, tensors: readonly SteppedTensor[]): readonly SteppedTensor[] {
  const data = run['parallel.data'];
  const zero = data === 'zero' && run['optimizer.name'] !== 'muon';
  if (!zero && data !== 'fsdp1') return tensors;
  return tensors.map((weight) => ({ ...weight, shape: [weight.elements] }));
}

/** Mean over all elements of what `bytesOf` states for each weight; `otherwise` where no weight is known. */
function mean(
  tensors: readonly SteppedTensor[],
  bytesOf: (weight: SteppedTensor) => number,
  otherwise: number,
): number {
  let bytes = 0;
  let elements = 0;
  for (const weight of tensors) {
    bytes += weight.copies * bytesOf(weight);
    elements += weight.copies * weight.elements;
  }
  return elements > 0 ? bytes / elements : otherwise;
}

/**
 * Bytes per parameter of the optimizer's states, wherever they lie; `stepBytes` is the size of what it steps. With the
 * weights' shapes, exact for them: quantized blocks, factored and projected states.
 */
export function stateBytes(
  run: TrainingRun,
  stepBytes: number,
  tensors: readonly SteppedTensor[] = [],
): number {
  // MS-AMP's Adam keeps fp32 states at O1; at O2 the first in fp8 and the second in fp16 (`msamp/__init__.py`).
  if (run['precision.fp8'] === 'ms-amp-o1') return 8;
  if (run['precision.fp8'] === 'ms-amp-o2') return 3;
  const cost = OPTIMIZER_COSTS[run['optimizer.name']];
  const width = stateWidth(run, stepBytes);
  const rate = cost.tensors * width + cost.fixedBytes;
  const option = optionBytes(run, width);
  if (!cost.stateOf) return rate + option;
  return option + mean(flattened(run, tensors), (weight) => stateOf(cost, weight, width, run), rate);
}

/**
 * The part of `stateBytes` that PyTorch allocates on the GPU. Paged states lie in CUDA managed memory; scales and the
 * states of small tensors do not.
 */
export function deviceStateBytes(
  run: TrainingRun,
  stepBytes: number,
  tensors: readonly SteppedTensor[] = [],
): number {
  const cost = OPTIMIZER_COSTS[run['optimizer.name']];
  if (!cost.paged) return stateBytes(run, stepBytes, tensors);
  const width = stateWidth(run, stepBytes);
  return mean(
    flattened(run, tensors),
    (weight) => {
      const bytes = stateOf(cost, weight, width, run);
      if (weight.elements < SMALLEST_PAGED) return bytes;
      if (!cost.stateOf || isWide(weight, run)) return 0;
      const scales = blocks(weight.elements, run['optimizer.blockSize'] ?? SCALED_BLOCK);
      return 4 * scales * Math.round(cost.fixedBytes);
    },
    0,
  );
}

/** Elements of the longest list: each group of parameters is stepped by itself. */
function listed(stepped: readonly SteppedTensor[], embeddingsApart: boolean): number {
  let [embeddings, others] = [0, 0];
  for (const { role, copies, elements } of stepped) {
    if (embeddingsApart && role === 'embedding') embeddings += copies * elements;
    else others += copies * elements;
  }
  return Math.max(embeddings, others);
}

/**
 * Temporary bytes during the step of `tensors`, each split over `shards` GPUs. PyTorch's default on CUDA is `foreach`,
 * which makes whole lists of temporaries; a `for` loop makes some of the size of one tensor; fused kernels none.
 */
export function stepTransient(
  run: TrainingRun,
  tensors: readonly SteppedTensor[],
  stepBytes: number,
  shards = 1,
): number {
  const cost = OPTIMIZER_COSTS[run['optimizer.name']];
  const stepped = flattened(run, tensors);
  const asked = run['optimizer.implementation'] ?? 'foreach';
  // `foreach` is the default since torch 2.0.
  const implementation = asked === 'foreach' && behaviours(run).stepsWeightByWeight ? 'for-loop' : asked;
  const ofEach = (bytesOf: (weight: SteppedTensor) => number): number => {
    let most = 0;
    for (const weight of stepped) most = Math.max(most, bytesOf(weight));
    return most / shards;
  };
  // MS-AMP goes weight by weight (`optim/adamw.py`): both in fp32, those of the weight before while they are made, and at O1
  // a denominator.
  const { 'precision.fp8': fp8 } = run;
  if (fp8 === 'ms-amp-o1' || fp8 === 'ms-amp-o2')
    return ofEach(({ elements }) => (fp8 === 'ms-amp-o1' ? 20 : 16) * elements);
  if (cost.steps === 'kernel') return 0;
  const perWeight = cost.stepOf;
  if (perWeight) return ofEach((weight) => perWeight(weight, stepBytes, run));
  const lists = cost.steps === 'lists' || (cost.steps === 'torch' && implementation === 'foreach');
  if (lists) {
    const bytes = cost.listBytes?.(stepBytes, stateWidth(run, stepBytes)) ?? cost.listTensors * stepBytes;
    return (listed(stepped, run['optimizer.embeddingsApart']) * bytes) / shards;
  }
  if (cost.steps === 'torch' && implementation === 'fused') return 0;
  const { loopKept } = cost;
  if (loopKept !== undefined) {
    let kept = 0;
    return ofEach(({ elements }) => {
      const all = cost.loopTensors * elements + loopKept * kept;
      kept = elements;
      return all * stepBytes;
    });
  }
  if (cost.loopNamed !== true) return ofEach((weight) => cost.loopTensors * weight.elements * stepBytes);
  let before = 0;
  return ofEach(({ elements }) => {
    const most = Math.max(cost.loopTensors * elements, cost.loopTensors * before + elements);
    before = elements;
    return most * stepBytes;
  });
}
