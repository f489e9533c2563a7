import type { Fact } from '../../run/origin';
import { isFsdp } from '../../terms/data-parallel';

/** Keys that say how `accelerate launch` starts the processes; a script's plugins are laid out under the same. */
const isLaunched = ({ origin: { key, location } }: Fact) =>
  /(?:^|\.)(?:distributed_type|fsdp_version)$/.test(key ?? '') &&
  !/\.(?:py|ipynb)$/.test(location?.uri ?? '');

/**
 * Whether the script's own arguments decide what the launcher was told of sharding. `TrainingArguments.deepspeed` makes every run one of
 * DeepSpeed; a plugin of FSDP makes those so that started as several processes (accelerate 1.15, `state.py`, `AcceleratorState.__init__`;
 * transformers 5.24, `training_args.py`, `_setup_devices`).
 */
export function givesWay(stated: Fact, all: readonly Fact[]): boolean {
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
