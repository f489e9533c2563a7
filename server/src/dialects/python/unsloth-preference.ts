import { fileIn, UNSLOTH } from '../../sources/repositories';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Section } from '../section';
import type { TrlMethod } from '../trl/trl-method';
import { type Calls, variableOf } from './call-block';

/** Since this release losses of preferences are taken of hidden states (`rl_replacements.py`; 2026.10.8 has it not). */
const SCORES_HIDDEN = '2026.10.9';

interface Rewritten {
  /** Releases of TRL whose source the rewriting finds what it looks for in: those whose wheels it was run on. */
  readonly since: string;
  readonly before?: string;
  /** Switches it off. */
  readonly variable: string;
}

/**
 * Trainers whose forward pass is rewritten: `_unsloth_pref_rewrite_concatenated_forward` (ORPO, CPO and with it SimPO),
 * `dpo_trainer_chunked_logprobs` and, from TRL 0.29 on, `dpo_trainer_compute_loss_chunked`, `kto_trainer_chunked_logprobs` and its
 * like. TRL's own DPO and KTO do without logits since 1.15.
 */
const REWRITTEN: Readonly<Partial<Record<TrlMethod, Rewritten>>> = {
  orpo: { since: '0.14', variable: 'UNSLOTH_PREFERENCE_CHUNKED' },
  cpo: { since: '0.9.6', variable: 'UNSLOTH_PREFERENCE_CHUNKED' },
  simpo: { since: '0.9.6', variable: 'UNSLOTH_PREFERENCE_CHUNKED' },
  dpo: { since: '0.15', before: '1.15', variable: 'UNSLOTH_DPO_CHUNKED' },
  kto: { since: '0.12', before: '1.15', variable: 'UNSLOTH_DPO_CHUNKED' },
};
const OFF = /^(?:0|false|no|off)$/i;

/**
 * Log-probabilities of preference losses are taken tile by tile of the hidden states (`_unsloth_pref_chunked_head`,
 * `_unsloth_dpo_chunked_head`), where the head is a plain linear layer and nothing else wants the logits.
 */
export function readScoredPairs(
  { draft, program }: Pick<Calls, 'draft' | 'program'>,
  method: TrlMethod,
  section: Pick<Section, 'find' | 'flag'>,
  { model, known, versions }: ReadContext,
): void {
  const rewritten = REWRITTEN[method];
  if (!rewritten || isAtLeast(versions?.unsloth?.version, SCORES_HIDDEN) === false) return;
  const trl = known['version.trl'];
  if (isAtLeast(trl, rewritten.since) === false) return;
  if (rewritten.before !== undefined && isAtLeast(trl, rewritten.before) !== false) return;
  if (variableOf(program, 'UNSLOTH_FUSED_LINEAR') === '0') return;
  if (OFF.test(variableOf(program, rewritten.variable) ?? '')) return;
  if (wantsLogits(section) || ownsHead(draft) || draft.valueOf('kernels.uncompiled') === true) return;
  if (/^(?:fsdp|zero)/.test(String(known['parallel.data'] ?? draft.valueOf('parallel.data')))) return;
  if (model?.decoder) return;
  const sees = model?.config?.vision_config !== undefined && draft.valueOf('batch.images') !== 0;
  if (sees) return;
  draft.forget('loss.implementation');
  draft.assume(
    'loss.implementation',
    'log-probabilities-chunked',
    say('Unsloth scores tokens tile by tile'),
    fileIn(UNSLOTH, 'unsloth/models/rl_replacements.py'),
  );
}

/** What of the arguments asks for whole logits, or for another loss. */
function wantsLogits(section: Pick<Section, 'find' | 'flag'>): boolean {
  const flags = ['padding_free', 'use_weighting', 'use_liger_loss', 'use_liger_kernel'];
  return flags.some((key) => section.flag(key) === true) || section.find('label_pad_token_id') !== undefined;
}

/** Whether the head is a layer of PEFT's, which the kernel does not read. */
function ownsHead(draft: Calls['draft']): boolean {
  const named = [draft.valueOf('lora.targets'), draft.valueOf('lora.modulesToSave')];
  return named.some((names) => Array.isArray(names) && names.map(String).includes('lm_head'));
}
