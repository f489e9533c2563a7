import { behaviours } from '../../run/behaviours';
import type { TrainingRun } from '../../run/fields';

import { reducesEachBatch, shardedWeight, shardsOf, wrapsEndsApart } from '../sharding-scheme';
import type { TracedStage } from '../traced-run';
import { bytesPer, ownWeights, type WeightSums } from '../weights';

/** What a run states about FSDP, in bytes per element. */
export interface FsdpSettings {
  readonly second: boolean;
  /** GPUs of a shard group; 1 where nothing is sharded. */
  readonly shards: number;
  /** FSDP casts what it gathers (`MixedPrecision`, `MixedPrecisionPolicy`). */
  readonly mixed: boolean;
  readonly compute: number;
  /** Trained weights as their shards lie there, and their reduced gradients. */
  readonly trained: number;
  readonly frozen: number;
  readonly reduce: number;
  /** Weights are given back when a unit's forward is over. */
  readonly reshards: boolean;
  /**
   * Part of a layer's gathered weights that stays from its forward to its backward: cloned from the all-gather when it is
   * resharded to a smaller group, freed when the next all-gather is copied out (`_fsdp_param.py`, `to_sharded_post_forward`,
   * `to_unsharded`).
   */
  readonly staying: number;
  readonly offloaded: boolean;
  /** Gradients of all micro steps but the last stay whole, unreduced. */
  readonly unsynced: boolean;
  readonly accumulates: boolean;
  readonly packed: boolean;
  /** FSDP1 gathers the next unit of backward before this one's, after it, or not ahead. */
  readonly prefetch: 'pre' | 'post' | 'none';
  readonly forwardPrefetch: boolean;
  /** FSDP2 keeps what replicas add up until backward is over, where it is not the gradient itself. */
  readonly replicates: boolean;
  /**
   * FSDP1: a flat weight of trained and frozen ones has a gradient of them all, zeros where nothing is trained (the backward
   * of `split`, `_flat_param.py`). PEFT wraps its adapters apart (`fsdp_auto_wrap_policy`); Fabric's policy wraps layers.
   */
  readonly mixesFrozen: boolean;
  /**
   * FSDP1: adapters are units of their own. Backward fetches ahead in the order in which forward left the units: a layer asks for
   * its last adapter, and only its first adapter for the layer before (`_exec_order_utils.py`).
   */
  readonly adaptersApart: boolean;
  /** FSDP's root has returned when the loss is taken. */
  readonly lossOutside: boolean;
  /** What ends the model takes its loss: the gradient of its result is that of the loss. */
  readonly lossInHead: boolean;
  /** FSDP2 does not gather the embedding again for its backward, which needs no weights. */
  readonly leavesEmbedding: boolean;
  /**
   * FSDP2 keeps the input of the last reduction of a micro step until the first of the next one: only the last ends backward
   * (`_fsdp_state.py`, `_root_post_backward_final_callback`).
   */
  readonly keepsLastReduction: boolean;
  /** FSDP2 gives what ends the model back after its forward, as it does layers, and gathers it again for its backward. */
  readonly reshardsEnds: boolean;
  /** Ends that share a weight are a unit beside a root that has none, which fetches nothing ahead. */
  readonly emptyRoot: boolean;
}

/** The settings with their defaults by framework and release; shards are means over the weights of the stages. */
export function fsdpSettings(
  run: TrainingRun,
  sums: WeightSums,
  stages: readonly TracedStage[],
): FsdpSettings {
  const second = run['parallel.data'] === 'fsdp2';
  const mixed = behaviours(run).castsWhenGathered;
  const own = run[mixed ? 'precision.compute' : 'precision.weights'];
  const compute = bytesPer(own);
  const strategy = run['fsdp.strategy'];
  const shards = strategy === 'none' ? 1 : meanShards(run, stages, true, shardsOf(run, sums));
  const reshards = strategy !== 'grad-op' && strategy !== 'hybrid-grad-op';
  const accumulates = run['batch.accumulation'] > 1;
  const adaptersApart = !second && run['method.kind'] === 'lora' && behaviours(run).wrapsAdaptersApart;
  return {
    second,
    shards,
    mixed,
    compute,
    trained: mixed ? bytesPer(run['precision.masterWeights']) : compute,
    frozen: bytesPer(run['precision.weights']),
    reduce: bytesPer(run['precision.reduce'] ?? own),
    reshards,
    staying: second && shards > 1 ? stayingShare(run['fsdp.reshardSize'], shards) : 0,
    offloaded: run['offload.parameters'] !== 'none',
    unsynced: accumulates && !reducesEachBatch(run),
    accumulates,
    packed: (run['quantization.storage'] !== 'uint8' || behaviours(run).splitsQuantizedWeights) && shards > 1,
    prefetch: second ? 'pre' : (run['fsdp.backwardPrefetch'] ?? 'none'),
    forwardPrefetch: run['fsdp.forwardPrefetch'],
    replicates: second && (strategy === 'hybrid' || strategy === 'hybrid-grad-op'),
    mixesFrozen: !second && !adaptersApart,
    adaptersApart,
    lossOutside: behaviours(run).takesLossOutsideModel,
    leavesEmbedding: second && behaviours(run).wrapsEmbeddingApart,
    keepsLastReduction: second && accumulates && behaviours(run).keepsLastReduction,
    lossInHead: behaviours(run).takesLossInHead,
    reshardsEnds:
      second && reshards && shards > 1 && (run['fsdp.reshardsEnds'] ?? behaviours(run).reshardsEnds),
    emptyRoot:
      second &&
      wrapsEndsApart(run) &&
      stages.some(({ tape }) => tape.weights.some((weight) => weight.tiedTo !== undefined)),
  };
}

/** A group as large as all shards keeps nothing beside them. */
function stayingShare(group: number | undefined, shards: number): number {
  return group === undefined || group >= shards ? 0 : 1 / group;
}

/** Shards that a weight is split into in the mean, padding of each weight's shards included. */
export function meanShards(
  run: TrainingRun,
  stages: readonly TracedStage[],
  trainable: boolean,
  unpadded: number,
): number {
  if (run['parallel.data'] !== 'fsdp2') return unpadded;
  let elements = 0;
  let shards = 0;
  for (const traced of stages) {
    for (const weight of ownWeights(traced)) {
      if (weight.trainable !== trainable || weight.quantization !== 'none') continue;
      elements += traced.copies * weight.localElements;
      shards += traced.copies * shardedWeight(run, weight).shard;
    }
  }
  return shards > 0 ? elements / shards : unpadded;
}

/** Whether weights are gathered or cast at all. */
export function gathersWeights({ shards, mixed }: FsdpSettings): boolean {
  return shards > 1 || mixed;
}

/**
 * Autograd adds to what earlier micro steps left, unless FSDP2 moved that to the type of the reduction; FSDP1's flat
 * gradient is made of whole ones all the same.
 */
export function addsInPlace({ unsynced, second, reduce, compute }: FsdpSettings): boolean {
  return unsynced && second && reduce === compute;
}
