import { say } from '../../wording/say';
import type { Draft } from '../draft';
import type { Section } from '../section';

/**
 * Samples of a padded batch differ in length, so a mask reaches the attention kernel (SDPA then takes its
 * memory-efficient path and repeats grouped heads); a batch of one sample, or of packed ones, needs none.
 */
export function assumePadding(section: Section, draft: Draft, micro: number): void {
  const packed = section.flag(['packing', 'padding_free', 'sample_packing', 'neat_packing']) === true;
  if (packed || micro <= 1 || draft.knows('attention.mask')) return;
  draft.infer('attention.mask', true, say('samples of a batch differ in length: a mask reaches the kernel'));
}
