import { say } from '../wording/say';
import type { TracedStage } from './traced-run';

/** How many places of the text a merge asks for, and how many there are, in tokens of a micro batch on one GPU. */
export interface CrowdedText {
  readonly wanted: number;
  readonly there: number;
}

/**
 * Features of images or sound that are more than the whole text has places. Trainers cut `input_ids` and leave the pixels as they are
 * (`DataCollatorForVisionPreference` of TRL, `truncation=True` of a processor), and the model stops: "Image features and image tokens do not
 * match" (`get_placeholder_mask`, `models/idefics3/modeling_idefics3.py` of transformers 5.23). Undefined where all go in.
 */
export function crowdedText(stages: readonly TracedStage[]): CrowdedText | undefined {
  for (const { tape } of stages)
    for (const { name, inputs } of tape.operations) {
      const [hidden, features] = inputs;
      if (!/(?:^|\.)masked_scatter$/.test(name) || !hidden || !features) continue;
      if (features.elements <= hidden.elements) continue;
      const width = hidden.shape.at(-1) ?? 1;
      return { wanted: features.elements / width, there: hidden.elements / width };
    }
  return undefined;
}

/** The same for people; `sound`: whether samples hold any. */
export function crowdedNote({ wanted, there }: CrowdedText, sound: boolean): string {
  return sound
    ? say(
        'Images and sound take {0} tokens of a text that has {1}: transformers stops where it is cut so (`Image features and image tokens do not match`). What runs has smaller images or longer samples.',
        wanted,
        there,
      )
    : say(
        'Images take {0} tokens of a text that has {1}: transformers stops where it is cut so (`Image features and image tokens do not match`). What runs has smaller images or longer samples.',
        wanted,
        there,
      );
}
