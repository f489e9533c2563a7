import { numberOf, textsOf } from '../../config/scalar';
import { literalPattern } from '../../run/literal-pattern';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import type { Section } from '../section';
import { AROUND_WEIGHTS, withoutPrefix } from '../weight-names';
import type { SwiftCommand } from './swift-command';

/** Keys by which names of weights, or a share of them, are frozen and trained all the same. */
const BY_PREFIX = ['freeze_parameters', 'trainable_parameters'] as const;
const BY_OTHERS = ['freeze_parameters_regex', 'trainable_parameters_regex'] as const;
const BY_SHARE = 'freeze_parameters_ratio';

/**
 * Patterns of the weights that a full run trains, where keys freeze others by the beginnings of their names; `parts`: what of a
 * model of several parts is trained without them. 'unknown' where a share, a regular expression or names that are filled in later
 * decide, which is left; undefined where no key does (`swift/utils/transformers_utils.py`, `freeze_parameters`, `activate_parameters`).
 */
export function trainedWeights(
  section: Section,
  draft: Draft,
  parts: readonly string[] | undefined,
  { command, context }: { readonly command: SwiftCommand; readonly context: ReadContext },
): string[] | 'unknown' | undefined {
  const share = section.find(BY_SHARE);
  const others = BY_OTHERS.flatMap((key) => section.find(key) ?? []);
  const named = BY_PREFIX.flatMap((key) => section.find(key) ?? []);
  // Megatron's models call their weights otherwise.
  const unread = [
    ...(share && numberOf(share.node) !== 0 ? [share] : []),
    ...others.filter(({ node }) => !isEmpty(node)),
    ...named.filter(
      ({ node }) => !isEmpty(node) && (command.megatron || textsOf(node)?.every(isBeginning) !== true),
    ),
  ];
  for (const { node, key } of unread)
    draft.leave('value', node, key, say('It is not known which weights `{0}` freezes.', key), [
      'method.kind',
    ]);
  if (unread.length > 0) return 'unknown';
  const [frozen = [], trained = []] = BY_PREFIX.map((key) => textsOf(section.find(key)?.node));
  if (frozen.length === 0 && (trained.length === 0 || !parts)) return undefined;
  // A tied head is its embedding, which has one name.
  const isTied = context.model?.config?.tie_word_embeddings === true;
  const ends = isTied && frozen.some((name) => name.endsWith('embed_tokens')) ? ['lm_head'] : [];
  const none = frozen.length > 0 ? `(?!${beginnings([...frozen, ...ends])})` : '';
  const rest = (parts ?? ['']).map((part) => `${none}${part}`);
  return trained.length > 0 ? [beginnings(trained), ...rest] : rest;
}

/** A whole language model is in no name that weights have everywhere. */
const isBeginning = (text: string) =>
  !/^(?:model|language_model|model\.language_model|transformer)\.?$/.test(text);

const isEmpty = (node: Parameters<typeof textsOf>[0]) =>
  (node?.kind === 'scalar' && (node.value === null || node.text === '')) || textsOf(node)?.length === 0;

/** Names that begin with one of the texts, whatever stands around them. */
function beginnings(texts: readonly string[]): string {
  return `${AROUND_WEIGHTS}?(?:${texts.map((text) => literalPattern(withoutPrefix(text))).join('|')})`;
}
