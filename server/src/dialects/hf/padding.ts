import { say } from '../../wording/say';
import type { Draft } from '../draft';
import type { Section } from '../section';

/** Types of models that see images or videos alone, which their processors bring to one size: their attention is given no mask. */
const OF_ONE_SIZE = /^(?:vit|deit|beit|swin|convnext|videomae|segformer)$/;
/** Types whose extractors make a mask only for those of their models that norm each frame (`feat_extract_norm`). */
const OF_WAVES = /^(?:wav2vec2|hubert|unispeech|unispeech-sat)$/;

/** Why samples of images and videos bring no mask. */
export const oneSize = (): string => say('images of one size have no padding: no mask is made');

/**
 * Why batches of a model have no mask of padding, for people; undefined where they may. wav2vec 2.0's models with group norm were trained without a mask, and their
 * extractor makes none (`feature_extraction_wav2vec2.py`, `return_attention_mask`; transformers 5.23).
 */
export function unpaddedBy(config: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const type = String(config?.model_type ?? '');
  if (OF_ONE_SIZE.test(type)) return oneSize();
  if (OF_WAVES.test(type) && (config?.feat_extract_norm ?? 'group') === 'group')
    return say('the extractor of this model makes no mask');
  return undefined;
}

/**
 * Samples of a padded batch differ in length, so a mask reaches the attention kernel (SDPA then takes its
 * memory-efficient path and repeats grouped heads); a batch of one sample, or of packed ones, needs none. `unpadded`: why
 * there is no padding at all; `filled`: all rows are filled up to one length, where the mask hides what fills them.
 */
export function assumePadding(
  section: Section,
  draft: Draft,
  micro: number,
  unpadded?: string,
  filled = false,
): void {
  const packed = section.flag(['packing', 'padding_free', 'sample_packing', 'neat_packing']) === true;
  if (packed || micro <= 1 || draft.knows('attention.mask')) return;
  if (unpadded !== undefined) draft.infer('attention.mask', false, unpadded);
  else
    draft.infer(
      'attention.mask',
      true,
      filled
        ? say('rows are filled up to one length: a mask reaches the kernel')
        : say('samples of a batch differ in length: a mask reaches the kernel'),
    );
}
