import { fileIn, TRL } from '../../sources/repositories';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Section } from '../section';
import type { TrlMethod } from './trl-method';

/** Releases whose `SFTTrainer` loads a model that recomputes its layers with its cache off (`sft_trainer.py`, `_create_model_from_path`). */
const LOADS_WITHOUT = { since: '0.15', before: '0.17' };
/** Since then each pass of `SFTTrainer` asks for none (`sft_trainer.py`, `compute_loss`). */
const ASKS_FOR_NONE = '0.22';

/**
 * The evaluation of `SFTTrainer` keeps no keys and values: newer releases ask for none, older ones load a model with none where its layers
 * are recomputed, and their scripts do so in any release (`trl/scripts/sft.py`, `use_cache`). `loads`: who loads the model.
 */
export function assumeNoCache(
  section: Section,
  method: TrlMethod,
  { known }: ReadContext,
  loads: 'script' | 'trainer' | undefined,
): void {
  if (method !== 'sft') return;
  const version = known['version.trl'];
  const recomputes = section.flag('gradient_checkpointing') === true;
  const { since, before } = LOADS_WITHOUT;
  const byTrainer =
    loads === 'trainer' && isAtLeast(version, since) === true && isAtLeast(version, before) === false;
  const isOff =
    isAtLeast(version, ASKS_FOR_NONE) === true || (recomputes && (loads === 'script' || byTrainer));
  if (!isOff) return;
  section.assume('evaluation.keepsCache', {
    value: false,
    note: say('{0} default', 'TRL'),
    source: fileIn(TRL, 'trl/trainer/sft_trainer.py'),
  });
}
