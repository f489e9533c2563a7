import type { TraceSettings } from './trace-settings';

/** Ranks that hold a part of the sequence each outside of attention and MLP (Megatron's sequence parallelism). */
export function sequenceRanks({ sequenceParallel, tensorParallel }: TraceSettings): number {
  return sequenceParallel ? tensorParallel : 1;
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
 * Whether ranks hold rows of the vocabulary of an embedding that no head is tied to. transformers' plans leave it whole
 * (`configuration_llama.py`, `base_model_tp_plan`).
 */
export function splitsEmbedding({ embeddingSplit, tensorParallel }: TraceSettings): boolean {
  return tensorParallel > 1 && embeddingSplit === true;
}

/**
 * What becomes of the logits, of which each rank computes its rows of the vocabulary. The loss works on them as they are;
 * or every rank gets all of them, from the head (`colwise_gather_output` of transformers, `output_layouts=Replicate()` of
 * PyTorch) or where the loss is taken (`DTensor.full_tensor`).
 */
export function logitsOf(settings: TraceSettings): 'split' | 'gathered' | 'by-loss' {
  const { behaviours, tensorParallel, loss, headOutput } = settings;
  if (tensorParallel <= 1) return 'split';
  if (headOutput === 'gathered') return 'gathered';
  const parallel = loss === 'vocab-parallel' || loss === 'vocab-parallel-compiled';
  if (parallel || behaviours.takesLossOfSplitLogits) return 'split';
  return headOutput === 'split' ? 'by-loss' : 'gathered';
}
