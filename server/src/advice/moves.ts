import type { SplitWays } from '../dialects/dialect';
import { acceleratorNames, findAccelerator } from '../hardware/catalog';
import type { Model } from '../model/model';
import { behaviours } from '../run/behaviours';
import type { FieldPath, RunValues, TrainingRun } from '../run/fields';
import { isFsdp } from '../terms/data-parallel';
import type { OptimizerName } from '../terms/optimizers';
import { formatBytes } from '../wording/figures';
import { say } from '../wording/say';
import type { Estimated } from './changed-run';
import { isFragmented, maySegmentsGrow } from './growing-segments';
import { LORA, takesFlash, takesSdpa, withLiger } from './knobs';
import { patchedByLiger } from './liger-models';

/** What a change costs beside time, from nothing to another kind of training. */
export const PRICES = { none: 0, rounding: 1, hardware: 2, data: 3, method: 4 } as const;

/** One change that may lower the peak. */
export interface Move {
  /** Moves of one kind exclude each other: only one of them can be part of a combination. */
  readonly kind: string;
  /** For people, as the beginning of a title. */
  readonly name: string;
  readonly changes: RunValues;
  /** Fields to be written; the others follow from these. */
  readonly fields: readonly FieldPath[];
  readonly price: number;
}

const move = (
  kind: string,
  name: string,
  changes: RunValues,
  price: number = PRICES.none,
  fields?: readonly FieldPath[],
): Move => ({
  kind,
  name,
  changes,
  price,
  fields: fields ?? (Object.keys(changes) as FieldPath[]),
});

/** What moves look at: an analysis, or one as if some moves had been made. */
export type Movable = Pick<
  Estimated,
  'model' | 'accelerator' | 'estimate' | 'resolved' | 'dialect' | 'members'
>;

/** Every single move that a run leaves open, cheapest of each kind first. Whether it helps, only an estimate tells. */
export function movesOf(analysis: Movable): Move[] {
  const { run } = analysis.resolved;
  if (!run) return [];
  return [
    ...growingSegments(analysis),
    ...kernels(analysis, run),
    ...smallerBatches(analysis, run),
    ...smallerEvaluation(analysis, run),
    ...lessAccumulation(run),
    ...stepInBackward(run),
    ...checkpointing(analysis, run),
    ...sharding(run),
    ...deepspeedConfigs(run),
    ...optimizers(run),
    ...offloads(run),
    ...splits(analysis, run),
    ...hardware(analysis, run),
    ...adapters(run),
    ...shorter(run),
  ];
}

/** Where what the allocator holds in vain is what the run is over by. */
function growingSegments(analysis: Movable): Move[] {
  return maySegmentsGrow(analysis) && isFragmented(analysis.estimate)
    ? [
        move('allocator', say('Expandable segments of the allocator'), {
          'allocator.expandableSegments': true,
        }),
      ]
    : [];
}

/** Losses that never hold all logits. */
const FUSED_ALREADY = /^(?:liger|cut|(?:budgeted|free|half-free)-chunks)$/;

function kernels(analysis: Movable, run: TrainingRun): Move[] {
  const found: Move[] = [];
  const present = run['attention.implementation'];
  if (present === 'eager' && takesSdpa(analysis))
    found.push(move('attention', say('SDPA attention'), { 'attention.implementation': 'sdpa' }));
  if (present !== 'flash2' && present !== 'flash3' && takesFlash(analysis))
    found.push(move('attention', say('FlashAttention 2'), { 'attention.implementation': 'flash2' }));
  const liger = withLiger(run);
  const patched = !run['kernels.unsloth'] && patchedByLiger(analysis);
  if (patched && liger['loss.implementation'] && !FUSED_ALREADY.test(run['loss.implementation']))
    found.push(move('loss', say('Liger kernels with the fused loss'), liger, PRICES.none, ['kernels.liger']));
  if (run['model.code'] === 'torchtune' && !/chunked/.test(run['loss.implementation']))
    found.push(move('loss', say('Chunked loss over the head'), { 'loss.implementation': 'linear-chunked' }));
  return found;
}

