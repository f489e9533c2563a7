import type { ConfigNode } from '../../config/node';
import { textOf } from '../../config/scalar';
import type { FieldValue } from '../../run/fields';

/** Attention kernel by the name that transformers gives it; kernels of the Hub count by what they hold. */
export function attentionOf(name: string | undefined): FieldValue<'attention.implementation'> | undefined {
  const word = name?.toLowerCase() ?? '';
  if (word === 'eager' || word === 'sdpa') return word;
  if (/flash[-_]?attn[-_]?3|flash_attention_3|^fa3$/.test(word)) return 'flash3';
  if (/flash[-_]?attn|flash_attention_2|^fa2$/.test(word)) return 'flash2';
  return /flex/.test(word) ? 'flex' : undefined;
}

/** What `attn_implementation` of `from_pretrained` states, and how it is written. */
export const ATTENTION = {
  sets: 'attention.implementation',
  means: (node: ConfigNode) => attentionOf(textOf(node)),
  spellings: {
    eager: 'eager',
    sdpa: 'sdpa',
    flash2: 'flash_attention_2',
    flash3: 'flash_attention_3',
    flex: 'flex_attention',
  },
} as const;
