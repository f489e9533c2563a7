import { textOf } from '../../config/scalar';
import type { Draft } from '../draft';
import type { Section } from '../section';

/** Recipes that train a language model, as a whole or what it sees with, on its next token: the others train something else. */
const NEXT_TOKEN =
  /^(?:TrainFinetuneRecipeForNextTokenPrediction|BenchmarkingRecipeForNextTokenPrediction|FinetuneRecipeForVLM)$/;
const CLASSIFICATION = /^TrainFinetuneRecipeForSequenceClassification$/;

/**
 * What the recipe trains (`nemo_automodel/recipes/`). Distillation has a teacher beside the model, retrieval two texts and no logits,
 * a drafter the model that it drafts for, diffusion a loss of its own: nothing of these is estimated.
 */
export function readRecipe(section: Section, draft: Draft): void {
  const found = section.find(['recipe._target_', 'recipe']);
  const name = textOf(found?.node)?.split('.').at(-1) ?? '';
  const teacher = section.find('teacher_model');
  if (found && CLASSIFICATION.test(name)) section.state('method.objective', 'classification', found);
  else if (found && name !== '' && !NEXT_TOKEN.test(name)) draft.refuseTask(found.node, name);
  else if (teacher) draft.refuseTask(teacher.node, teacher.key);
}
