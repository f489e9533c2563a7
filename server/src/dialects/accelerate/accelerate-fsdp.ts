import { mapAt, nodeAt } from '../../config/lookup';
import type { ConfigNode } from '../../config/node';
import { flagOf, integerOf, isBlank } from '../../config/scalar';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
import { isNoFsdp } from '../hf/fsdp-version';
import { statedBy } from '../key-value';
import type { FoundKey, Section } from '../section';
import { ACCELERATE_TABLE, LAUNCH_ARGUMENTS } from './accelerate-keys';

const DOCS = 'https://huggingface.co/docs/accelerate/usage_guides/fsdp';

interface FsdpKey {
  readonly key: string;
  readonly node: ConfigNode;
}

/** A setting of `fsdp_config`, with or without the prefix that the launcher adds. Blank counts as absent. */
export function fsdpKey(root: ConfigNode, name: string): FsdpKey | undefined {
  const block = mapAt(root, 'fsdp_config');
  for (const key of [`fsdp_${name}`, name]) {
    const node = nodeAt(block, [key]);
    if (node && !isBlank(node)) return { key: `fsdp_config.${key}`, node };
  }
  return undefined;
}

export function fsdpVersionOf(root: ConfigNode): 1 | 2 {
  return integerOf(fsdpKey(root, 'version')?.node) === 2 ? 2 : 1;
}

export function readFsdp(section: Section, type: FoundKey, draft: Draft): void {
  const config = section.section('fsdp_config');
  const setting = (name: string) => config.find([`fsdp_${name}`, name]);
  const stated = setting('version');
  const second = integerOf(stated?.node) === 2;
  if (stated && isNoFsdp(stated.node)) section.leave(stated, ['parallel.data']);
  else section.state('parallel.data', second ? 'fsdp2' : 'fsdp1', { ...type, node: (stated ?? type).node });
  if (second) readReshard(section, config);
  else config.take('fsdp_sharding_strategy');
  readWrap(config);
  config.take('fsdp_offload_params');
  const offload = setting('offload_params');
  const offloaded = flagOf(offload?.node);
  if (offload && offloaded !== undefined) {
    const note = say('FSDP steps weights that are offloaded on the CPU');
    section.state('offload.optimizer', offloaded ? 'cpu' : 'none', offload, note);
  }
  config.take('fsdp_cpu_ram_efficient_loading', 'fsdp_state_dict_type');
  if (config.take('fsdp_activation_checkpointing')) {
    const note = say('Accelerate checkpoints FSDP layers without reentry');
    draft.assume('activations.reentrant', false, note, DOCS);
    if (second) config.take('fsdp_activation_checkpointing_offload');
  }
  if (second)
    draft.assume('fsdp.backwardPrefetch', 'none', say('FSDP 2 has no such setting in Accelerate'), DOCS);
  else readFirstVersion(config, draft);
}

/** FSDP 2: whether weights that were gathered for forward are freed until backward, and whether replicas do so. */
function readReshard(section: Section, config: Section): void {
  const replicas = section.integerOrDefault('parallelism_config.parallelism_config_dp_replicate_size') > 1;
  const found = config.find(['fsdp_reshard_after_forward', 'reshard_after_forward']);
  const flag = flagOf(found?.node);
  const kept = flag === false;
  const value = replicas ? (kept ? 'hybrid-grad-op' : 'hybrid') : kept ? 'grad-op' : 'full';
  if (found && flag !== undefined) section.state('fsdp.strategy', value, found);
  else if (found) section.leave(found, ['fsdp.strategy']);
  else
    config.assume(
      'fsdp.strategy',
      { value, note: say('{0} default', 'Accelerate'), source: DOCS },
      'fsdp_reshard_after_forward',
    );
}

function readWrap(config: Section): void {
  config.takeElse('fsdp_auto_wrap_policy', {
    value: 'none',
    note: say('Accelerate default: without a wrap policy, the whole model is gathered at once'),
    source: DOCS,
  });
  const policy = config.text(['fsdp_auto_wrap_policy', 'auto_wrap_policy']);
  if (policy?.toUpperCase() !== 'SIZE_BASED_WRAP') return;
  const note = say('default of accelerate launch');
  config.takeElse('fsdp_min_num_params', { value: 1e8, note, source: DOCS });
}

/** Name of `fsdp_backward_prefetch` in old releases: those that have both take this one first (`utils/launch.py`, v0.33.0). */
const OLD_PREFETCH = 'fsdp_backward_prefetch_policy';

function readFirstVersion(config: Section, draft: Draft): void {
  const note = say('{0} default', 'Accelerate');
  const version = draft.statedVersion('accelerate')?.version;
  const row = ACCELERATE_TABLE.find('fsdp_config.fsdp_backward_prefetch');
  const byOldName =
    row !== undefined &&
    LAUNCH_ARGUMENTS.presence(OLD_PREFETCH, version) === 'present' &&
    config.stateMeaning('fsdp.backwardPrefetch', OLD_PREFETCH, ({ node }) => statedBy(row, node) as never);
  if (!byOldName) config.takeElse('fsdp_backward_prefetch', { value: 'none', note, source: DOCS });
  config.take('fsdp_forward_prefetch', 'fsdp_use_orig_params');
}
