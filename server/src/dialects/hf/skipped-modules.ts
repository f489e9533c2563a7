import { isBlank, textsOf } from '../../config/scalar';
import type { Draft } from '../draft';
import type { Section } from '../section';
import { withoutPrefix } from '../weight-names';

/** Towers and projectors, whose linear layers are all beside those of the language model. */
const PARTS =
  /^(?:visual|vision_tower|vision_model|vision_embedder|audio_tower|multi_modal_projector|embed_vision|embed_audio|connector)$/;
/** Kept in 16 bits anyway. */
const HEAD = /(?:^|\.)(?:lm_head|output_layer|embed_out)$/;

/**
 * `llm_int8_skip_modules` of `BitsAndBytesConfig`: modules that stay in 16 bits (transformers 5.23, `quantizers_utils.py`,
 * `should_convert_module`). Towers are counted so; what else is named is not, and takes more than is estimated.
 */
export function readSkippedModules(section: Section, draft: Draft): void {
  const found = section.find('llm_int8_skip_modules');
  if (!found || isBlank(found.node)) return;
  const names = textsOf(found.node);
  if (!names) {
    section.leave(found, ['quantization.skippedParts']);
    return;
  }
  const own = names.filter((name) => !HEAD.test(name)).map(withoutPrefix);
  const parts = own.filter((name) => PARTS.test(name));
  if (parts.length > 0) section.state('quantization.skippedParts', parts, found);
  if (parts.length < own.length) draft.bring('partial-quantization', found.node, found.key);
}
