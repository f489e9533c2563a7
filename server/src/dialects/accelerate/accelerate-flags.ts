import type { ConfigNode, MapEntry, MapNode } from '../../config/node';
import { flagOf } from '../../config/scalar';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import type { Launch } from '../launch/launch';
import { Section } from '../section';
import { readAccelerateSettings } from './accelerate';

const DEEPSPEED_KEYS =
  /^(deepspeed_config_file|zero_stage|offload_(optimizer|param)_(device|nvme_path)|gradient_accumulation_steps|gradient_clipping|zero3_(init_flag|save_16bit_model)|deepspeed_hostfile|deepspeed_multinode_launcher|deepspeed_moe_layer_cls_names)$/;
const SWITCHES = [
  ['use_deepspeed', 'DEEPSPEED'],
  ['use_fsdp', 'FSDP'],
  ['use_megatron_lm', 'MEGATRON_LM'],
  ['multi_gpu', 'MULTI_GPU'],
  ['cpu', 'MULTI_CPU'],
] as const;

/**
 * Flags of `accelerate launch` have the names of its config's keys, without the blocks: they are laid out as the config
 * and read by the same code. A config file that they name is linked; flags override it.
 */
export function readAccelerateFlags(launch: Launch, draft: Draft, context: ReadContext): void {
  const { launcher } = launch;
  const section = new Section(launcher, draft, `${launch.path}.launcher`);
  section.link('config_file', 'accelerate');
  const cpu = launcher.entries.find(({ key, value }) => key === 'cpu' && flagOf(value) === true);
  if (cpu) draft.refuseCpu({ range: cpu.keyRange }, '--cpu');
  const root = configOf(launcher);
  if (root) readAccelerateSettings(root, draft, context);
  else if (!section.has('config_file')) return;
  section.stateMeaning('precision.compute', 'mixed_precision', ({ node }) => {
    const text = node.kind === 'scalar' ? node.text : '';
    return text === 'bf16' || text === 'fp16' ? text : undefined;
  });
}

/** The config that the flags amount to; undefined where they do not say what kind of run it is. */
function configOf(launcher: MapNode): MapNode | undefined {
  const { entries, range } = launcher;
  const on = (key: string) => flagOf(entries.find((entry) => entry.key === key)?.value) === true;
  const chosen = SWITCHES.find(([key]) => on(key));
  if (!chosen) return undefined;
  const [key, kind] = chosen;
  const stated = entries.find((entry) => entry.key === key);
  if (!stated) return undefined;
  const type: ConfigNode = { kind: 'scalar', range: stated.keyRange, value: kind, text: kind, quoted: false };
  const block = (name: string, inner: readonly MapEntry[]): MapEntry[] =>
    inner.length > 0 ? [{ key: name, keyRange: range, value: { kind: 'map', range, entries: inner } }] : [];
  const deepspeed = entries.filter((entry) => DEEPSPEED_KEYS.test(entry.key));
  const fsdp = entries.filter((entry) => entry.key.startsWith('fsdp_'));
  const megatron = entries.filter((entry) => entry.key.startsWith('megatron_lm_'));
  const rest = entries.filter((entry) => ![...deepspeed, ...fsdp, ...megatron].includes(entry));
  return {
    kind: 'map',
    range,
    entries: [
      { key: 'distributed_type', keyRange: stated.keyRange, value: type },
      ...rest,
      ...block('deepspeed_config', kind === 'DEEPSPEED' ? deepspeed : []),
      ...block('fsdp_config', kind === 'FSDP' ? fsdp : []),
      ...block('megatron_lm_config', kind === 'MEGATRON_LM' ? megatron : []),
    ],
  };
}
