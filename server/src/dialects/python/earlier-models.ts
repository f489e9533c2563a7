import { ELEMENT_BYTES } from '../../model/tape';
import type { ReadContext } from '../dialect';
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

/**
 * Bytes of the most weights of known models that lie on the GPU at once before the training, where some of them are gone by the time it starts:
 * what is tried out in the cells before it. 0 where none is gone, or of none the size is known.
 */
export function earlierBytes(calls: Calls, chain: ModelChain, start: number, context: ReadContext): number {
  const { program } = calls;
  const spans = program.calls.flatMap((call): Span[] => {
    if (call.id >= start || !makesOther(call) || chain.ids.has(call.id) || chain.instead.has(call.id))
      return [];
    if (chain.lost && !isPipeline(call)) return [];
    const until = program.released.get(call.id) ?? Number.POSITIVE_INFINITY;
    const steps = handedOn(program, call).filter(({ id }) => id < Math.min(start, until));
    if (placementOf(program, call, steps, context.versions?.transformers?.version) !== 'gpu') return [];
    const model = countedModel(calls, call, steps, context);
    if (!model) return [];
    const bytes = model.parameters * ELEMENT_BYTES[model.dtype] + model.bufferBytes;
    return [{ from: call.id, until, bytes }];
  });
  const gone = spans.filter(({ until }) => until <= start);
  const sums = gone.flatMap((one) =>
    spans
      .filter(({ from }) => from >= one.from && from < one.until)
      .map(({ from: at }) =>
        spans.reduce((sum, { from, until, bytes }) => (from <= at && at < until ? sum + bytes : sum), 0),
      ),
  );
  return Math.max(0, ...sums);
}
