import { oncePer } from '../memo/remembered';
import { type Buffer, ELEMENT_BYTES, type Tape, type Weight } from '../model/tape';
import type { TrainingRun } from '../run/fields';
import { writesLayers } from '../run/written-layers';
import type { DType } from '../terms/dtypes';
import { say } from '../wording/say';
import { emptyLedger, type Ledger, post } from './ledger';
import type { SteppedTensor } from './optimizers';
import { storedBytes, upcastsRest } from './quantization';
import { SOURCES } from './sources';
import { isOfValueModel, type TracedStage } from './traced-run';

/** Bytes per element of a quantized weight at rest, scales included. */
export function quantizedBytes(weight: Weight, double: boolean): number {
  return storedBytes(weight, { 'quantization.double': double }) / weight.localElements;
}

/** Elements of one GPU before data-parallel sharding, tied weights once. */
export interface WeightSums {
  /** Bytes of what adapters keep beside their weights, whole on every GPU (`Buffer`). */
  readonly buffers: number;
  /** Bytes of what the model's modules hold beside their weights, such as statistics of batch norms, whole on every GPU. */
  readonly ownBuffers: number;
  /** Bytes of the model's own masks of positions, whole on every GPU. */
  readonly masks: number;
  /** Trained elements, adapters included. */
  readonly trained: number;
  /** Adapters alone (a part of `trained`). */
  readonly adapters: number;
  /** Of the adapters those that lie in fp32 where the others do not: magnitudes of DoRA (a part of `adapters`). */
  readonly wideAdapters: number;
  /** Trained elements of routed experts (a part of `trained`), which fewer GPUs hold copies of than of the rest. */
  readonly expertTrained: number;
  readonly frozen: number;
  /** Frozen elements of routed experts (a part of `frozen`). */
  readonly expertFrozen: number;
  /** Frozen elements that lie in 16 bits where the other unquantized weights lie in fp32. */
  readonly lowered: number;
  /** Of the frozen those that stay in host memory (`loading.embedding`), or are mapped from disk. */
  readonly hosted: number;
  /** Unquantized elements of the model as it was loaded: no adapters, no second copies. */
  readonly loaded: number;
  /** Quantized elements, and their bytes with scales. */
  readonly quantized: number;
  readonly quantizedBytes: number;
  /** Elements that stage-3 ZeRO keeps whole on every GPU. */
  readonly persistentTrained: number;
  readonly persistentFrozen: number;
  /** Largest single weight, elements. */
  readonly largest: number;
  /** Layers of the model, and the elements of them all. */
  readonly layers: { readonly count: number; readonly elements: number };
  /** Trained weights by shape, adapters apart: what an optimizer steps. */
  readonly stepped: readonly SteppedTensor[];
  /** Elements of linear layers that MS-AMP holds in fp16 with a scale, trained and frozen. */
  readonly scaled: { readonly trained: number; readonly frozen: number };
  /** Elements that lie in fp32 though the other weights do not, trained and frozen. */
  readonly raised: { readonly trained: number; readonly frozen: number };
  readonly steppedAdapters: readonly SteppedTensor[];
  /** Elements over all tensor- and expert-parallel ranks, whole model, with adapters and copies that are trained in their place. */
  readonly total: number;
  /** Of them those that one token passes through. */
  readonly active: number;
  readonly totalTrained: number;
}

/** Weights of one copy of a stage, tied ones left out. */
export function ownWeights({ tape }: TracedStage): readonly Weight[] {
  return ownOf(tape);
}

const ownOf = oncePer(({ weights }: Tape) => weights.filter((weight) => weight.tiedTo === undefined));

/** Where the bytes of buffers are summed, by whose they are. */
const BESIDE = { adapter: 'buffers', model: 'ownBuffers', positions: 'masks' } as const;

const halves = () => ({ trained: 0, frozen: 0 });

