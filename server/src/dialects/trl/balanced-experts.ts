import { takesRouterLoss, weighsRouterLoss } from '../../model/router-loss';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { DefaultValue, Section } from '../section';
import { OWN_KWARGS } from './init-arguments';
import { trlDefault } from './trl-default';
import type { TrlMethod } from './trl-method';

const KEY = 'router_aux_loss_coef';

/** Trainers that weigh the balance of the experts themselves, by their files, and since when. */
const WEIGHED: Readonly<Partial<Record<TrlMethod, readonly [since: string, file: string]>>> = {
  sft: ['1.7', 'sft_trainer.py'],
  gkd: ['1.7', 'sft_trainer.py'],
  grpo: ['1.7', 'grpo_trainer.py'],
  rloo: ['1.7', 'rloo_trainer.py'],
  dpo: ['1.8', 'dpo_trainer.py'],
  kto: ['1.8', 'kto_trainer.py'],
};

/** Until then the weight was 0.001 where nobody states one; since then it is that of the model's config (`sft_config.py`). */
const OF_THE_MODEL = '1.14';

/**
 * What a trainer decides where nobody states a weight. Unsloth's trainers have one of zero (`models/rl.py`); undefined where the config of the model
 * decides alone, as it did before, and does in the other trainers.
 */
export function routerWeight(
  method: TrlMethod,
  { known, model }: ReadContext,
): DefaultValue<boolean> | undefined {
  const [since, file] = WEIGHED[method] ?? [];
  const version = known['version.trl'];
  if (since === undefined || file === undefined || isAtLeast(version, since) !== true) return undefined;
  const config = model?.config;
  if (!takesRouterLoss(config) || known['kernels.unsloth'] === true) return undefined;
  const isOwn = isAtLeast(version, OF_THE_MODEL) === true;
  return {
    ...trlDefault(isOwn ? weighsRouterLoss(config) : true, file),
    note: isOwn
      ? say('TRL balances experts with the weight of the model since 1.14')
      : say('TRL balances experts with a weight of 0.001 until 1.14'),
  };
}

/** Any weight but zero has a mixture of experts return the logits of its routers, in trainers that weigh their loss themselves. */
export function readRouterWeight(section: Section, method: TrlMethod, context: ReadContext): void {
  const [since] = WEIGHED[method] ?? [];
  const byDefault = routerWeight(method, context);
  if (byDefault) section.takeElse(KEY, byDefault);
  else if (since !== undefined && isAtLeast(context.known['version.trl'], since) === true) section.take(KEY);
  if (isAtLeast(context.known['version.trl'], OWN_KWARGS) === true)
    section.take(`model_init_kwargs.output_router_logits`);
}
