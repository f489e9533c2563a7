import type { ConfigNode, MapEntry, MapNode } from '../../config/node';
import { isNone, nodeOf } from '../../config/python/node-of-value';
import type { PyArgument, PyCall } from '../../config/python/value';
import { say } from '../../wording/say';
import { readAccelerateSettings } from '../accelerate/accelerate';
import { ACCELERATE_TABLE } from '../accelerate/accelerate-keys';
import { OF_PRECISION } from '../deepspeed/deepspeed-precision';
import type { ReadContext } from '../dialect';
import { type Calls, leaveValue, withhold } from './call-block';
import { readDeepspeedArgument } from './deepspeed-settings';
import { readMixed } from './mixed-precision-policy';

/**
 * Arguments of Accelerate's plugins by the keys of its config that mean the same (accelerate 1.15, `utils/dataclasses.py`); others of
 * the plugins cost no memory.
 */
const KEYS: Readonly<Record<'DEEPSPEED' | 'FSDP', Readonly<Record<string, string>>>> = {
  DEEPSPEED: {
    zero_stage: 'zero_stage',
    gradient_accumulation_steps: 'gradient_accumulation_steps',
    offload_optimizer_device: 'offload_optimizer_device',
    offload_param_device: 'offload_param_device',
    zero3_init_flag: 'zero3_init_flag',
    zero3_save_16bit_model: 'zero3_save_16bit_model',
  },
  FSDP: {
    fsdp_version: 'fsdp_version',
    sharding_strategy: 'fsdp_sharding_strategy',
    reshard_after_forward: 'fsdp_reshard_after_forward',
    auto_wrap_policy: 'fsdp_auto_wrap_policy',
    transformer_cls_names_to_wrap: 'fsdp_transformer_layer_cls_to_wrap',
    min_num_params: 'fsdp_min_num_params',
    cpu_offload: 'fsdp_offload_params',
    activation_checkpointing: 'fsdp_activation_checkpointing',
    use_orig_params: 'fsdp_use_orig_params',
    cpu_ram_efficient_loading: 'fsdp_cpu_ram_efficient_loading',
    mixed_precision_policy: 'mixed_precision',
  },
};
const PLUGINS: Readonly<Record<string, keyof typeof KEYS>> = {
  DeepSpeedPlugin: 'DEEPSPEED',
  FullyShardedDataParallelPlugin: 'FSDP',
};

/**
 * `Accelerator(deepspeed_plugin=..., fsdp_plugin=...)`: read as the config of Accelerate that asks for the same. False where nobody
 * sees what the plugin is made of.
 */
export function readPlugin(
  calls: Calls,
  accelerator: PyCall,
  { key, value, used }: PyArgument,
  context: ReadContext,
): boolean {
  const { program, draft, bf16 } = calls;
  const plugin = value.kind === 'object' && value.item === undefined ? program.calls[value.id] : undefined;
  const name = plugin?.callee.split('.').at(-1) ?? '';
  const kind = Object.hasOwn(PLUGINS, name) ? PLUGINS[name] : undefined;
  if (!plugin || !kind || plugin.open || plugin.positional.length > 0) return false;
  const own = kind === 'DEEPSPEED' && plugin.named.find((argument) => argument.key === 'hf_ds_config');
  if (own) {
    const isRead = draft.filledAs('deepspeed', () => readDeepspeedArgument(calls, plugin, own, context));
    // Accelerate adds the block of its own precision where the settings have none.
    if (isRead && accelerator.named.some((argument) => argument.key === 'mixed_precision'))
      draft.withdraw(OF_PRECISION);
    return isRead;
  }
  const block = `${kind.toLowerCase()}_config`;
  const entries = plugin.named.flatMap((argument): MapEntry[] => {
    const known = Object.hasOwn(KEYS[kind], argument.key) ? KEYS[kind][argument.key] : undefined;
    if (known === undefined) return [];
    const { value: given } = argument;
    if (kind === 'FSDP' && readPolicy(calls, argument)) return [];
    const fields = ACCELERATE_TABLE.find(`${block}.${known}`)?.fields ?? [];
    const isMember = given.kind === 'name' && /(?:^|\.)ShardingStrategy\.\w+$/.test(given.name);
    if (given.kind !== 'scalar' && given.kind !== 'list' && !isMember) {
      leaveValue(draft, argument, fields.length > 0 ? fields : ['parallel.data']);
      // What DeepSpeed does by default hangs on the stage.
      withhold(draft, argument.key === 'zero_stage' ? [...fields, 'zero.overlapCommunication'] : fields);
      return [];
    }
    const node = nodeOf(given, { used: argument.used, bf16 });
    // `ShardingStrategy.FULL_SHARD` is written `FULL_SHARD` in a config.
    const short = node.kind === 'scalar' && isMember ? lastPart(node.text) : undefined;
    const plain =
      node.kind === 'scalar' && short !== undefined ? { ...node, value: short, text: short } : node;
    return [{ key: known, keyRange: argument.keyRange, value: plain }];
  });
  const mixed = accelerator.named.find((argument) => argument.key === 'mixed_precision');
  const range = plugin.argumentsRange;
  const root: MapNode = {
    kind: 'map',
    range,
    entries: [
      { key: 'distributed_type', keyRange: used, value: word(kind, plugin.calleeRange) },
      ...(mixed?.value.kind === 'scalar'
        ? [{ key: 'mixed_precision', keyRange: mixed.keyRange, value: nodeOf(mixed.value, { bf16 }) }]
        : []),
      { key: block, keyRange: used, value: { kind: 'map', range, entries } },
    ],
  };
  readAccelerateSettings(root, draft);
  draft.assume('framework', 'accelerate', say('the file calls {0}', `\`${key}\``));
  return true;
}

/**
 * What the plugin is given as PyTorch's FSDP takes it: a policy of precision, which stays as it is (`FullyShardedDataParallelPlugin`,
 * `set_mixed_precision` without `override`), and one of wrapping. False where it is a word of Accelerate's config.
 */
function readPolicy(calls: Calls, { key, value }: PyArgument): boolean {
  if (value.kind === 'scalar' || isNone(value)) return false;
  if (key === 'mixed_precision_policy') {
    if (value.kind !== 'object') return false;
    readMixed(calls, value, calls.bf16, key);
    return true;
  }
  const made = value.kind === 'object' ? calls.program.calls[value.id] : undefined;
  if (key !== 'auto_wrap_policy' || !/(?:^|\.)partial$/.test(made?.callee ?? '')) return false;
  calls.draft.infer('fsdp.wrap', 'layer', say('a policy wraps layers'), value, key, true);
  return true;
}

const lastPart = (text: string): string => text.split('.').at(-1) ?? text;

const word = (text: string, range: MapNode['range']): ConfigNode => ({
  kind: 'scalar',
  value: text,
  text,
  range,
  quoted: true,
});
