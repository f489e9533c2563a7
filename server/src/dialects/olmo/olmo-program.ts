import { nodeAt } from '../../config/lookup';
import type { Launch } from '../launch/launch';
import { configFile, overridingProgram } from '../launch/overriding-program';
import { olmo, olmoValues } from './olmo';
import { OLMO_TABLE } from './olmo-keys';

/** Flags that only OLMo's trainer takes. */
const OWN_FLAGS =
  /^(?:device_train_microbatch_size|fsdp\.wrapping_strategy|model\.flash_attention|save_interval_ephemeral|save_num_unsharded_checkpoints_to_keep|softmax_auxiliary_loss|fused_loss|sharded_checkpointer|try_load_latest_save|gen1_gc_interval|load_path_sharded_checkpointer)$/;
/** Its official configs, by their names and folders. */
const OWN_CONFIGS = /(?:^|\/)(?:OLMo2?-[\w.-]+|peteish[\w.-]*)\.ya?ml$/;

/** `torchrun scripts/train.py configs/official-1124/OLMo2-7B-stage1.yaml --save_overwrite --optimizer.learning_rate=1e-4`. */
export const olmoProgram = overridingProgram(
  olmo,
  (launch) => {
    if (!/(?:^|\/)scripts\/train\.py$/.test(launch.script ?? '')) return 0;
    const path = configFile(launch)?.path;
    if (path === undefined) return 0;
    if (OWN_CONFIGS.test(path) || hasOwnFlag(launch)) return 0.9;
    // `scripts/train.py FILE --run_name=x --save_folder=y`, of flags that it knows all.
    const names = launch.arguments.entries.map(({ key }) => key);
    const beside = ['run_name', 'save_folder', 'save_overwrite'].some((name) => names.includes(name));
    return beside && names.every((name) => OLMO_TABLE.find(name) !== undefined) ? 0.6 : 0;
  },
  (launch) => {
    const config = configFile(launch);
    // It is started in a checkout of OLMo, where such a folder lies.
    return config && /^(?:\.\/)?configs\//.test(config.path) ? { ...config, optional: true } : config;
  },
  undefined,
  () => olmoValues,
);

function hasOwnFlag({ arguments: flags }: Launch): boolean {
  return (
    flags.entries.some(({ key }) => OWN_FLAGS.test(key)) ||
    nodeAt(flags, ['fsdp', 'wrapping_strategy']) !== undefined
  );
}