/** Smaller micro batches, largest first, with accumulation raised to keep the global batch. */
function smallerBatches({ resolved }: Movable, run: TrainingRun): Move[] {
  const micro = run['batch.micro'];
  const accumulation = run['batch.accumulation'];
  const derived = follows(resolved, 'batch.accumulation');
  const found: Move[] = [];
  for (let smaller = micro - 1; smaller >= 1; smaller--) {
    if (micro % smaller !== 0) continue;
    const more = (accumulation * micro) / smaller;
    const changes = { 'batch.micro': smaller, 'batch.accumulation': more };
    found.push(
      move(
        'batch',
        say('Micro batch {0}', smaller),
        changes,
        PRICES.none,
        derived ? ['batch.micro'] : undefined,
      ),
    );
  }
  return found;
}

/** Smaller batches of evaluation where the peak is there, largest first. */
function smallerEvaluation({ estimate }: Movable, run: TrainingRun): Move[] {
  if (estimate.peak.moment !== 'evaluation') return [];
  const present = run['evaluation.batch'] ?? run['batch.micro'];
  const halves: number[] = [];
  for (let smaller = Math.floor(present / 2); smaller >= 1; smaller = Math.floor(smaller / 2))
    halves.push(smaller);
  return halves.map((smaller) =>
    move('evaluation', say('Evaluation batch {0}', smaller), { 'evaluation.batch': smaller }),
  );
}

/** Where FSDP reduces gradients with the last micro batch alone, those before lie whole on every GPU. */
function lessAccumulation(run: TrainingRun): Move[] {
  if (!isFsdp(run['parallel.data']) || run['batch.accumulation'] === 1 || run['fsdp.syncEachBatch'] === true)
    return [];
  const does = behaviours(run);
  const defers = run['parallel.data'] === 'fsdp1' ? does.defersFsdp1Reduction : does.defersFsdp2Reduction;
  return defers
    ? [move('accumulation', say('One micro batch per step'), { 'batch.accumulation': 1 }, PRICES.data)]
    : [];
}

/**
 * torchtune frees each gradient when its weight has stepped. It refuses that with accumulation
 * (https://github.com/pytorch/torchtune/blob/v0.6.1/recipes/full_finetune_single_device.py), and its LoRA recipes do not know it.
 */
function stepInBackward(run: TrainingRun): Move[] {
  return run['model.code'] === 'torchtune' &&
    run['method.kind'] === 'full' &&
    run['batch.accumulation'] === 1 &&
    !run['optimizer.inBackward']
    ? [move('step-in-backward', say('Optimizer step in the backward pass'), { 'optimizer.inBackward': true })]
    : [];
}

function checkpointing({ model }: Movable, run: TrainingRun): Move[] {
  if (model.recomputes === false) return [];
  const present = run['activations.checkpointing'];
  const found: Move[] = [];
  if (run['model.code'] === 'tensorflow')
    return present === 'none'
      ? [
          move('checkpointing', say('Recomputation of cheap operators'), {
            'activations.checkpointing': 'elementwise',
          }),
        ]
      : [];
  const selects = run['model.code'] === 'torchtitan' || run['model.code'] === 'megatron';
  if (present === 'none' && selects)
    found.push(
      move('checkpointing', say('Selective checkpointing'), { 'activations.checkpointing': 'selective' }),
    );
  if (present !== 'full')
    found.push(
      move('checkpointing', say('Activation checkpointing'), { 'activations.checkpointing': 'full' }),
    );
  if (present === 'full' && !run['activations.offload'])
    found.push(
      move('checkpoint-offload', say('Offload of checkpoints to the host'), { 'activations.offload': true }),
    );
  return found;
}

