import { type Wish, type Words, word } from '../words';

/** The DeepSpeed config that XTuner brings for a stage and what is offloaded; undefined where it brings none. */
function named({ run, changes }: Wish) {
  const of = { ...run, ...changes };
  const stage = of['zero.stage'];
  const optimizer = of['offload.optimizer'] === 'cpu';
  const parameters = of['offload.parameters'] === 'cpu';
  const isBrought = stage === 3 ? optimizer === parameters : !parameters && (stage === 2 || !optimizer);
  if (of['parallel.data'] !== 'zero' || run['parallel.data'] !== 'zero' || !isBrought || stage === 0)
    return undefined;
  return [word('deepspeed', `deepspeed_zero${stage}${optimizer ? '_offload' : ''}`)];
}

/** A launch names a config of DeepSpeed, by a path or as XTuner calls those that it brings. */
const speak = (_: unknown, wish: Wish) =>
  /\.json$/i.test(wish.text('deepspeed') ?? '') ? undefined : named(wish);

/** XTuner's launches. */
export const xtunerWords: Words = {
  'zero.stage': speak,
  'offload.optimizer': speak,
  'offload.parameters': speak,
};
