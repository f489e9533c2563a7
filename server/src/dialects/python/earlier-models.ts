import type { PyCall, PyProgram } from '../../config/python/value';
import { ELEMENT_BYTES } from '../../model/tape';
import type { ReadContext, Reading } from '../dialect';
import type { Calls } from './call-block';
import { countedModel } from './counted-models';
import type { ModelChain } from './model-chain';
import { handedOn, isPipeline, makesOther, placementOf } from './placed-models';

/** Weights on the GPU from one call to another. */
interface Span {
  readonly from: number;
  readonly until: number;
  readonly bytes: number;
}

/** The calls on a model before the one that takes it off the GPU, and that one. */
function untilMoved(
  program: PyProgram,
  call: PyCall,
  steps: readonly PyCall[],
  release: string | undefined,
): { readonly steps: readonly PyCall[]; readonly until: number } {
  for (const [index, { id }] of steps.entries())
    if (
      placementOf(program, call, steps.slice(0, index), release) === 'gpu' &&
      placementOf(program, call, steps.slice(0, index + 1), release) === 'host'
    )
      return { steps: steps.slice(0, index), until: id };
  return { steps, until: Number.POSITIVE_INFINITY };
}

/**
 * The most weights of known models that lie on the GPU at once before the training, where some of them are gone by the time it starts: what is
 * tried out in the cells before it, or makes the samples. No bytes where none is gone, or of none the size is known.
 */
export function earlierModels(
  calls: Calls,
  chain: ModelChain,
  start: number,
  context: ReadContext,
): NonNullable<Reading['earlier']> {
  const { program } = calls;
  const release = context.versions?.transformers?.version;
  const spans = program.calls.flatMap((call): Span[] => {
    if (call.id >= start || !makesOther(call) || chain.ids.has(call.id) || chain.instead.has(call.id))
      return [];
    if (chain.lost && !isPipeline(call)) return [];
    const released = program.released.get(call.id) ?? Number.POSITIVE_INFINITY;
    const all = handedOn(program, call).filter(({ id }) => id < Math.min(start, released));
    const { steps, until } = untilMoved(program, call, all, release);
    if (placementOf(program, call, steps, release) !== 'gpu') return [];
    const model = countedModel(calls, call, steps, context);
    if (!model) return [];
    const bytes = model.parameters * ELEMENT_BYTES[model.dtype] + model.bufferBytes;
    return [{ from: call.id, until: Math.min(until, released), bytes }];
  });
  const gone = spans.filter(({ until }) => until <= start);
  const trained = trainedFrom(program, chain, release);
  const sums = gone.flatMap((one) =>
    spans
      .filter(({ from }) => from >= one.from && from < one.until)
      .map(({ from: at }) => ({
        bytes: spans.reduce(
          (sum, { from, until, bytes }) => (from <= at && at < until ? sum + bytes : sum),
          0,
        ),
        besideTrained: trained < at,
      })),
  );
  return sums.reduce((most, one) => (one.bytes > most.bytes ? one : most), {
    bytes: 0,
    besideTrained: false,
  });
}

/** The call from which on the model that is trained lies on the GPU; infinity where only its trainer puts it there. */
function trainedFrom(program: PyProgram, { load }: ModelChain, release: string | undefined): number {
  const isPlaced = load !== undefined && placementOf(program, load, [], release) === 'gpu';
  return isPlaced ? load.id : Number.POSITIVE_INFINITY;
}
