import type { PyCall } from '../../config/python/value';
import { fileIn, TRL } from '../../sources/repositories';
import { say } from '../../wording/say';
import { argumentOf, type Calls } from './call-block';
import type { ModelChain } from './model-chain';

/** Trainers of TRL that stop on it, by their methods, and the first release in which they do (`trl/trainer/<method>_trainer.py`). */
const STOPS: Readonly<Record<string, string>> = {
  sft: '0.27',
  dpo: '0.27',
  grpo: '0.27',
  reward: '0.27',
  rloo: '0.27',
  kto: '1.8',
};

/** What wraps a model in PEFT's class. */
const WRAPS = /(?:^|\.)(?:get_peft_model|PeftModel\w*\.from_pretrained)$/;
/** Methods of that class that give back what it is around. */
const UNWRAPS = /^(?:merge_and_unload|unload|get_base_model)$/;

/** The call that wraps the model in PEFT's class for sure, where the trainer is given a config of adapters besides. */
function wrappedBefore(calls: Calls, trainer: PyCall, chain: ModelChain): PyCall | undefined {
  const given = argumentOf(trainer, 'peft_config');
  const config = given?.kind === 'object' ? calls.program.calls[given.id] : undefined;
  if (!config || !/Config$/.test(config.callee) || chain.branch) return undefined;
  const last = chain.steps.findLastIndex(({ callee, of }) => of !== undefined && UNWRAPS.test(callee));
  const wraps = chain.steps.slice(last + 1).findLast(({ callee }) => WRAPS.test(callee));
  return wraps?.conditions.every((one) => trainer.conditions.includes(one)) ? wraps : undefined;
}

/** A model that PEFT has wrapped, and a config of adapters beside it: since 0.27 trainers of TRL raise a `ValueError`; before they merged them, or left that config unread. */
export function checkWrappedTwice(
  calls: Calls,
  trainer: PyCall,
  chain: ModelChain,
  method: string | undefined,
): void {
  const from = method !== undefined && Object.hasOwn(STOPS, method) ? STOPS[method] : undefined;
  if (from === undefined || trainer.subclass !== undefined || !trainer.callee.startsWith('trl.')) return;
  const wraps = wrappedBefore(calls, trainer, chain);
  const given = trainer.named.find(({ key }) => key === 'peft_config');
  if (!wraps || !given) return;
  const message = say(
    'The model has adapters already, and `{0}` asks for more: the trainer stops with a `ValueError`.',
    given.key,
  );
  calls.draft.refuse('adapters-twice', message, given.keyRange, {
    source: fileIn(TRL, `trl/trainer/${method}_trainer.py`),
    releases: { from },
    related: [{ range: wraps.calleeRange, message: say('adapters are put on here') }],
  });
}