/** Sums before the first weight. */
const NOTHING = {
  trained: 0,
  adapters: 0,
  wideAdapters: 0,
  expertTrained: 0,
  frozen: 0,
  expertFrozen: 0,
  lowered: 0,
  hosted: 0,
  loaded: 0,
  quantized: 0,
  quantizedBytes: 0,
  persistentTrained: 0,
  persistentFrozen: 0,
  largest: 0,
  total: 0,
  active: 0,
  totalTrained: 0,
};

/** Elements and bytes of the weights of the given stages, all copies, on one GPU before data-parallel sharding. */
export function sumWeights(stages: readonly TracedStage[], run: TrainingRun): WeightSums {
  const threshold = run['zero.persistenceThreshold'];
  const upcast = upcastsRest(run) && run['quantization.recast'];
  const stepped: SteppedTensor[] = [];
  const steppedAdapters: SteppedTensor[] = [];
  const sums = { ...NOTHING };
  const shared = new Map<string, Buffer>();
  const beside = { buffers: 0, ownBuffers: 0, masks: 0 };
  const [scaled, raised] = [halves(), halves()];
  const layers = { count: 0, elements: 0 };
  for (const traced of stages) {
    if (traced.stage.role === 'layer') layers.count += traced.copies;
    const copies = traced.copies * timesTrained(run);
    for (const buffer of traced.tape.buffers) {
      const other = shared.get(buffer.name);
      if (!buffer.shared) beside[BESIDE[buffer.of]] += traced.copies * buffer.bytes;
      else if (!other || other.bytes < buffer.bytes) shared.set(buffer.name, buffer);
    }
    for (const weight of ownWeights(traced)) {
      const local = weight.localElements;
      sums.total += copies * weight.elements;
      sums.active += copies * weight.elements * weight.activeShare;
      sums.largest = Math.max(sums.largest, local);
      if (traced.stage.role === 'layer') layers.elements += traced.copies * local;
      if (weight.quantization !== 'none') {
        sums.quantized += copies * local;
        sums.quantizedBytes += copies * storedBytes(weight, run);
        continue;
      }
      if (weight.role !== 'adapter' && !isOfValueModel(traced)) sums.loaded += traced.copies * local;
      const of = weight.trainable ? 'trained' : 'frozen';
      if (weight.scaled === true) scaled[of] += copies * local;
      if (weight.raised === true) raised[of] += copies * local;
      const persistent = local <= threshold;
      if (isHosted(weight, traced, stages, run)) sums.hosted += copies * local;
      if (weight.trainable) {
        sums.totalTrained += copies * weight.elements;
        sums.trained += copies * local;
        if (weight.expert) sums.expertTrained += copies * local;
        const tensor = steppedTensor(traced, weight, copies);
        if (weight.role === 'adapter') {
          sums.adapters += copies * local;
          if (weight.dtype === 'fp32' && run['lora.dtype'] !== 'fp32') sums.wideAdapters += copies * local;
          steppedAdapters.push(tensor);
        } else stepped.push(tensor);
        if (persistent) sums.persistentTrained += copies * local;
        if (hasFrozenOriginal(weight)) {
          sums.total += copies * weight.elements;
          sums.active += copies * weight.elements * weight.activeShare;
          sums.frozen += copies * local;
          if (persistent) sums.persistentFrozen += copies * local;
        }
      } else {
        if (weight.idle === true) sums.totalTrained += copies * weight.elements;
        sums.frozen += copies * local;
        if ((upcast && weight.dtype === 'bf16') || weight.halved === true) sums.lowered += copies * local;
        if (weight.expert) sums.expertFrozen += copies * local;
        if (persistent) sums.persistentFrozen += copies * local;
      }
    }
  }
  for (const { of, bytes } of shared.values()) beside[BESIDE[of]] += bytes;
  return { ...sums, ...beside, scaled, raised, layers, stepped, steppedAdapters };
}

/** Whether policy and value model are trained one after the other, each with gradients of its own. */
export function takesTurns(run: TrainingRun): boolean {
  return run['method.valueModel'] && !run['method.valueTogether'] && run['method.valueStep'] !== undefined;
}

