import type { MeterBands, Shares } from '../results/estimate';
import type { TrainingRun } from '../run/fields';

/** Where only the likely figure is asked for. */
export const SURE: Shares = { below: 0, above: 0 };

/** What of a run decides how well it is known. */
type BandKind = 'plain' | 'experts' | 'compiled';

/**
 * `max_memory_allocated` by kind of run. Published figures and Megatron-LM's functional tests lie within (docs/accuracy.md, "Bands"):
 * plain runs of known frameworks within 4 % either way; experts that are spread over GPUs between 10 % below and 20 % above, as
 * balanced routing is assumed; what a compiler fuses beyond a layer's kept tensors is not known.
 */
const ALLOCATED: Readonly<Record<BandKind, Shares>> = {
  plain: { below: 0.04, above: 0.04 },
  experts: { below: 0.1, above: 0.2 },
  compiled: { below: 0.12, above: 0.08 },
};

/** `max_memory_reserved` where all batches are alike. */
const RESERVED: Shares = { below: 0.12, above: 0.12 };

/**
 * How much more than is estimated a run may take whose code is not read, or a copy that has flags of its own: what is allocated is known
 * within 4 % of frameworks that are known, and this is the widest that plain published runs lie above (docs/accuracy.md, "Bands and verdicts").
 */
export const ABOVE_OF_OWN_CODE = RESERVED.above;

/** The same where they differ in length: the order of the data decides which blocks are kept (docs/accuracy.md, "Order of the data"). */
const VARIED: Shares = { below: 0.25, above: 0.45 };

/** Which band of error a run belongs to: experts spread over GPUs, compiled layers, or neither. */
export function bandKind(run: TrainingRun, experts: boolean): BandKind {
  if (experts && run['parallel.expert'] > 1) return 'experts';
  return run['kernels.compile'] || run['kernels.compileParts'] ? 'compiled' : 'plain';
}

/**
 * Of reserved memory a band is at least as wide as of what is allocated in it. Where requests are rounded up to one of `n` parts between powers
 * of two, each may be almost one part in `n` larger, and allocated memory counts them so (`CUDACachingAllocator.cpp`, `roundup_power2_next_division`).
 */
export function meterBands(run: TrainingRun, experts: boolean): MeterBands {
  const kind = ALLOCATED[bandKind(run, experts)];
  const parts = run['allocator.roundup'] ?? 1;
  const rounding = parts > 1 ? 1 / parts : 0;
  const rounded = ({ below, above }: Shares): Shares => ({ below, above: above + rounding * (1 + above) });
  const allocated = rounded(kind);
  const own = run['batch.varied'] && !run['batch.packed'] ? VARIED : RESERVED;
  const reserved = {
    below: Math.max(allocated.below, own.below),
    above: Math.max(allocated.above, rounded(own).above),
  };
  return { allocated, reserved };
}
