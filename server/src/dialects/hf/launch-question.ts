import type { RunValues } from '../../run/fields';
import type { OpenQuestion } from '../../run/open-question';
import { say } from '../../wording/say';
import type { RunMember } from '../dialect';

/**
 * A recipe of the Trainer's states nothing of the launcher, and the launcher's own config shards the run: `accelerate launch
 * --config_file deepspeed_zero3.yaml sft.py recipe.yaml`. Where no file of the run shows the launch, that is open.
 */
export function launchQuestions(members: readonly RunMember[], values: RunValues): OpenQuestion[] {
  if ((values['hardware.gpus'] ?? 1) <= 1) return [];
  if (members.some(({ config: { dialect } }) => dialect.startsRuns === true)) return [];
  return [
    {
      field: 'parallel.data',
      reason: say('No file shows how the run is launched: replicas are assumed.'),
      oneOfMany: true,
      otherwise: {
        changes: { 'parallel.data': 'zero', 'zero.stage': 3 },
        words: say('ZeRO stage {0}', 3),
      },
    },
  ];
}

/** A file of a library states how to train; what is trained, and whether it checkpoints activations, a script states. */
export function scriptQuestions(members: readonly RunMember[]): OpenQuestion[] {
  if (members.some(({ config: { dialect } }) => dialect.isLibrary !== true)) return [];
  return [
    {
      field: 'activations.checkpointing',
      reason: say('No file of the run says whether its script checkpoints activations: none is assumed.'),
      otherwise: {
        changes: { 'activations.checkpointing': 'full' },
        words: say('activation checkpointing'),
      },
    },
  ];
}