function sharding(run: TrainingRun): Move[] {
  const data = run['parallel.data'];
  const found: Move[] = [];
  if (data === 'zero' || data === 'horovod') {
    const highest = data === 'zero' ? 3 : 2;
    for (let stage = run['zero.stage'] + 1; stage <= highest; stage++)
      found.push(move('sharding', say('ZeRO stage {0}', stage), { 'zero.stage': stage }));
  }
  if (isFsdp(data) && (run['fsdp.strategy'] === 'grad-op' || run['fsdp.strategy'] === 'none'))
    found.push(move('sharding', say('Full sharding (FSDP)'), { 'fsdp.strategy': 'full' }));
  // Packed weights are sharded only as whole elements of another type: FSDP-QLoRA stores them as bf16
  // (https://huggingface.co/docs/bitsandbytes/v0.45.0/fsdp_qlora).
  const packed = run['quantization.kind'] === 'nf4' || run['quantization.kind'] === 'fp4';
  if ((data === 'ddp' || data === 'none') && packed && run['hardware.gpus'] > 1)
    found.push(
      move('sharding', say('FSDP with 4-bit weights stored as bf16'), {
        'parallel.data': 'fsdp1',
        'fsdp.strategy': 'full',
        // Each process would hold the whole of it on its GPU before it is sharded.
        'loading.hostCopies': 'one',
        ...(run['quantization.storage'] === 'uint8' ? { 'quantization.storage': 'bf16' } : {}),
      }),
    );
  // One process is started without `torch.distributed`, and nothing is wrapped (accelerate `state.py`, `AcceleratorState`).
  if (data === 'ddp' && !packed && run['precision.scheme'] !== 'megatron' && run['hardware.gpus'] > 1)
    for (const scheme of ['fsdp2', 'fsdp1'] as const)
      found.push(
        move(
          'sharding',
          scheme === 'fsdp2' ? 'FSDP 2' : 'FSDP',
          { 'parallel.data': scheme, 'fsdp.strategy': 'full', ...precisionUnderFsdp(run) },
          PRICES.none,
          ['parallel.data', 'fsdp.strategy'],
        ),
      );
  if (run['precision.scheme'] === 'megatron' && !run['parallel.distributedOptimizer'])
    found.push(move('sharding', say('Distributed optimizer'), { 'parallel.distributedOptimizer': true }));
  return found;
}

/**
 * Accelerate, which the Trainer runs on, computes in the type that FSDP gathers in where it would cast by autocast, and splits what is
 * trained in fp32 (https://github.com/huggingface/accelerate/blob/v1.15.0/src/accelerate/accelerator.py, `prepare_model`).
 */
export function precisionUnderFsdp(run: RunValues): RunValues {
  const isCast = run['precision.scheme'] === 'autocast' && run['model.code'] === 'transformers';
  return isCast ? { 'precision.scheme': 'fsdp', 'precision.masterWeights': 'fp32' } : {};
}

/**
 * A Trainer of replicas takes a DeepSpeed config beside its arguments: the first stage that fits is enough. DeepSpeed keeps fp32 masters of
 * what it casts to the type of the computation.
 */
function deepspeedConfigs(run: TrainingRun): Move[] {
  const compute = run['precision.compute'];
  const half = compute === 'bf16' || compute === 'fp16';
  if (
    run['parallel.data'] !== 'ddp' ||
    run['hardware.gpus'] <= 1 ||
    run['model.code'] !== 'transformers' ||
    !half
  )
    return [];
  return [2, 3].map((stage) =>
    move(
      'deepspeed',
      say('ZeRO stage {0} by a DeepSpeed config', stage),
      {
        'parallel.data': 'zero',
        'zero.stage': stage,
        'precision.scheme': 'deepspeed',
        'precision.weights': compute,
      },
      PRICES.none,
      ['parallel.data', 'zero.stage'],
    ),
  );
}

/** The same rule with 8-bit states first, then paged, then without second moments of their own. */
function optimizers(run: TrainingRun): Move[] {
  const present = run['optimizer.name'];
  const is = (...names: readonly OptimizerName[]) => names.includes(present);
  const to = (name: OptimizerName, label: string, price: number = PRICES.rounding) =>
    move('optimizer', label, { 'optimizer.name': name }, price);
  if (is('adamw', 'adam', 'paged-adamw', 'adamw-32bit'))
    return [
      to('adamw-8bit', say('8-bit AdamW')),
      ...(is('paged-adamw') ? [] : [to('paged-adamw', say('Paged AdamW'), PRICES.none)]),
      to('paged-adamw-8bit', say('Paged 8-bit AdamW')),
      to('adafactor', 'Adafactor', PRICES.method),
    ];
  if (is('lion', 'lion-32bit')) return [to('lion-8bit', say('8-bit Lion'))];
  return is('adamw-8bit') ? [to('paged-adamw-8bit', say('Paged 8-bit AdamW'))] : [];
}

function offloads(run: TrainingRun): Move[] {
  const data = run['parallel.data'];
  const fsdp = isFsdp(data);
  const found: Move[] = [];
  const optimizer = { 'offload.optimizer': 'cpu' } as const;
  const all = { ...optimizer, 'offload.parameters': 'cpu' } as const;
  if (data === 'zero' && run['zero.stage'] >= 1 && run['offload.optimizer'] === 'none')
    found.push(move('offload', say('Optimizer offload to the host'), optimizer));
  if (run['offload.parameters'] === 'none' && ((data === 'zero' && run['zero.stage'] === 3) || fsdp))
    found.push(
      run['offload.optimizer'] === 'none' || fsdp
        ? move('offload', say('Offload of weights and optimizer to the host'), all)
        : move('offload', say('Offload of weights to the host'), { 'offload.parameters': 'cpu' }),
    );
  // Offload needs sharding that a run may not have yet: both in one.
  if (data === 'zero' && run['zero.stage'] < 3 && run['offload.parameters'] === 'none')
    found.push(
      move('offload', say('ZeRO stage 3 with offload of weights and optimizer'), { ...all, 'zero.stage': 3 }),
    );
  return found;
}

