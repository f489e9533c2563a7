import { entryOf } from '../../config/lookup';
import { textOf } from '../../config/scalar';
import type { Launch } from '../launch/launch';
import { overridingProgram } from '../launch/overriding-program';
import type { Program } from '../launch/program';
import { megatronBridge } from './megatron-bridge';

/** Blocks of `ConfigContainer` that words of a command replace values in (`training/config.py` of v0.6.0). */
const BLOCK =
  /^(?:train|model|optimizer|scheduler|ddp|dist|dataset|checkpoint|peft|mixed_precision|comm_overlap)\.\w/;

/** The file that goes over a recipe, which a script of a project's own makes (`tutorials/recipes/llama/03_finetune_with_yaml.py`). */
function fileOf({ arguments: flags }: Launch) {
  const found = entryOf(flags, 'config_file');
  const path = textOf(found?.value);
  return found && path !== undefined && /\.ya?ml$/i.test(path)
    ? { path, node: found.value, key: 'config_file', optional: true }
    : undefined;
}

/** `torchrun finetune.py --config-file x.yaml train.micro_batch_size=2` of Megatron-Bridge. */
export const megatronBridgeProgram: Program = {
  ...overridingProgram(
    megatronBridge,
    (launch) =>
      launch.script !== undefined &&
      fileOf(launch) &&
      launch.arguments.entries.some(({ key }) => BLOCK.test(key))
        ? 0.75
        : 0,
    fileOf,
  ),
  joinsOnly: true,
  startsOwn: () => true,
};
