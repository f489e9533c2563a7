import { knownNode } from '../../config/python/node-of-value';
import type { PyCall } from '../../config/python/value';
import { textOf } from '../../config/scalar';
import { languageConfig, routedExperts } from '../../model/routed-experts';
import { fileIn, UNSLOTH_ZOO } from '../../sources/repositories';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import { argumentOf, type Calls } from './call-block';

/** Stacked experts are packed in 4 bits since this release (`unsloth_zoo/temporary_patches/moe_utils_bnb4bit.py`; 2026.6.1 has no such file). */
const PACKS = '2026.6.2';
/** A packed stack is unpacked again in backward since this release (`moe_utils.py`, `_GroupedMMRecompute`; 2026.6.7 keeps it). */
const UNPACKS_AGAIN = '2026.7.1';

/**
 * What Unsloth makes in 4 bits of the stacked experts of transformers 5, where the newest release would do otherwise. Another
 * implementation of experts than its own leaves them as they are (`moe_experts_interface.py`, `get_correct_experts_implementation`).
 */
export function readPackedExperts(
  { draft }: Calls,
  load: PyCall,
  config: Readonly<Record<string, unknown>> | undefined,
  { known, versions }: ReadContext,
): void {
  // gpt-oss has linear layers of its own in 4 bits.
  const stacks = routedExperts(config) > 0 && config && languageConfig(config).model_type !== 'gpt_oss';
  if (!stacks || isAtLeast(known['version.transformers'], '5') === false) return;
  const release = versions?.unsloth?.version;
  const source = fileIn(UNSLOTH_ZOO, 'unsloth_zoo/temporary_patches/moe_utils_bnb4bit.py');
  const chosen = textOf(knownNode(argumentOf(load, 'experts_implementation')));
  if (chosen !== undefined && chosen !== 'unsloth') {
    draft.assume(
      'quantization.experts',
      false,
      say('`{0}`: Unsloth packs the experts of its own implementation alone', 'experts_implementation'),
      fileIn(UNSLOTH_ZOO, 'unsloth_zoo/temporary_patches/moe_experts_interface.py'),
    );
    return;
  }
  if (isAtLeast(release, PACKS) === false) {
    draft.assume(
      'quantization.experts',
      false,
      say('Unsloth packs stacked experts in 4 bits since release {0}', PACKS),
      source,
    );
    return;
  }
  if (isAtLeast(release, UNPACKS_AGAIN) === false)
    draft.leave(
      'value',
      { range: load.calleeRange },
      'load_in_4bit',
      say('This release of Unsloth keeps unpacked copies of the experts: how many is not counted.'),
    );
}
