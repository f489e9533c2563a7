import { ELEMENT_BYTES, type Tensor } from '../tape';
import type { Tracer, TraceSettings } from '../tracer';

/** Ranks among which heads are exchanged against tokens: Ulysses, and context parallelism that goes all to all. */
export function headRanks({ ulysses = 1, contextMethod, contextParallel }: TraceSettings): number {
  return ulysses * (contextMethod === 'all-to-all' ? contextParallel : 1);
}

/** Ranks whose keys and values a rank's queries meet one after the other or all at once. */
export function keyRanks({ contextMethod, contextParallel }: TraceSettings): number {
  return contextMethod === 'all-to-all' ? 1 : contextParallel;
}

/**
 * `[b, s, width]` of some tokens and all heads to all tokens and some heads (`ranks` > 1), or back (`ranks` < 1). What is
 * sent is laid out anew first (DeepSpeed `sequence/layer.py`, `single_all_to_all`); nothing is kept.
 */
export function exchange(t: Tracer, x: Tensor, ranks: number, name: string): Tensor {
  const [batch = 1] = x.shape;
  const tokens = x.shape[1] ?? 1;
  const width = x.elements / (batch * tokens);
  const bytes = x.elements * ELEMENT_BYTES[x.dtype];
  return t.fused({
    name,
    inputs: [x],
    outputs: [{ shape: [batch, tokens * ranks, width / ranks], dtype: x.dtype }],
    forwardScratch: bytes,
    backwardScratch: bytes,
  });
}

/** Sizes of one rank's attention, elements. */
interface ContextSizes {
  readonly queries: number;
  /** Keys and values together. */
  readonly keys: number;
  readonly results: number;
  /** Bytes per element. */
  readonly width: number;
}

/**
 * Bytes that attention over `ranks` context-parallel ranks needs beside its own inputs and results. What autograd keeps is
 * a rank's own queries, keys, values, result and log-sum-exp, as without.
 *
 * PyTorch (`torch/distributed/tensor/experimental/_attention.py`, `_templated_ring_attention`) merges results in fp32: the
 * sum so far, the block, two temporaries. Its backward sums fp32 gradients, and those of keys and values travel in fp32:
 * what came, what is sent and what arrives. Keys and values are gathered at once, or one is held, sent and received.
 *
 * Transformer Engine's ring (`context_parallel.py`, `AttnFuncWithCPAndKVP2P`) keeps all that it received and every step's
 * result until its end, and in backward two pairs of buffers for keys, values and their gradients. Its all-gather
 * (`AttnFuncWithCPAndKVAllGather`) puts the gathered parts in order, which copies them, and has their whole gradients.
 */
export function contextScratch(
  { behaviours, contextMethod }: TraceSettings,
  ranks: number,
  { queries, keys, results, width }: ContextSizes,
): { readonly forward: number; readonly backward: number } {
  const all = ranks * keys * width;
  const one = keys * width;
  if (behaviours.ringKeepsSteps) {
    if (contextMethod === 'all-gather') return { forward: 2 * all, backward: 3 * all };
    return {
      forward: all - one + ranks * results * width,
      backward: 4 * one + queries * width,
    };
  }
  const fp32 = ELEMENT_BYTES.fp32;
  const held = contextMethod === 'ring' ? 3 * one : all;
  return {
    forward: held + (width < fp32 ? 4 : 3) * results * fp32,
    backward: held + queries * fp32 + 3 * keys * fp32,
  };
}
