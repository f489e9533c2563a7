import type { Fact } from '../../run/origin';
import { isFsdp } from '../../terms/data-parallel';

/** `accelerate launch` starts the processes by this key; the plugins of a script are laid out under the same. */
const isLaunched = ({ origin: { key, location } }: Fact) =>
  key === 'distributed_type' && !/\.(?:py|ipynb)$/.test(location?.uri ?? '');

/**
 * Whether the script's own arguments decide what the settings of the launcher state of sharding. `TrainingArguments.deepspeed` makes every run one of
 * DeepSpeed; a plugin of FSDP makes those so that started as several processes (accelerate 1.15, `state.py`, `AcceleratorState.__init__`;
 * transformers 5.24, `training_args.py`, `_setup_devices`).
 */
export function isOutdone(stated: Fact, all: readonly Fact[]): boolean {
  const { field, value } = stated;
  if (field !== 'parallel.data' || value === 'zero' || !isLaunched(stated)) return false;
  return all.some(
    (other) =>
      other.field === field &&
      other.origin.kind !== 'inferred' &&
      !isLaunched(other) &&
      (other.value === 'zero' || (value === 'ddp' && isFsdp(other.value))),
  );
}