/** What several moves change together: each raises accumulation by its own factor. */
export function changesOf(moves: readonly Move[], run: TrainingRun): RunValues {
  const all: RunValues = Object.assign({}, ...moves.map(({ changes }) => changes));
  const present = run['batch.accumulation'];
  const factor = moves.reduce(
    (product, { changes }) => (product * (changes['batch.accumulation'] ?? present)) / present,
    1,
  );
  return all['batch.accumulation'] === undefined
    ? all
    : { ...all, 'batch.accumulation': Math.round(present * factor) };
}

/** What the families of a run's files state of its split; a trainer that splits by itself states it, whatever starts it. */
function splitsOf({ dialect, members }: Pick<Movable, 'dialect' | 'members'>): readonly SplitWays[] {
  const all = (members ?? [{ dialect }]).flatMap((member) => member.dialect.splits ?? []);
  const own = all.filter(({ ofScripts }) => !ofScripts);
  return own.length > 0 ? own : all;
}

/** Combinations that tools refuse though each part of them is fine. */
export function isRefused(
  run: TrainingRun,
  stated: Pick<Movable, 'dialect' | 'members'> & { readonly model?: Model },
): boolean {
  const { model } = stated;
  const split = run['parallel.tensor'] > 1 || run['parallel.context'] > 1;
  if (split && model && splitsOf(stated).some((splits) => splits.refuses(run, model))) return true;
  const data = run['parallel.data'];
  // "Currently, the compatibility between 'autotp' and 'zero_stage = 3' has not been validated": an assertion of
  // https://github.com/deepspeedai/DeepSpeed/blob/v0.19.5/deepspeed/runtime/engine.py, `_configure_tensor_parallel_states`.
  if (data === 'zero' && run['zero.stage'] === 3 && run['parallel.tensor'] > 1) return true;
  // Packed 4-bit weights are sharded only where they are stored as the other weights are (`quantization.storage`).
  const shards = isFsdp(data) || (data === 'zero' && run['zero.stage'] === 3);
  const packed = run['quantization.kind'] === 'nf4' || run['quantization.kind'] === 'fp4';
  return packed && shards && run['quantization.storage'] === 'uint8';
}

/** Frameworks that split their own models; elsewhere the split depends on a plan for the architecture. */
const SPLITTERS = new Set(['megatron', 'torchtitan']);

function splits(analysis: Movable, run: TrainingRun): Move[] {
  const { resolved } = analysis;
  const known = splitsOf(analysis);
  const needs: RunValues = Object.assign({}, ...known.map(({ contextNeeds }) => contextNeeds));
  const perNode = Math.max(1, Math.floor(run['hardware.gpus'] / run['hardware.nodes']));
  const price = SPLITTERS.has(run['model.code']) ? PRICES.none : PRICES.rounding;
  const found: Move[] = [];
  for (const [field, name] of [
    ['parallel.tensor', say('Tensor parallel size')],
    ['parallel.context', say('Context parallel size')],
  ] as const) {
    // Megatron-LM, which Accelerate may run, splits by itself.
    const byScript = known.some(({ ofScripts }) => ofScripts) && run['precision.scheme'] !== 'megatron';
    if (field === 'parallel.tensor' && byScript) continue;
    for (const degree of [2, 4, 8]) {
      if (degree <= run[field] || perNode % degree !== 0) continue;
      // GPUs that share a sample are fewer copies of the data: accumulation makes up for them.
      const more = (run['batch.accumulation'] * degree) / run[field];
      const others = field === 'parallel.context' ? unmet(needs, run) : {};
      const changes: RunValues = { [field]: degree, ...others, 'batch.accumulation': more };
      const fields = (Object.keys(changes) as FieldPath[]).filter(
        (one) => one !== 'batch.accumulation' || !follows(resolved, one),
      );
      found.push(move(field, `${name} ${degree}`, changes, price, fields));
    }
  }
  return found;
}

