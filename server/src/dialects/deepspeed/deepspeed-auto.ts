import type { Fact } from '../../run/origin';
import { fact, type Origin } from '../../run/origin';
import { ACCELERATE, fileIn, TRANSFORMERS } from '../../sources/repositories';
import { locationOf } from '../../text/place';
import { say } from '../../wording/say';
import type { AutoKnowledge, AutoValue, ReadContext } from '../dialect';

const HF = fileIn(TRANSFORMERS, 'src/transformers/integrations/deepspeed.py');

/** Accelerate's plugin, which the Trainer makes too, fills the stage in: `--zero_stage`, this where nobody gives one. */
export const AUTO_STAGE = 2;
const PLUGIN = fileIn(ACCELERATE, 'src/accelerate/utils/dataclasses.py');

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
    case 'zero_optimization.stage':
      return [
        fact('zero.stage', AUTO_STAGE, { ...origin(say('{0} default', 'Accelerate')), source: PLUGIN }),
      ];
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
