import { refused } from '../../rules/rule';
import { fileIn, OLMO } from '../../sources/repositories';

const MODEL = fileIn(OLMO, 'olmo/model.py');
const SCRIPT = fileIn(OLMO, 'scripts/train.py');

/** Rules of OLMo. */
export const OLMO_RULES = {
  'olmo-positions': refused(
    'ALiBi stands beside rotary positions or FlashAttention.',
    'Switch one of them off.',
    MODEL,
  ),
  'olmo-embedding-rows': refused(
    'The embedding has fewer rows than the vocabulary.',
    'State an `embedding_size` of at least `vocab_size`.',
    MODEL,
  ),
  'olmo-block-groups': refused(
    'The layers cannot be put into groups of `block_group_size`, or nothing is in groups that are asked for.',
    'State a `block_group_size` that divides `n_layers`, above one where FSDP wraps groups, and one where layers are compiled.',
    MODEL,
  ),
  'olmo-ddp': refused(
    'DDP lacks its block of settings, a model that is made on the GPU, or gradients that are reduced each micro batch.',
    'State `ddp` and `init_device: cuda`; with `find_unused_params` also `grad_sync_mode: micro_batch`.',
    SCRIPT,
  ),
  'olmo-document-masks': refused(
    '`generate_doc_lengths` needs FlashAttention.',
    'State `flash_attention: true`.',
    MODEL,
  ),
  'olmo-tied-unit': refused(
    'A tied embedding is a unit of FSDP: the head multiplies with a shard of it.',
    'State `wrapping_strategy: by_block`.',
    MODEL,
  ),
};

declare module '../../rules/rule-id' {
  interface RuleNames extends Record<keyof typeof OLMO_RULES, true> {}
}
