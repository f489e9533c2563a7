import { CATEGORIES, type Category } from '../results/estimate';
import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';
import { DEEPSPEED, fileIn, MEGATRON, PEFT, PYTORCH, TRANSFORMERS } from '../sources/repositories';
import { say } from '../wording/say';
import { elementsWords } from './formula-words';
import { bytesOf, combine, copyOf, type LabelWords, type Ledger, post, retell, totalOf } from './ledger';
import { mainGradient } from './megatron';
import { chunksPerStage } from './pipeline-split';
import { shardGroupSize } from './sharding';
import { type Sharding, wrapsEndsApart } from './sharding-scheme';
import type { Point } from './step';
import type { TracedStage } from './traced-run';
import { bytesPer, ownWeights, type WeightSums } from './weights';

const MIB = 2 ** 20;

/**
 * DDP makes ranks agree on the weights in buckets of 250 MiB (`nn/parallel/distributed.py`, `broadcast_bucket_size`), two
 * of them on their way at a time (`torch/csrc/distributed/c10d/comm.cpp`, `broadcast_coalesced`, `max_in_flight`).
 */
const BROADCAST_BYTES = 2 * 250 * MIB;

const BUFFERS = fileIn(MEGATRON, 'megatron/core/distributed/param_and_grad_buffer.py');

/** What of a resting GPU is there before the first step: all that holds weights, nothing of the optimizer. */
const WEIGHTS = ['weights', 'quantized-weights', 'adapters', 'reference-model'] as const;

export interface Loaded {
  readonly run: TrainingRun;
  readonly sums: WeightSums;
  readonly stages: readonly TracedStage[];
  readonly sharding: Sharding;
  /** What lasts the whole run whatever the scheme. */
  readonly constant: Ledger;
  /** Bytes that the GPU offers to the allocator. */
  readonly available: number;
}

/**
 * What a GPU holds at most while weights are loaded, moved and sharded, before the first step: closed forms per scheme.
 * Optimizer states come with the first step, which steady state covers. The last point is the loaded model at rest.
 */
export function initializationPoints(loaded: Loaded): Point[] {
  const { run, constant, sharding } = loaded;
  const resting = combine(constant, weightsOf(sharding));
  const points: Point[] = [];
  const mark = (label: string, ledger: Ledger, yields?: boolean) =>
    points.push({ moment: 'initialization', label, ledger, bytes: totalOf(ledger), yields });
  const aside: Aside = (label, category, bytes, words, { beside = resting, yields } = {}) => {
    if (bytes <= 0) return;
    const ledger = combine(beside);
    post(ledger, category, bytes, words);
    mark(label, ledger, yields);
  };
  switch (sharding.loading) {
    case 'partitioned':
      partitioning(loaded, resting, mark);
      break;
    case 'flattened':
      flattening(loaded, aside);
      break;
    case 'by-unit':
    case 'by-weight':
      shardingByUnit(loaded, aside);
      break;
    case 'into-buffers':
      movingToBuffers(loaded, aside);
      break;
    case 'broadcast': {
      const weights = totalOf(weightsOf(sharding)) - bytesOf(sharding.atRest, 'reference-model');
      aside(say('first broadcast'), 'communication-buffers', Math.min(weights, BROADCAST_BYTES), {
        name: say('buckets of the first broadcast'),
        formula: say('2 x 250 MiB, at most the weights'),
        source: fileIn(PYTORCH, 'torch/nn/parallel/distributed.py'),
      });
      break;
    }
    case undefined:
  }
  if (run['quantization.kind'] !== 'none') quantizing(loaded, resting, aside);
  mark(say('weights in place'), resting);
  return points;
}

/**
 * Megatron moves trained weights into one buffer of the dense ones, then into one of the experts: each is made whole, with
 * its main gradients, while the weights that go into it are still where they were loaded (`core/distributed/
 * distributed_data_parallel.py`; `param_and_grad_buffer.py`, `param_data` and `grad_data`). Without the distributed
 * optimizer weights stay where they are. Chunks of a pipeline stage move one after the other. Reference models come later (ms-swift, `rlhf_mixin.py`, `prepare_model`).
 */
