import type { ConfigDocument, ConfigNode } from '../../config/node';
import { flagOf, integerOf } from '../../config/scalar';
import { say } from '../../wording/say';
import type { Dialect, ReadContext, Reading } from '../dialect';
import { Draft } from '../draft';
import { Section } from '../section';
import { namedChoice, readCpuOffload, readFsdpSettings } from './fsdp-argument';
import { replacesCheckpointing } from './fsdp-checkpointing';
import { isNoFsdp } from './fsdp-version';
import { FSDP_FILE_KEYS } from './training-arguments-keys';

/** Keys that nothing but FSDP settings have, with or without the prefix. */
const OWN =
  /^(fsdp_)?(transformer_layer_cls_to_wrap|min_num_params|backward_prefetch|forward_prefetch|limit_all_gathers|use_orig_params|sync_module_states|cpu_ram_efficient_loading|reshard_after_forward|xla_fsdp_(v2|settings|grad_ckpt))$/;
const KNOWN = new Set(FSDP_FILE_KEYS.map(({ path }) => path));

/** The JSON file that the Trainer's `fsdp_config` names (transformers `training_args.py`, `_process_fsdp_args`). */
export const fsdpFile: Dialect = {
  id: 'fsdp-config',
  get name() {
    return say('FSDP settings');
  },
  ownScript: true,
  joins: { replaces: replacesCheckpointing },
  keys: FSDP_FILE_KEYS,
  markers:
    /"(?:fsdp_)?(?:transformer_layer_cls_to_wrap|backward_prefetch|use_orig_params|reshard_after_forward)"/,
  detect(root: ConfigNode, fileName: string): number {
    if (root.kind !== 'map' || !/\.jsonc?$/i.test(fileName)) return 0;
    const own = root.entries.filter(({ key }) => OWN.test(key)).length;
    // Files of other families hold these keys among many of their own.
    return own > 0 && root.entries.every(({ key }) => KNOWN.has(key) || key.startsWith('_')) ? 0.8 : 0;
  },
  read(document: ConfigDocument, context: ReadContext): Reading {
    const draft = new Draft(document, context);
    const section = new Section(document.root, draft);
    const version = section.find(namedChoice('version'));
    if (version && isNoFsdp(version.node)) section.leave(version, ['parallel.data']);
    else
      section.stateMeaning('parallel.data', namedChoice('version'), ({ node }) =>
        integerOf(node) === 2 ? 'fsdp2' : 'fsdp1',
      );
    const reshard = section.find(namedChoice('reshard_after_forward'));
    if (reshard && flagOf(reshard.node) === false) section.state('fsdp.strategy', 'grad-op', reshard);
    const size = section.find(namedChoice('min_num_params'));
    const minimum = integerOf(size?.node) ?? 0;
    const layers = section.find(namedChoice('transformer_layer_cls_to_wrap'));
    if (size && minimum > 0) {
      section.state('fsdp.wrap', 'size', size);
      section.state('fsdp.minParameters', minimum, size);
    } else if (layers) section.state('fsdp.wrap', 'layer', layers, say('the file names the layer classes'));
    readCpuOffload(section, context);
    readFsdpSettings(section, context);
    return draft.reading();
  },
};
