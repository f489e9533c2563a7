import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';
import { combine, copyOf, post } from './ledger';
import { gradientsOf, rounded } from './play';
import type { Segment } from './segment';
import type { TracedStage } from './traced-run';

/**
 * Whether the inputs of checkpointed layers, and the gradients of these inputs, stay until backward is over.
 *
 * FSDP 1 learns from a hook on a unit's inputs that backward of its frozen flat weight is done
 * (`_register_post_backward_reshard_only_hook`). Where a reentrant checkpoint lies around the unit, the recomputation hands
 * it a detached leaf: the hook names the node that accumulates the leaf's gradient, the node the leaf, and FSDP the hook
 * until `_post_backward_final_callback`. transformers checkpointed `decoder_layer.__call__`, so around the unit, until 4.52
 * moved that into the layer (`GradientCheckpointingLayer`). Flat weights that are trained have no such hook.
 */
export function keepsEntries(run: TrainingRun): boolean {
  const frozen = run['parallel.data'] === 'fsdp1' && run['method.kind'] === 'lora';
  if (!frozen || run['fsdp.wrap'] === 'none' || run['activations.checkpointing'] !== 'full') return false;
  if (!run['activations.reentrant']) return false;
  return (run['fsdp.checkpoints'] ?? behaviours(run).checkpointsLie) === 'around';
}

/** A checkpointed segment whose backward leaves its input and that input's gradient. */
export function withKeptEntries(segment: Segment, traced: TracedStage): Segment {
  if (traced.stage.role !== 'layer' || traced.whole) return segment;
  const entries = traced.tape.entry.filter(({ storage }) => traced.consumed.has(storage));
  const keptGradients = gradientsOf(entries);
  const exit = copyOf(combine(segment.backward.exit, keptGradients));
  const events = [...segment.backward.events];
  for (const { storage } of entries) {
    const bytes = rounded(storage.bytes);
    post(exit, 'checkpoints', bytes, storage);
    events.push({ bytes, power: 1 }, { bytes, power: 1 });
  }
  return { ...segment, backward: { ...segment.backward, exit, events }, keptGradients };
}
