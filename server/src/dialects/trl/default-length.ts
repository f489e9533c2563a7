import type { RunValues } from '../../run/fields';
import { fileIn, TRL } from '../../sources/repositories';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import type { DefaultValue } from '../section';
import type { TrlMethod } from './trl-method';

/** What holds up to a release where a length is nowhere stated, or null. Tokens; undefined where nothing is cut or left out then. */
interface Until {
  /** The first release of which it holds no longer; of all where it is left out. */
  readonly before?: string;
  readonly tokens: number | undefined;
  /** Tag and file that have it. */
  readonly at: string;
  readonly file: string;
}

/** What the trainers that compare answers took with a warning where `max_length` was none. */
const warned = (file: string, at: string, before?: string): Until => ({
  tokens: 512,
  at,
  file,
  ...(before === undefined ? {} : { before }),
});

/** What a supervised trainer took: `min(tokenizer.model_max_length, 1024)`. */
const SUPERVISED: Until = { before: '0.15', tokens: 1024, at: 'v0.14.0', file: 'sft_trainer.py' };
const CONTRASTIVE: Until = warned('cpo_trainer.py', 'v0.13.0');

/**
 * What each trainer makes of a `max_length` that is none, oldest first. Reward models got rows as the script had tokenized them until 0.12,
 * which left longer ones out; DPO of 0.12 and 0.13 cut nothing. Later ones have 1024 by default, and take null for no limit.
 */
const WITHOUT: Readonly<Partial<Record<TrlMethod, readonly Until[]>>> = {
  sft: [SUPERVISED],
  gkd: [SUPERVISED],
  dpo: [warned('dpo_trainer.py', 'v0.11.4', '0.12')],
  kto: [warned('kto_trainer.py', 'v0.13.0', '1.4')],
  orpo: [warned('orpo_trainer.py', 'v0.13.0')],
  cpo: [CONTRASTIVE],
  simpo: [CONTRASTIVE],
  reward: [
    { before: '0.12', tokens: undefined, at: 'v0.11.4', file: 'reward_trainer.py' },
    warned('reward_trainer.py', 'v0.13.0', '0.14'),
  ],
};

/** Since then configs have a `max_length` of their own. */
const BY_DEFAULT = '0.14';
const TOKENS = 1024;

type Length = DefaultValue<NonNullable<RunValues['batch.sequence']>>;

/** The length at which a trainer cuts samples, or leaves longer ones out, where `max_length` is null; undefined where it takes any. */
export function lengthWithout(method: TrlMethod, version: unknown): Length | undefined {
  const found = WITHOUT[method]?.find(
    ({ before }) => before === undefined || isAtLeast(version, before) === false,
  );
  if (found?.tokens === undefined) return undefined;
  const { before, tokens, at, file } = found;
  return {
    value: tokens,
    note: before === undefined ? say('{0} default', 'TRL') : say('TRL default before {0}', before),
    source: fileIn({ ...TRL, at }, `trl/trainer/${file}`),
  };
}

/** The same where nothing states one. */
export function lengthByDefault(method: TrlMethod, version: unknown): Length | undefined {
  if (isAtLeast(version, BY_DEFAULT) === false) return lengthWithout(method, version);
  const note = say('{0} default', 'TRL');
  return { value: TOKENS, note, source: fileIn(TRL, 'trl/trainer/sft_config.py') };
}

/** Tokens of a completion where nothing states how many, by the first release of which that holds no longer, oldest first (`OnPolicyConfig`, `rloo_config.py`, `online_dpo_config.py`). */
const OLD_COMPLETIONS: Readonly<Partial<Record<TrlMethod, readonly [before: string, tokens: number]>>> = {
  rloo: ['0.22', 53],
  online_dpo: ['0.11', 53],
};
const COMPLETIONS: Readonly<Partial<Record<TrlMethod, number>>> = {
  ppo: 53,
  online_dpo: 64,
  distillation: 512,
};

/** Tokens of a completion where nothing states how many. 512 since 1.10, 256 before (`grpo_config.py`, `rloo_config.py`). */
export function completionByDefault(method: TrlMethod, version: unknown): number {
  const [before, old] = OLD_COMPLETIONS[method] ?? [];
  if (before !== undefined && old !== undefined && isAtLeast(version, before) === false) return old;
  return COMPLETIONS[method] ?? (isAtLeast(version, '1.10') === true ? 512 : 256);
}

/** Tokens to which GRPO and RLOO cut prompts, where nothing states how many (`grpo_config.py`, `rloo_config.py`). */
export const PROMPT = 512;

/** Releases that cut prompts by themselves: since the first, and before the second. */
const CUTS_PROMPT: Readonly<Partial<Record<TrlMethod, readonly [since: string, before: string]>>> = {
  grpo: ['0.14', '0.26'],
  rloo: ['0.22', '0.27'],
};

/** Whether a release is known to cut prompts to 512 tokens where nothing states a limit. */
export function cutsPromptByDefault(method: TrlMethod, version: unknown): boolean {
  const [since, before] = CUTS_PROMPT[method] ?? [];
  if (since === undefined || before === undefined) return false;
  return isAtLeast(version, since) === true && isAtLeast(version, before) === false;
}

/** Tokens of prompt and completion together, to which online DPO cuts prompts since 0.14 (`online_dpo_config.py`, `max_length`); undefined where it does not. */
export function onlineLength(version: unknown): Length | undefined {
  if (isAtLeast(version, BY_DEFAULT) === false) return undefined;
  const source = fileIn({ ...TRL, at: 'v0.14.0' }, 'trl/trainer/online_dpo_config.py');
  return { value: 512, note: say('{0} default', 'TRL'), source };
}
