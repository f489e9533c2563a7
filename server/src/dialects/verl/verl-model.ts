import { flagOf, integerOf, plainOf, switchOf, textOf } from '../../config/scalar';
import { say } from '../../wording/say';
import { readOverrides } from '../config-overrides';
import type { Draft } from '../draft';
import { attentionOf } from '../hf/attention';
import { weightsDtypeOf } from '../hf/weights-dtype';
import { classOptimizer, MEGATRON_OPTIMIZERS, optimizerIn, optimizerStatements } from '../optimizer-names';
import type { Section } from '../section';
import { stateOptimizer } from '../stated-optimizer';
import { ACTOR, CRITIC, FSDP_ENGINE, OLDER_FINE_TUNING, type VerlNames, verlDefault } from './verl-names';

const OLDER_TRAINER = 'trainer/fsdp_sft_trainer.py';
const isOlder = ({ engine }: VerlNames) => engine === OLDER_FINE_TUNING.engine;

/** Rows of a micro batch: packed are without padding, too. */
export function readPadding(section: Section, keys: readonly [string, ...string[]]): void {
  section.takeFirst(...keys);
  section.stateFlag('batch.paddingFree', keys, verlDefault(section.flagOrDefault(keys)));
}

/** The model, its adapters and how its rows are laid out. */
export function readVerlModel(section: Section, { model, ulysses, unpadded }: VerlNames, draft: Draft): void {
  if (model !== CRITIC.model) section.take(`${model}.path`, `${model}.partial_pretrain`);
  readPadding(section, unpadded);
  section.stateMeaning(
    'attention.implementation',
    `${model}.override_config.attn_implementation`,
    ({ node }) => attentionOf(textOf(node)),
    verlDefault('flash2' as const, say('verl loads models with flash attention'), 'workers/config/model.py'),
  );
  readOverrides(section, draft, [`${model}.override_config.model_config`, `${model}.override_config`]);
  section.take(`${model}.use_liger`, `${model}.override_config.output_router_logits`);
  section.takeFirst(...ulysses);
  const rank = section.find(`${model}.lora_rank`);
  if (rank && section.integerOrDefault(`${model}.lora_rank`) > 0) {
    section.state('method.kind', 'lora', rank);
    section.take(`${model}.lora_rank`, `${model}.lora_alpha`);
    const targets = section.find(`${model}.target_modules`);
    if (targets) section.take(`${model}.target_modules`);
    else section.assume('lora.targets', verlDefault(['all-linear']));
    section.assume('lora.dropout', verlDefault(0, say("peft's default")));
  } else if (rank) section.state('method.kind', 'full', rank);
  else section.assume('method.kind', verlDefault('full' as const), `${model}.lora_rank`);
}

/** Machines and GPUs of each, as the file states or the trainer assumes. */
export function machinesOf(section: Section, { gpusPerNode }: VerlNames) {
  const nodes = section.find('trainer.nnodes');
  const gpus = section.find('trainer.n_gpus_per_node');
  const machines = nodes ? integerOf(nodes.node) : 1;
  const each = gpus ? integerOf(gpus.node) : gpusPerNode;
  if (machines === undefined || each === undefined) return undefined;
  return { machines, gpus: machines * each, because: gpus ?? nodes };
}

/** transformers' checkpoints of whole layers; Megatron has switches of its own. */
function readCheckpointing(section: Section, { model }: VerlNames): void {
  section.take(`${model}.enable_gradient_checkpointing`, `${model}.enable_activation_offload`);
  section.assume('activations.reentrant', verlDefault(false, say('without reentry'), FSDP_ENGINE));
}

