import type { ConfigNode } from '../config/node';
import { flagOf, isBlank, numberOf } from '../config/scalar';
import { say } from '../wording/say';
import type { Draft } from './draft';
import type { Section } from './section';

/** What of a config changes neither shapes nor memory. */
export const HARMLESS =
  /^(?:trust_remote_code|cache_dir|token|revision|use_cache|attn_implementation|_attn_implementation|torch_dtype|dtype|pad_token_id|bos_token_id|eos_token_id|decoder_start_token_id|return_unused_kwargs|local_files_only|force_download|max_position_embeddings|n_positions|n_ctx|rope_theta|rope_scaling|initializer_range|use_auth_token|pretraining_tp|output_attentions|output_hidden_states|architectures|name_or_path|_name_or_path)$/;
/** Fields of configs that sizes hang on: what `from_pretrained` is given of them replaces the checkpoint's (`configuration_utils.py`, `from_dict`). */
export const SIZES =
  /^(num_(hidden_)?layers|n_layers?|hidden_size|n_embd|d_model|intermediate_size|n_inner|vocab_size|num_attention_heads|n_heads?|num_key_value_heads|head_dim|num_experts|num_local_experts|n_routed_experts|num_experts_per_tok)$/;

/** The rest of what changes no memory, and what families read by rows of their own. */
const OTHERS =
  /^(?:output_router_logits|router_aux_loss_coef|router_z_loss_coef|aux_loss_alpha|seq_aux|norm_topk_prob|rope_parameters|max_sequence_length|model_type|sep_token_id|layer_norm_eps(?:ilon)?|rms_norm_eps|id2label|label2id|pretrained_model_name_or_path|_target_|.*token_id)$/;

/**
 * A block that replaces fields of the config of the model that is named: other sizes make another model, of what else stands there nobody knows what it makes. `apart`: what its
 * family reads by itself.
 */
export function readOverrides(
  section: Section,
  draft: Draft,
  blocks: readonly string[],
  apart?: RegExp,
): void {
  const found = section.find(blocks);
  if (found?.node.kind !== 'map') return;
  const changes: [string, number | boolean][] = [];
  for (const { key, value } of found.node.entries) {
    if (isBlank(value) || apart?.test(key) || countsNothing(key, value)) continue;
    const stated = SIZES.test(key)
      ? numberOf(value)
      : key === 'tie_word_embeddings'
        ? flagOf(value)
        : undefined;
    if (stated !== undefined) changes.push([key, stated]);
    else leaveOverride(draft, `${found.key}.${key}`, value);
  }
  if (changes.length > 0) section.state('model.changes', Object.fromEntries(changes), found);
}

/** Arguments of the call that loads the model with its config at hand: they change nothing of it, and what they do is not known. */
export function leaveLoadArguments(section: Section, draft: Draft, ...blocks: readonly string[]): void {
  const found = section.find(blocks);
  if (found?.node.kind !== 'map') return;
  for (const { key, value } of found.node.entries)
    if (!isBlank(value) && !countsNothing(key, value)) leaveOverride(draft, `${found.key}.${key}`, value);
}

function leaveOverride(draft: Draft, key: string, node: ConfigNode): void {
  const message = say('`{0}` overrides a value of the model and is not read.', key);
  draft.leave('value', node, key, message, ['model.config']);
}

/** What changes no memory, or a part of which nothing does: `text_config: {router_aux_loss_coef: 0}`. */
const countsNothing = (key: string, node: ConfigNode): boolean =>
  HARMLESS.test(key) ||
  OTHERS.test(key) ||
  (node.kind === 'map' && node.entries.every((entry) => countsNothing(entry.key, entry.value)));
