import type { ConfigNode } from '../../config/node';
import { flagOf, isBlank, numberOf, textOf } from '../../config/scalar';
import { fileIn, TRL } from '../../sources/repositories';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import { forbid } from '../refusal';
import type { Section } from '../section';
import { routerWeight } from './balanced-experts';
import type { TrlMethod } from './trl-method';

type Test = (node: ConfigNode) => boolean;

const isOn: Test = (node) => flagOf(node) === true;
const is =
  (...words: string[]): Test =>
  (node) =>
    words.includes(textOf(node) ?? '');
const isNone: Test = is('none', 'None', 'null');
const isSet: Test = (node) => !isBlank(node) && !isNone(node);
const isNumber =
  (test: (value: number) => boolean): Test =>
  (node) => {
    const value = numberOf(node);
    return value !== undefined && test(value);
  };
const isOther =
  (...words: string[]): Test =>
  (node) =>
    node.kind === 'scalar' && !node.guessed && !words.includes(textOf(node) ?? '');

/** Losses that Liger's DPO had until it was written anew (`dpo_trainer.py` of v0.22.0 and v0.28.0). */
const LOSSES = ['sigmoid', 'apo_zero', 'apo_down', 'sppo_hard', 'nca_pair'];

/**
 * What trainers stop on beside Liger, in more than one release: the key, its values, the first release and the first after the last, each read in `METHOD_trainer.py` of
 * all releases from 0.15 to 1.16, that of `delta` in `grpo_config.py`. KTO lay in `experimental/kto` from 0.26 to 1.7.
 */
const REFUSED: readonly (readonly [
  method: TrlMethod,
  key: string,
  refuses: Test,
  from: string,
  until?: string,
])[] = [
  ['dpo', 'precompute_ref_log_probs', isOn, '0.29', '1.14'],
  ['kto', 'precompute_ref_log_probs', isOn, '0.17', '1.14'],
  ['dpo', 'loss_type', isOther('sigmoid'), '0.19', '0.22'],
  ['dpo', 'loss_type', isOther(...LOSSES), '0.22', '0.29'],
  ['dpo', 'loss_type', (node) => node.kind === 'list' && node.items.length > 1, '0.29', '1.14'],
  ['dpo', 'f_divergence_type', is('forward_kl', 'js_divergence', 'alpha_divergence'), '1.10', '1.14'],
  ['kto', 'loss_type', is('apo_zero_unpaired'), '0.17', '1.14'],
  ['grpo', 'delta', isSet, '0.18', '1.4'],
  ['grpo', 'importance_sampling_level', is('sequence'), '0.20', '1.0'],
  ['grpo', 'top_entropy_quantile', isNumber((share) => share < 1), '0.20', '1.14'],
  ['grpo', 'off_policy_mask_threshold', isSet, '0.27', '1.14'],
  ['grpo', 'entropy_coef', isNumber((weight) => weight !== 0), '1.8', '1.14'],
  ['grpo', 'use_adaptive_entropy', isOn, '1.8', '1.14'],
  ['sft', 'loss_type', is('chunked_nll'), '1.4', '1.15'],
  ...(['sft', 'dpo', 'kto', 'grpo', 'rloo'] as const).map(
    (method) => [method, 'liger_kernel_config.fused_linear_cross_entropy', isOn, '1.15'] as const,
  ),
];

/** Releases that stop on adapters, on one of the output layer, and on the balance of experts. */
const ADAPTED: Readonly<Partial<Record<TrlMethod, readonly [from: string, until: string]>>> = {
  dpo: ['0.29', '1.8'],
  kto: ['0.17', '1.8'],
  grpo: ['0.17', '0.18'],
};
const ADAPTED_HEAD: typeof ADAPTED = { dpo: ['1.8', '1.15'], kto: ['1.8', '1.15'], grpo: ['1.7', '1.15'] };
const BALANCED: typeof ADAPTED = { dpo: ['1.8', '1.15'], kto: ['1.8', '1.15'] };

/** Until 0.24 the loss had a key of its own, which 0.28 dropped; the Trainer's switched on the layers alone. */
const OWN_KEY = 'use_liger_loss';

/** What TRL's trainers do not take beside Liger, by their releases. */
export function checkLiger(section: Section, method: TrlMethod, draft: Draft, context: ReadContext): void {
  const found = section.find(['use_liger_kernel', OWN_KEY]);
  if (!found || flagOf(found.node) !== true) return;
  const isOwn = found.key.endsWith(OWN_KEY);
  const ofLoss = method === 'dpo' || method === 'kto' || method === 'grpo';
  const stop = (what: string, at: ConfigNode, from: string, until?: string) => {
    const first = ofLoss && !isOwn && isAtLeast(from, '0.25') === false ? '0.25' : from;
    const last = isOwn && isAtLeast(until ?? '9', '0.28') === true ? '0.28' : until;
    if (last !== undefined && isAtLeast(first, last) === true) return;
    forbid(true, at, draft, {
      code: 'liger-combination',
      message: say('{0} of TRL stops on {1} beside Liger.', method.toUpperCase(), what),
      source: fileIn({ ...TRL, at: `v${from}.0` }, `trl/trainer/${method}_trainer.py`),
      releases: { from: first, ...(last === undefined ? {} : { until: last }) },
    });
  };
  for (const [of, key, refuses, from, until] of REFUSED) {
    const beside = of === method ? section.find(key) : undefined;
    if (beside && refuses(beside.node)) stop(`\`${key}\``, beside.node, from, until);
  }
  const kind = draft.valueOf('method.kind');
  const adapts = kind !== undefined && kind !== 'full' && !isOpen(draft);
  const targets = draft.valueOf('lora.targets');
  const [adapted, head, balanced] = [ADAPTED[method], ADAPTED_HEAD[method], BALANCED[method]];
  if (adapted && adapts) stop(say('adapters'), found.node, ...adapted);
  if (head && adapts && Array.isArray(targets) && targets.map(String).includes('lm_head'))
    stop('`lm_head`', found.node, ...head);
  const weight = section.find('router_aux_loss_coef');
  const weighs = routerWeight(method, context);
  const isBalanced = weight ? isNumber((value) => value !== 0)(weight.node) : weighs?.value === true;
  if (balanced && weighs && isBalanced)
    stop('`router_aux_loss_coef`', weight?.node ?? found.node, ...balanced);
}

const isOpen = ({ unread }: Draft): boolean => unread.some(({ fields }) => fields?.includes('method.kind'));
