import type { Fact } from '../../run/origin';

const OF_TRAINER = /^activations\.(?:checkpointing|reentrant)$/;

/**
 * Layers that FSDP's own settings checkpoint are so whatever the Trainer's own switch states: Accelerate wraps them
 * (accelerate 1.15, `accelerator.py`, `prepare_model`; `utils/fsdp_utils.py`, `fsdp2_apply_ac`). The Trainer refuses both at once.
 */
export function replacesCheckpointing(own: readonly Fact[]): ((stated: Fact) => boolean) | undefined {
  const checkpoints = own.some(
    ({ field, value, origin }) =>
      field === 'activations.checkpointing' &&
      value === 'full' &&
      /(?:^|\.)(?:fsdp_)?activation_checkpointing$/.test(origin.key ?? ''),
  );
  return checkpoints
    ? ({ field, value, origin }) => OF_TRAINER.test(field) && value !== 'full' && origin.kind !== 'directive'
    : undefined;
}
