import type { Model } from '../model/model';
import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';
import { say } from '../wording/say';
import type { TracedStage } from './traced-run';

/** How many places a merge asks for, and how many there are, in tokens of one text of the micro batch. */
export interface CrowdedText {
  readonly wanted: number;
  readonly there: number;
}

/**
 * Features of images or sound that are more than the whole text has places. Trainers cut `input_ids` and leave the pixels as they are
 * (`DataCollatorForVisionPreference` of TRL, `truncation=True` of a processor), and the model stops: "Image features and image tokens do not
 * match" (`get_placeholder_mask`, `models/idefics3/modeling_idefics3.py` of transformers 5.23). Undefined where all go in, and in releases
 * that leave what does not.
 */
export function crowdedText(
  stages: readonly TracedStage[],
  run: TrainingRun,
  { config }: Model,
): CrowdedText | undefined {
  if (config?.model_type === 'idefics3' && behaviours(run).leavesSurplusImages) return undefined;
  for (const { tape } of stages)
    for (const { name, inputs } of tape.operations) {
      const [hidden, features] = inputs;
      if (!/(?:^|\.)masked_scatter$/.test(name) || !hidden || !features) continue;
      if (features.elements <= hidden.elements) continue;
      const length = hidden.shape.at(-2) ?? 1;
      return { wanted: Math.round((length * features.elements) / hidden.elements), there: length };
    }
  return undefined;
}

/** The same for people. */
export function crowdedNote({ wanted, there }: CrowdedText, run: TrainingRun, { config }: Model): string {
  if (config?.model_type === 'smolvlm' && behaviours(run).asksForWholeTiles)
    return say(
      'Images take {0} tokens of a text that has {1}: transformers stops where it is cut inside of a tile (`At least one sample has <image> tokens not divisible by patch_size`). What runs has smaller images or longer samples.',
      wanted,
      there,
    );
  return run['batch.sound']
    ? say(
        'Images and sound take {0} tokens of a text that has {1}: transformers stops where it is cut so, in its processor or in the model, as features and tokens do not match. What runs has smaller images or longer samples.',
        wanted,
        there,
      )
    : say(
        'Images take {0} tokens of a text that has {1}: transformers stops where it is cut so, in its processor or in the model, as features and tokens do not match. What runs has smaller images or longer samples.',
        wanted,
        there,
      );
}
