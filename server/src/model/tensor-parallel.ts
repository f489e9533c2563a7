import type { TraceSettings } from './trace-settings';

/**
 * Ranks that hold a part of the sequence each outside of attention and MLP: Megatron's sequence parallelism, which torchtitan
 * has too and transformers' plans have not.
 */
export function sequenceRanks({ behaviours, sequenceParallel, tensorParallel }: TraceSettings): number {
  return sequenceParallel && behaviours.splitsSequence ? tensorParallel : 1;
}

/**
 * How a sequence that lies in parts comes together before a linear layer that is split by output.
 *
 * `each`: every layer gathers it for itself, keeps its own part, and gathers again in backward (Megatron
 * `tensor_parallel/layers.py`, `LinearWithGradAccumulationAndAsyncCommunication`). `once`: a module gathers its input for
 * all its layers, which keep the whole (torchtitan, `PrepareModuleInput`).
 */
export function gatherOf({ behaviours }: TraceSettings): 'each' | 'once' {
  return behaviours.gathersForEachLayer ? 'each' : 'once';
}

/** Vocabulary rows on the rank that has the most. Megatron pads to a multiple; DTensor gives the first ranks more. */
export function localRows(rows: number, { tensorParallel, vocabularyMultiple }: TraceSettings): number {
  const unit = (vocabularyMultiple ?? 1) * tensorParallel;
  const padded = vocabularyMultiple === undefined ? rows : Math.ceil(rows / unit) * unit;
  return Math.ceil(padded / tensorParallel);
}

/**
 * What tensor parallelism does to embedding and head. transformers' plans leave the embedding whole unless the head is
 * tied to it, and gather all logits on every rank (`configuration_llama.py`, `base_model_tp_plan`; `modeling_llama.py`,
 * `colwise_gather_output`); Megatron and torchtitan split both and their loss.
 */
export function splitsVocabulary({ behaviours, tensorParallel }: TraceSettings): boolean {
  return tensorParallel > 1 && behaviours.splitsVocabulary;
}

/**
 * Whether every rank gets the logits of the whole vocabulary: where the head is split and the loss does not work on parts
 * (torchtitan with `disable_loss_parallel`: `output_layouts=Replicate()`).
 */
export function gathersLogits(settings: TraceSettings): boolean {
  if (settings.tensorParallel <= 1) return false;
  if (!splitsVocabulary(settings)) return true;
  return !settings.behaviours.takesLossOfSplitLogits && settings.loss !== 'vocab-parallel';
}
