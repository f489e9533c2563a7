import { integerOf, numberOf, textOf } from '../../config/scalar';
import { fileIn, TRL } from '../../sources/repositories';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import type { Section } from '../section';

const SOURCE = fileIn(TRL, 'trl/trainer/');

/**
 * Weight of the divergence from the reference: 0.05 in RLOO, and in GRPO 0 since 0.19, 0.04 before (`rloo_config.py`, `grpo_config.py`).
 * Unsloth has one of its own for losses that are neither `dapo` nor `dr_grpo` (`unsloth/models/rl.py`); TRL's loss is `dapo` since 0.22 there.
 */
function weightByDefault(
  section: Section,
  method: 'grpo' | 'rloo',
  draft: Draft,
  { known }: ReadContext,
): number {
  const trl = known['version.trl'];
  if (method === 'rloo') return 0.05;
  if (draft.valueOf('kernels.unsloth') === true) {
    const byDefault = isAtLeast(trl, '0.22') === false ? 'bnpo' : 'dapo';
    const loss = textOf(section.find('loss_type')?.node) ?? byDefault;
    return /^(?:dapo|dr_grpo)$/i.test(loss) ? 0 : 0.001;
  }
  return isAtLeast(trl, '0.19') === false ? 0.04 : 0;
}

/**
 * What a trainer of rollouts compares with: a frozen copy, or under adapters the base itself, and the model before an update. Both score
 * a rollout once, however often it is trained on.
 */
export function readRolloutScores(
  section: Section,
  method: 'grpo' | 'rloo',
  draft: Draft,
  context: ReadContext,
): { readonly compares: boolean } {
  const adapters = section.flag('use_peft') === true;
  const beta = section.find('beta');
  const byDefault = weightByDefault(section, method, draft, context);
  const compares = (numberOf(beta?.node) ?? byDefault) !== 0;
  const own = { note: say('{0} default', 'TRL'), source: `${SOURCE}${method}_config.py` };
  const needed = compares && !adapters;
  if (beta) section.state('method.referenceModel', needed, beta);
  else section.assume('method.referenceModel', { ...own, value: needed }, 'beta');
  const old = scoresBefore(section, method, context);
  const rounds = Math.max(1, section.integerOrDefault('num_iterations'));
  const below = compares && adapters;
  section.assume('method.scoringForwards', {
    value: ((below ? 1 : 0) + (old ? 1 : 0)) / rounds,
    note: scoresNote(old, below),
    source: `${SOURCE}${method}_trainer.py`,
  });
  return { compares };
}

/** `below`: the reference is the same model, with its adapters off or with a copy of them. */
function scoresNote(old: boolean, below: boolean): string {
  if (old && below)
    return say('log-probabilities before an update and those of the reference are computed apart');
  if (old) return say('log-probabilities before an update are computed apart');
  if (below) return say('log-probabilities of the reference are computed by the model under its adapters');
  return say('log-probabilities before an update are those of the pass that trains');
}

/**
 * Whether the model scores what it generated apart from the pass that trains. RLOO always does. GRPO does where it trains on a rollout more
 * than once: by `num_iterations` until 0.17, by `steps_per_generation` beside it in 0.18 and 0.19, since 0.20 where a step does not end with
 * a rollout, and since 0.23 to correct what vLLM sampled (`grpo_trainer.py`, `_generate_and_score_completions`).
 */
function scoresBefore(section: Section, method: 'grpo' | 'rloo', { known }: ReadContext): boolean {
  if (method === 'rloo') return true;
  const since = (release: string) => isAtLeast(known['version.trl'], release) !== false;
  const rounds = section.integerOrDefault('num_iterations');
  const accumulation = section.integerOrDefault('gradient_accumulation_steps');
  const steps = integerOf(section.find('steps_per_generation')?.node) ?? accumulation;
  const corrects = section.find('vllm_importance_sampling_correction');
  const corrected = !corrects || section.flag('vllm_importance_sampling_correction') !== false;
  if (since('0.23') && section.flag('use_vllm') === true && corrected) return true;
  if (since('0.20')) return accumulation % Math.max(1, steps * rounds) !== 0;
  return rounds > 1 || (since('0.18') && steps > accumulation);
}