function movingToBuffers({ run, sums, constant, sharding }: Loaded, aside: Aside): void {
  const weight = bytesPer(run['precision.compute']);
  const gradient = bytesPer(mainGradient(run));
  const experts = sums.expertTrained;
  const dense = sums.trained - experts;
  const beside = combine(constant, weightsOf(sharding));
  post(beside, 'reference-model', -bytesOf(beside, 'reference-model'));
  retell(beside, 'reference-model', []);
  const move = (elements: number, before: number) => {
    if (!run['parallel.distributedOptimizer'] || elements === 0) return;
    const at = combine(beside);
    post(at, 'gradients', gradient * (before + elements), {
      name: say('main gradients'),
      formula: elementsWords(before + elements, gradient),
      source: BUFFERS,
    });
    aside(
      say('weights move into a buffer'),
      'weights',
      weight * elements,
      {
        name: say('weights before they were moved'),
        formula: elementsWords(elements, weight),
        source: BUFFERS,
      },
      { beside: at },
    );
  };
  const chunks = chunksPerStage(run);
  const others = sums.trained - sums.trained / chunks;
  move(dense / chunks, others);
  move(experts / chunks, others + dense / chunks);
}

/** The part of a resting GPU that holds weights. */
function weightsOf(sharding: Sharding): Ledger {
  const weights = copyOf(sharding.atRest);
  for (const category of CATEGORIES) {
    if (WEIGHTS.some((weight) => weight === category)) continue;
    post(weights, category, -bytesOf(weights, category));
    retell(weights, category, []);
  }
  return weights;
}

/** Marks bytes beside the loaded weights, or beside another ledger. Nothing where there are none. */
type Aside = (
  label: string,
  category: Category,
  bytes: number,
  words: LabelWords,
  how?: { readonly beside?: Ledger; readonly yields?: boolean },
) => void;

/**
 * Stages 1 and 2 copy the trained weights into one flat buffer while the originals live: on the GPU since DeepSpeed
 * 0.18.7 where the buffer still fits, else on the host (`stage_1_and_2.py`, `flatten_on_accelerator`).
 */
function flattening({ run, sums, sharding, constant, available }: Loaded, aside: Aside): void {
  const flat = sums.trained * bytesPer(run['precision.compute']);
  const used = totalOf(constant) + totalOf(weightsOf(sharding));
  if (!behaviours(run).flattensOnGpu || used + flat > available) return;
  aside(
    say('weights are flattened'),
    'weights',
    flat,
    {
      name: say('flat copy of the trained weights'),
      formula: elementsWords(sums.trained, bytesPer(run['precision.compute'])),
      source: fileIn(DEEPSPEED, 'deepspeed/runtime/zero/stage_1_and_2.py'),
    },
    { yields: true },
  );
}

/** Weights never are whole at one place: `zero.Init`, or built on the meta device. Stage 3's integrations arrange that. */
export function loadsPartitioned(run: TrainingRun): boolean {
  return (run['loading.placement'] ?? 'partitioned') === 'partitioned';
}

/**
 * Stage 3. With `zero.Init` a module's weights are whole while they are made or filled (`partition_parameters.py`,
 * `GatheredParameters`); without it the engine moves the whole model to every GPU first (`engine.py`,
 * `_configure_distributed_model`) and then partitions weight by weight.
 */
function partitioning(
  { run, sums, constant }: Loaded,
  resting: Ledger,
  mark: (label: string, ledger: Ledger) => void,
): void {
  const width = bytesPer(run['precision.compute']);
  const shards = shardGroupSize(run);
  const largest = sums.largest * width;
  if (loadsPartitioned(run)) {
    const ledger = combine(resting);
    post(ledger, 'gathered-parameters', largest, {
      name: say('largest weight, whole'),
      formula: elementsWords(sums.largest, width),
      source: fileIn(DEEPSPEED, 'deepspeed/runtime/zero/partition_parameters.py'),
    });
    mark(say('weights are filled one module at a time'), ledger);
    return;
  }
  const ledger = combine(constant);
  const whole = (sums.trained + sums.frozen) * width + sums.quantizedBytes;
  post(ledger, 'weights', whole + largest / shards, {
    name: say('whole model before it is partitioned'),
    formula: elementsWords(sums.trained + sums.frozen, width),
    source: fileIn(DEEPSPEED, 'deepspeed/runtime/engine.py'),
  });
  mark(say('whole model on every GPU before it is partitioned'), ledger);
}