/** fp32 shards, lowered by FSDP under autocast (`_build_fsdp_module`, `forward_step`). */
export function readVerlFsdp(section: Section, names: VerlNames): void {
  readCheckpointing(section, names);
  const { engine, optimizer, model } = names;
  const strategy = section.find([names.strategy, `${engine}.strategy`]);
  const second = (strategy ? textOf(strategy.node) : names.scheme) === 'fsdp2';
  // Other engines split weights in ways of their own.
  if (strategy && !/^fsdp2?$/.test(textOf(strategy.node) ?? '')) section.leave(strategy, ['parallel.data']);
  else if (strategy) section.state('parallel.data', second ? 'fsdp2' : 'fsdp1', strategy);
  else section.assume('parallel.data', verlDefault(names.scheme));
  section.take(`${engine}.model_dtype`);
  const weights = weightsDtypeOf(section.text(`${engine}.model_dtype`)) ?? 'fp32';
  section.assume(
    'precision.masterWeights',
    verlDefault(weights, say('shards keep the type of the weights'), FSDP_ENGINE),
  );
  const computed =
    weightsDtypeOf(section.text([`${engine}.dtype`, `${engine}.mixed_precision.param_dtype`])) ?? 'bf16';
  section.assume(
    'precision.compute',
    verlDefault(computed, say('FSDP computes in {0}', computed), FSDP_ENGINE),
  );
  section.assume('precision.scheme', verlDefault('fsdp' as const, say('FSDP mixed precision'), FSDP_ENGINE));
  section.assume('precision.autocast', verlDefault(!second, say('autocast runs around it'), FSDP_ENGINE));
  section.assume(
    'precision.reduce',
    verlDefault('fp32' as const, say('gradients are reduced in fp32'), FSDP_ENGINE),
  );
  if (!isOlder(names)) section.take(`${engine}.use_orig_params`, `${engine}.reshard_after_forward`);
  else section.assume('fsdp.strategy', verlDefault('full' as const, undefined, OLDER_TRAINER));
  section.stateMeaning(
    'fsdp.syncEachBatch',
    `${engine}.use_no_sync_for_gradient_accumulation`,
    ({ node }) => switchOf(node, false, true),
    verlDefault(true, say('every micro batch reduces its gradients'), FSDP_ENGINE),
  );
  const size = section.find(`${engine}.fsdp_size`);
  const [group, gpus] = [integerOf(size?.node), machinesOf(section, names)?.gpus];
  if (size && group !== undefined && group > 0 && gpus !== undefined && gpus > group && gpus % group === 0)
    section.state('parallel.replicate', gpus / group, size, say('{0} GPUs share one copy', group));
  readHostPlacement(section, engine, second);
  readClass(section, optimizer);
  const fused = section.find(`${model}.use_fused_kernels`);
  if (fused && flagOf(fused.node) === true)
    section.state('loss.implementation', 'cut', fused, say('no whole logits'));
}

/** What waits in host memory while others use the GPU is on the GPU while the model trains; FSDP 2's policy keeps it away then, too. */
function readHostPlacement(section: Section, engine: string, second: boolean): void {
  const wholly = section.find(`${engine}.cpu_offload`);
  if (wholly && flagOf(wholly.node) === true) {
    // Both FSDPs step where the weights lie.
    section.state('offload.parameters', 'cpu', wholly);
    section.state('offload.optimizer', 'cpu', wholly);
    return;
  }
  const policy = section.find(`${engine}.offload_policy`);
  const isAway = second && policy !== undefined && flagOf(policy.node) === true;
  for (const [field, key] of [
    ['offload.parameters', 'param_offload'],
    ['offload.optimizer', 'optimizer_offload'],
  ] as const) {
    const because = isAway ? policy : (section.find(`${engine}.${key}`) ?? policy);
    if (because)
      section.state(
        field,
        isAway ? 'cpu' : 'none',
        because,
        isAway ? undefined : say('on the GPU in training'),
      );
  }
}

function readClass(section: Section, block: string): void {
  const name = section.find(`${block}.optimizer`);
  const from = section.textOrDefault(`${block}.optimizer_impl`);
  const more = section.find(`${block}.override_optimizer_config`)?.node;
  const options = more?.kind === 'map' ? (plainOf(more) as Readonly<Record<string, unknown>>) : {};
  const word = section.textOrDefault(`${block}.optimizer`);
  // Under Megatron the words are its own: `adam`, `sgd`.
  const values = classOptimizer(`${from}.${word}`, options) ?? optimizerIn(MEGATRON_OPTIMIZERS, word);
  const because = name ?? section.find(`${block}.optimizer_impl`);
  if (because) {
    stateOptimizer(section, values, because);
    return;
  }
  for (const { field, value } of optimizerStatements(values ?? {}))
    section.assume(field, verlDefault(value as never));
}

/**
 * Log-probabilities by flash attention's cross-entropy, whose backward overwrites the logits; with the entropy they are needed
 * once more, and it has gradients of their size (`prepare_model_outputs`, `inplace_backward`).
 */
export function readVerlLoss(section: Section): void {
  const weight = section.find(`${ACTOR}.entropy_coeff`);
  const asked = section.find(`${ACTOR}.calculate_entropy`);
  const weighs = section.numberOrDefault(`${ACTOR}.entropy_coeff`) !== 0;
  const because = weighs ? weight : flagOf(asked?.node) === true ? asked : undefined;
  const native = verlDefault(
    'native' as const,
    say('the entropy keeps the logits'),
    'trainer/config/actor/actor.yaml',
  );
  if (weighs && !weight) section.assume('loss.implementation', native);
  else if (because)
    section.state('loss.implementation', 'native', because, say('the entropy keeps the logits'));
  else assumeLoss(section);
}

/** Of one forward pass without an entropy. */
export function assumeLoss(section: Section): void {
  section.assume(
    'loss.implementation',
    verlDefault(
      'in-place' as const,
      say("flash attention's cross-entropy, backward in place"),
      'utils/torch_functional.py',
    ),
  );
}
