import { rememberedOf } from '../memo/remembered';
import { statedLabels } from '../model/config';
import type { Model, ParameterCount } from '../model/model';
import { countParameters, oneTokenTapes } from '../model/parameter-count';
import { ONE_TOKEN } from '../model/trace-settings';
import { FIELDS, type RunValues } from '../run/fields';
import type { Objective } from '../terms/objectives';

const counts = rememberedOf<Model, ParameterCount>(16);

/** Objectives whose class has a head of its own in the place of the one that guesses tokens. */
const OTHER_HEADS: ReadonlySet<Objective> = new Set([
  'classification',
  'token-classification',
  'question-answering',
  'multiple-choice',
  'reward',
]);

/**
 * Parameters of what a run loads: an encoder is published without a head, and the class that trains it has the one of its task, as that of
 * a text model has which scores.
 */
export function headedCount(model: Model, values: RunValues): ParameterCount {
  const objective = values['method.objective'] ?? FIELDS['method.objective'].default;
  if (!model.counted && !OTHER_HEADS.has(objective)) return model.parameters;
  const labels = values['model.labels'] ?? statedLabels(model.config);
  return counts.of(model, `${objective} ${labels}`, () =>
    countParameters(model.stages, oneTokenTapes(model.stages, { ...ONE_TOKEN, objective, labels })),
  );
}
