import type { PyCall } from '../../config/python/value';
import { takesRouterLoss } from '../../model/router-loss';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Calls } from './call-block';
import { configSettings } from './config-settings';
import type { ModelChain } from './model-chain';

const KEY = 'output_router_logits';
const PARTS = ['config', 'config.text_config'];

/** Whether a mixture of experts is asked for the logits of its routers by the config of the model: the last place that sets it counts. */
export function readRouterLogits(
  calls: Calls,
  chain: ModelChain,
  trainer: PyCall,
  config: PyCall | undefined,
  { model }: ReadContext,
): void {
  const { draft } = calls;
  // The trainer's own weight of the loss has decided already.
  if (draft.knows('loss.routerLogits')) return;
  const last = configSettings(calls, { chain, trainer, config }, KEY, PARTS).at(-1);
  if (!last) return;
  const value = last.value.kind === 'scalar' && !last.isUnsure ? last.value.value : undefined;
  if (typeof value === 'boolean') draft.state('loss.routerLogits', value, { range: last.range }, KEY);
  else if (takesRouterLoss(model?.config))
    draft.leave(
      'value',
      { range: last.range },
      KEY,
      say(
        'Whether the experts are balanced by the logits of their routers is known only when the script runs.',
      ),
      ['loss.routerLogits'],
    );
}