/**
 * FSDP moves and shards one unit after the other, layers before the root. FSDP1 concatenates the unit's weights, which are
 * on the GPU by then, into a flat one (`_flat_param.py`, `flatten_tensors_into_flat_param`): the unit is there twice.
 * FSDP2 shards weight by weight (`_fsdp_param.py`, `_init_sharded_param`): once. With the whole model on the GPU already,
 * the first unit's copies come on top of it.
 */
function shardingByUnit({ run, sums, stages, sharding }: Loaded, aside: Aside): void {
  const first = sharding.loading === 'by-unit';
  const width = bytesPer(run['precision.weights']);
  const whole = (sums.trained + sums.frozen) * width;
  const unit = largestUnit(run, stages, width);
  const source = fileIn(PYTORCH, 'torch/distributed/fsdp');
  if (run['loading.placement'] === 'gpu') {
    // What is sharded gives its whole weights back, so the first unit is the worst: no shard is there yet.
    const shards = totalOf(weightsOf(sharding)) - bytesOf(sharding.atRest, 'reference-model');
    const quantized = sums.quantizedBytes;
    aside(
      say('whole model before it is sharded'),
      'weights',
      whole + quantized + (first ? unit : 0) - shards,
      {
        name: say('whole model before it is sharded, less its shards'),
        formula: elementsWords(sums.trained + sums.frozen, width),
        source,
      },
    );
    return;
  }
  aside(say('a unit is sharded'), 'gathered-parameters', (first ? 2 : 1) * unit, {
    name: first ? say('a unit and its flat copy') : say('a unit, whole'),
    formula: `${first ? '2 x ' : ''}${elementsWords(unit / width, width)}`,
    source,
  });
}

/** Bytes of the largest unit that FSDP wraps, root included, in the given width. */
export function largestUnit(run: TrainingRun, stages: readonly TracedStage[], width: number): number {
  let root = 0;
  let layer = 0;
  let end = 0;
  for (const traced of stages) {
    let bytes = 0;
    for (const weight of ownWeights(traced)) {
      if (weight.quantization === 'none') bytes += weight.localElements * width;
    }
    if (traced.stage.role === 'layer') {
      layer = Math.max(layer, bytes);
      if (run['fsdp.wrap'] === 'none') root += traced.copies * bytes;
    } else {
      root += traced.copies * bytes;
      end = Math.max(end, bytes);
    }
  }
  if (run['fsdp.wrap'] === 'none') return root;
  return Math.max(layer, wrapsEndsApart(run) ? end : root);
}

/**
 * bitsandbytes quantizes a weight on the GPU while its 16-bit original lives there; PEFT then casts what stays
 * unquantized to fp32 one weight at a time (`peft/utils/other.py`, `prepare_model_for_kbit_training`), old and new side by
 * side, and adds adapters last.
 */
function quantizing({ run, sums, stages, sharding }: Loaded, resting: Ledger, aside: Aside): void {
  const published = Math.min(2, bytesPer(run['precision.weights']));
  const prepared = run['quantization.prepared'];
  let packed = 0;
  let plain = 0;
  for (const traced of stages) {
    for (const weight of ownWeights(traced)) {
      if (weight.quantization !== 'none') packed = Math.max(packed, weight.localElements);
      else if (weight.role !== 'adapter') plain = Math.max(plain, weight.localElements);
    }
  }
  const adapters = bytesOf(sharding.atRest, 'adapters');
  const unquantized = sums.trained - sums.adapters + sums.frozen;
  const before = combine(resting);
  post(before, 'adapters', -adapters);
  if (prepared) {
    aside(
      say('a weight is cast to fp32'),
      'weights',
      plain * published,
      {
        name: say('a weight in its published type'),
        formula: elementsWords(plain, published),
        source: fileIn(PEFT, 'src/peft/utils/other.py'),
      },
      { beside: before },
    );
    post(before, 'weights', -Math.min(bytesOf(before, 'weights'), unquantized * (4 - published)));
  }
  aside(
    say('a weight is quantized'),
    'weights',
    packed * published,
    {
      name: say('a weight in its published type'),
      formula: elementsWords(packed, published),
      source: fileIn(TRANSFORMERS, 'src/transformers/integrations/bitsandbytes.py'),
    },
    { beside: before },
  );
}