/** Models of these weights that are trained at once: a value model beside the policy is one more. */
export function timesTrained(run: TrainingRun): number {
  return run['method.valueModel'] && !run['method.valueTogether'] && !takesTurns(run) ? 2 : 1;
}

/** What PEFT trains in full is a copy: the original stays, frozen (`ModulesToSaveWrapper`). */
export function hasFrozenOriginal({ copied, trainable, untied }: Weight): boolean {
  return copied === true && trainable && untied !== true;
}

/** Whether a frozen weight, or the frozen original of a trained one, lies off the GPU. */
function isHosted(
  weight: Weight,
  { hosted }: TracedStage,
  stages: readonly TracedStage[],
  run: TrainingRun,
): boolean {
  if (weight.trainable) return hasFrozenOriginal(weight) && leavesOriginal(weight, stages, run);
  // A launch of several processes leaves it where it is (`_resolve_offload_embedding`).
  return run['hardware.gpus'] === 1 && hosted?.has(weight.name) === true;
}

/**
 * With `use_gradient_checkpointing="unsloth"` Unsloth's written models save the originals of an embedding and a head that are trained to disk
 * and map them from there before PEFT copies them (`unsloth/models/llama.py`, `offload_input_embeddings`, `offload_output_embeddings`). A
 * head that shares the embedding keeps it.
 */
function leavesOriginal({ name }: Weight, stages: readonly TracedStage[], run: TrainingRun): boolean {
  if (!writesLayers(run) || !run['activations.offload']) return false;
  return !stages.some(({ tape }) => tape.weights.some(({ tiedTo }) => tiedTo === name));
}

/** What adapters and the model keep beside their weights, for the whole run. */
export function buffersBeside({ buffers, ownBuffers, masks }: WeightSums): Ledger {
  const ledger = emptyLedger();
  const formula = (bytes: number) =>
    say('{0} B of tensors that are neither trained nor sharded', Math.round(bytes));
  if (buffers > 0)
    post(ledger, 'adapters', buffers, {
      name: say('buffers of adapters'),
      formula: formula(buffers),
      source: SOURCES.adapterBuffers,
    });
  if (ownBuffers > 0)
    post(ledger, 'weights', ownBuffers, {
      name: say('buffers of the model'),
      formula: formula(ownBuffers),
      source: SOURCES.modelBuffers,
    });
  if (masks > 0)
    post(ledger, 'weights', masks, {
      name: say('masks of all positions'),
      formula: formula(masks),
      source: SOURCES.positionMasks,
    });
  return ledger;
}

function steppedTensor({ stage }: TracedStage, weight: Weight, copies: number): SteppedTensor {
  const split = weight.localElements / weight.elements;
  // Tensor and expert parallelism split the first dimension as far as an optimizer's statistics are concerned.
  const shape = split === 1 ? weight.shape : [(weight.shape[0] ?? 1) * split, ...weight.shape.slice(1)];
  return {
    name: `${stage.name}.${weight.name}`,
    shape,
    elements: weight.localElements,
    copies,
    role: weight.role,
  };
}

/** Every trained weight of the sums. */
export function allStepped(sums: WeightSums): readonly SteppedTensor[] {
  return [...sums.stepped, ...sums.steppedAdapters];
}

/** Unquantized elements of one copy of a stage on this GPU, trained and frozen, tied weights included. */
export function stageElements(
  traced: TracedStage,
  run: TrainingRun,
): {
  trained: number;
  frozen: number;
  quantizedBytes: number;
} {
  let trained = 0;
  let frozen = 0;
  let packed = 0;
  for (const weight of ownWeights(traced)) {
    if (weight.quantization !== 'none') packed += storedBytes(weight, run);
    else if (weight.trainable) trained += weight.localElements;
    else frozen += weight.localElements;
  }
  return { trained, frozen, quantizedBytes: packed };
}

/** Bytes of one element. */
export function bytesPer(dtype: DType): number {
  return ELEMENT_BYTES[dtype];
}
