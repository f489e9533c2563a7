import type { ConfigDocument, ConfigNode } from '../../config/node';
import { say } from '../../wording/say';
import type { Dialect, ReadContext, Reading } from '../dialect';
import { Draft } from '../draft';
import { OTHER_TRAINERS } from './other-trainers';

const ownerOf = (root: ConfigNode) => OTHER_TRAINERS.find(({ owns }) => owns(root));

/** Configs of trainers that Oomlint knows and does not model: reported once, and never estimated. */
export const notModelled: Dialect = {
  id: 'not-modelled',
  get name() {
    return say('another trainer');
  },
  keys: [],
  markers:
    /\bnetwork_module\b|\bLoRA_type\b|\bcaption_extension\b|\bmax_bucket_reso\b|\bclip_skip\b|\bdata_backend_config\b|\btraining_method\b|\bjob["']?\s*:|\bmax_sequence_length\b|\buse_smp_model\b|\btensor_model_parallel_degree\b|\bmax_context_width\b|\b(?:tensor|pipeline|sharding|sep)_parallel_(?:degree|config)\b|\beval_with_do_generation\b|\bunified_checkpoint\b|\bamp_master_grad\b|\brecompute\b|\borchestrator\b|\btrial_name\b|^\[data\]/m,
  detect(root: ConfigNode): number {
    return root.kind === 'map' && ownerOf(root) ? 0.9 : 0;
  },
  read(document: ConfigDocument, context: ReadContext): Reading {
    const draft = new Draft(document, context);
    const { root } = document;
    const owner = root?.kind === 'map' ? ownerOf(root) : undefined;
    const first = root?.kind === 'map' ? root.entries[0] : undefined;
    if (owner) draft.notModelled = { name: owner.name, trains: owner.trains() };
    if (owner && first)
      draft.report(
        'trainer-not-modelled',
        'information',
        say(
          'A config of {0}, which trains {1}. Oomlint does not model it: there is no estimate.',
          owner.name,
          owner.trains(),
        ),
        first.keyRange,
      );
    return draft.reading();
  },
};