const unmet = (needs: RunValues, run: TrainingRun): RunValues =>
  Object.fromEntries(Object.entries(needs).filter(([field, value]) => run[field as FieldPath] !== value));

type Resolved = Estimated['resolved'];

/** Worked out of a global batch that somebody states, so that it needs no key of its own. */
const follows = ({ origins }: Resolved, field: FieldPath) =>
  origins[field]?.kind === 'inferred' &&
  origins['batch.global'] !== undefined &&
  origins['batch.global'].kind !== 'inferred';

/** A file of the run states it: elsewhere a change would have no place. */
function isWritten({ origins }: Resolved, field: FieldPath): boolean {
  const kind = origins[field]?.kind;
  return kind === 'file' || kind === 'linked-file' || kind === 'overriding-file' || kind === 'directive';
}

/** More GPUs where they share, a larger one in any case. The catalog's cards of the same make, smallest first. */
function hardware({ accelerator, resolved }: Movable, run: TrainingRun): Move[] {
  const found: Move[] = [];
  for (const factor of isWritten(resolved, 'hardware.gpus') ? [2, 4, 8] : []) {
    const gpus = run['hardware.gpus'] * factor;
    const accumulation = run['batch.accumulation'] / factor;
    // The global batch stays where accumulation can take up the difference.
    const keeps = Number.isInteger(accumulation) && isWritten(resolved, 'batch.accumulation');
    const changes = { 'hardware.gpus': gpus, ...(keeps ? { 'batch.accumulation': accumulation } : {}) };
    found.push(move('gpus', say('{0} {0|GPU|GPUs}', gpus), changes, PRICES.hardware));
  }
  if (!isWritten(resolved, 'hardware.gpu')) return found;
  const larger = acceleratorNames()
    .flatMap((name) => findAccelerator(name) ?? [])
    .filter(
      ({ vendor, usableBytes, supports, restricted }) =>
        vendor === accelerator.vendor &&
        (restricted !== true || accelerator.restricted === true) &&
        usableBytes > accelerator.usableBytes &&
        (supports.bf16 || !accelerator.supports.bf16),
    )
    .sort((a, b) => a.usableBytes - b.usableBytes);
  let most = 0;
  for (const { name, usableBytes } of larger) {
    // Cards of nearly the same memory are one step.
    if (usableBytes < most * 1.1) continue;
    most = usableBytes;
    const words = say('On another GPU, {0} with {1}', name, formatBytes(usableBytes));
    found.push(move('gpu', words, { 'hardware.gpu': name }, PRICES.hardware));
  }
  return found;
}

/** Tasks with heads of their own, of models that are small: nothing is gained by adapters. */
const SCORES: ReadonlySet<TrainingRun['method.objective']> = new Set([
  'classification',
  'token-classification',
  'question-answering',
  'multiple-choice',
  'segmentation',
  'detection',
  'ctc',
  'text-to-speech',
]);

function adapters(run: TrainingRun): Move[] {
  const found: Move[] = [];
  const sharded = isFsdp(run['parallel.data']) || run['zero.stage'] === 3;
  if (run['method.kind'] === 'full' && !SCORES.has(run['method.objective'])) {
    found.push(move('method', say('LoRA of rank 16'), LORA, PRICES.method));
    if (!sharded)
      found.push(
        move('method', say('QLoRA of rank 16'), { ...LORA, 'quantization.kind': 'nf4' }, PRICES.method),
      );
  } else if (run['method.kind'] === 'lora' && run['quantization.kind'] === 'none' && !sharded) {
    found.push(
      move('method', say('QLoRA: base weights in 4 bits'), { 'quantization.kind': 'nf4' }, PRICES.rounding),
    );
  } else if (run['method.kind'] === 'lora' && run['quantization.kind'] === 'int8' && !sharded) {
    found.push(
      move('method', say('Base weights in 4 bits'), { 'quantization.kind': 'nf4' }, PRICES.rounding),
    );
  }
  return found;
}

/** Down to an eighth, and not below what most samples need. */
function shorter(run: TrainingRun): Move[] {
  const found: Move[] = [];
  for (const part of [2, 4, 8]) {
    const length = Math.floor(run['batch.sequence'] / part);
    if (length >= 256)
      found.push(
        move(
          'sequence',
          say('Sequences of {0} tokens', String(length)),
          { 'batch.sequence': length },
          PRICES.data,
        ),
      );
  }
  return found;
}
