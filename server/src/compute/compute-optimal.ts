import type { Model } from '../model/model';
import type { TrainingRun } from '../run/fields';
import { stepsOf } from './flops';

/**
 * Training tokens per parameter, where the run trains a model from the beginning: all weights, next-token objective,
 * and an architecture that the config spells out itself or a length in tokens. Undefined for fine-tuning.
 */
export function tokensPerParameter(
  run: TrainingRun,
  model: Model,
  tokensPerStep: number,
): number | undefined {
  if (run['method.kind'] !== 'full' || run['method.objective'] !== 'lm') return undefined;
  const tokens = run['schedule.tokens'];
  if (tokens === undefined && model.origin !== 'inline') return undefined;
  const steps = stepsOf(run, tokensPerStep);
  const seen = tokens ?? (steps === undefined ? undefined : steps * tokensPerStep);
  return seen === undefined || model.parameters.total === 0 ? undefined : seen / model.parameters.total;
}
