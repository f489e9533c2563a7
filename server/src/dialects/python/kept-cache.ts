import type { PyCall } from '../../config/python/value';
import { keepsTextSetting } from '../../model/text-cache-setting';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Calls } from './call-block';
import { configSettings } from './config-settings';
import type { ModelChain } from './model-chain';

const KEY = 'use_cache';

/**
 * Whether an evaluation keeps keys and values, by the model's config: what loads it is given `use_cache`, or it is set later. The Trainer
 * overrules what was set before it since transformers 5 (`trainer.py`), with a setting of its own that is off.
 */
export function readKeptCache(
  calls: Calls,
  chain: ModelChain,
  trainer: PyCall,
  config: PyCall | undefined,
  { known, model }: ReadContext,
): void {
  const { draft } = calls;
  const isFifth = isAtLeast(known['version.transformers'], '5.0') === true;
  const parts = keepsTextSetting(model?.config?.model_type, isFifth)
    ? ['config.text_config']
    : ['config', 'config.text_config'];
  const last = configSettings(calls, { chain, trainer, config }, KEY, parts).at(-1);
  if (!last) return;
  const isLate = last.after > trainer.id;
  const value = last.value.kind === 'scalar' && !last.isUnsure ? last.value.value : undefined;
  if (value === false) draft.state('evaluation.keepsCache', false, { range: last.range }, KEY);
  else if (isFifth && !isLate) return;
  else if (value === true) {
    if (isFifth) draft.state('evaluation.keepsCache', true, { range: last.range }, KEY);
  } else
    draft.leave(
      'value',
      { range: last.range },
      KEY,
      say('Whether the model keeps keys and values in evaluation is known only when the script runs.'),
      ['evaluation.keepsCache'],
    );
}
