import type { FieldValue } from '../../run/fields';
import { say } from '../../wording/say';
import type { Section } from '../section';

export type TrlMethod =
  | 'sft'
  | 'dpo'
  | 'kto'
  | 'orpo'
  | 'cpo'
  | 'simpo'
  | 'grpo'
  | 'rloo'
  | 'online_dpo'
  | 'ppo'
  | 'reward'
  | 'gkd'
  | 'distillation';

const OBJECTIVES: Readonly<Record<TrlMethod, FieldValue<'method.objective'>>> = {
  sft: 'lm',
  dpo: 'dpo',
  kto: 'kto',
  orpo: 'orpo',
  cpo: 'cpo',
  simpo: 'simpo',
  grpo: 'grpo',
  rloo: 'rloo',
  online_dpo: 'online-dpo',
  ppo: 'ppo',
  reward: 'reward',
  gkd: 'distillation',
  distillation: 'distillation',
};

export function objectiveOf(method: TrlMethod): FieldValue<'method.objective'> {
  return OBJECTIVES[method];
}

/** Methods whose loss compares with a frozen reference of the same size, unless adapters can be switched off. */
export const WITH_REFERENCE: ReadonlySet<TrlMethod> = new Set(['dpo', 'kto', 'online_dpo', 'ppo']);

/** Keys that only one method's config has, and the method. */
const TELLING: readonly (readonly [keys: readonly string[], method: TrlMethod])[] = [
  [['rloo_k'], 'rloo'],
  // GOLD, a kind of it, generates as GRPO does.
  [['lmbda', 'teacher_model_name_or_path'], 'gkd'],
  [
    ['num_generations', 'reward_funcs', 'steps_per_generation', 'generation_batch_size', 'scale_rewards'],
    'grpo',
  ],
  [['gamma_beta_ratio', 'simpo_gamma'], 'simpo'],
  [['cpo_alpha'], 'cpo'],
  [['desirable_weight', 'undesirable_weight'], 'kto'],
  [['center_rewards_coefficient'], 'reward'],
  [['reward_model_path', 'num_ppo_epochs', 'kl_coef'], 'ppo'],
  [
    [
      'rpo_alpha',
      'ref_model_init_kwargs',
      'precompute_ref_log_probs',
      'max_prompt_length',
      'dpo_beta',
      'dpo_loss_type',
    ],
    'dpo',
  ],
  [['packing', 'completion_only_loss', 'assistant_only_loss', 'dataset_text_field', 'max_seq_length'], 'sft'],
];

/** A method's name as a word of its own in a path: `recipes/zephyr/dpo/config.yaml`, `gemma-2-9b-it-simpo.yaml`. */
const IN_PATH =
  /(?:^|[\\/_.-])(sft|dpo|kto|orpo|cpo|simpo|grpo|rloo|online_dpo|ppo|reward|rm|gkd|distillation)(?=[\\/_.-]|$)/gi;

/**
 * Which trainer a recipe is for: nothing in it states it, but the last word in its path that names one, else the keys that
 * only that trainer has. Preference keys (`beta`) without either mean DPO; all else is supervised fine-tuning.
 */
export function methodOf(
  section: Section,
  uri: string,
): { readonly method: TrlMethod; readonly because: string } {
  const stated = TELLING.find(([keys]) => keys.some((key) => section.has(key)));
  // The file's own name and its two folders: deeper ones name repositories.
  const path = uri.split('/').slice(-3).join('/');
  const word = [...path.matchAll(IN_PATH)].at(-1)?.[1]?.toLowerCase();
  const named = word === 'rm' ? 'reward' : (word as TrlMethod | undefined);
  // A key settles what a name may mean by chance, but SFT keys are shared.
  if (stated && stated[1] !== 'sft' && !(named && related(named, stated[1]))) {
    const key = stated[0].find((name) => section.has(name)) ?? '';
    return { method: stated[1], because: say('`{0}` belongs to it', key) };
  }
  if (named) return { method: named, because: say('the path says so') };
  if (stated) return { method: stated[1], because: say('its keys') };
  if (section.has('beta')) return { method: 'dpo', because: say('`beta` weighs a preference') };
  return { method: 'sft', because: say('nothing says otherwise') };
}

/** Methods that share keys: the path tells them apart. */
function related(named: TrlMethod, stated: TrlMethod): boolean {
  const preference: readonly TrlMethod[] = ['dpo', 'kto', 'orpo', 'cpo', 'simpo', 'online_dpo'];
  const online: readonly TrlMethod[] = ['grpo', 'rloo', 'online_dpo', 'ppo'];
  const distilling: readonly TrlMethod[] = ['gkd', 'distillation'];
  return [preference, online, distilling].some((group) => group.includes(named) && group.includes(stated));
}
