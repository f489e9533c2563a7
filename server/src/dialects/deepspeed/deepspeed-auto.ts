import type { Fact } from '../../run/origin';
import { fact, type Origin } from '../../run/origin';
import { fileIn, TRANSFORMERS } from '../../sources/repositories';
import { locationOf } from '../../text/place';
import { say } from '../../wording/say';
import type { AutoKnowledge, AutoValue, ReadContext } from '../dialect';

const HF = fileIn(TRANSFORMERS, 'src/transformers/integrations/deepspeed.py');

/**
 * Values that Accelerate and the Hugging Face Trainer put in the place of `auto`, as far as they follow from the model
 * and the run. What only the caller knows (a micro batch that nobody states) stays unknown.
 */
export function fillAutos(autos: readonly AutoValue[], knowledge: AutoKnowledge): Fact[] {
  return autos.flatMap((auto) => fillOne(auto, knowledge));
}

function fillOne(auto: AutoValue, { known, hiddenSize: h, uri }: AutoKnowledge): Fact[] {
  const origin = (note: string): Origin => ({
    kind: 'inferred',
    key: auto.key,
    note: say('auto: {0}', note),
    source: HF,
    location: uri === undefined ? undefined : locationOf(auto.range, uri),
  });
  switch (auto.key) {
    case 'zero_optimization.reduce_bucket_size':
      return h ? [fact('zero.reduceBucket', h * h, origin(say('hidden size²')))] : [];
    case 'zero_optimization.stage3_prefetch_bucket_size':
      return h
        ? [fact('zero.prefetchBucket', Math.trunc(0.9 * h * h), origin(say('0.9 × hidden size²')))]
        : [];
    case 'zero_optimization.stage3_param_persistence_threshold':
      return h ? [fact('zero.persistenceThreshold', 10 * h, origin(say('10 × hidden size')))] : [];
    case 'bf16.enabled':
    case 'bfloat16.enabled':
      return lowPrecision('bf16', known, origin);
    case 'fp16.enabled':
      return lowPrecision('fp16', known, origin);
    default:
      return [];
  }
}

/** The caller's precision decides: DeepSpeed then holds the weights in it. */
function lowPrecision(
  dtype: 'bf16' | 'fp16',
  known: ReadContext['known'],
  origin: (note: string) => Origin,
): Fact[] {
  if (known['precision.compute'] !== dtype) return [];
  const because = origin(say('the caller trains in {0}', dtype));
  return [fact('precision.scheme', 'deepspeed', because), fact('precision.weights', dtype, because)];
}
