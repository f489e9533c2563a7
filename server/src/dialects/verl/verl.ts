import { interpolated } from '../../config/interpolation';
import { mapAt, nodeAt } from '../../config/lookup';
import type { ConfigDocument, ConfigNode } from '../../config/node';
import { flagOf, integerOf, isBlank, plainOf, textOf } from '../../config/scalar';
import type { FieldValue } from '../../run/fields';
import { fileIn } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { Dialect, ReadContext, Reading } from '../dialect';
import { Draft } from '../draft';
import { attentionOf } from '../hf/attention';
import { scriptPolicy } from '../hf/training-arguments-rules';
import { weightsDtypeOf } from '../hf/weights-dtype';
import { checkKeys, type KeyPolicy, rejectMisfits } from '../key-check';
import {
  megatron,
  OPTIMIZER_SETTINGS,
  readAttention,
  readModules,
  readOptimizerArguments,
  readParallelism,
  readRecomputation,
  readStates,
} from '../megatron/parallel-arguments';
import { SpelledSection, type Spelling } from '../megatron/spelled-section';
import { readUnmodelled } from '../megatron/unmodelled-arguments';
import { classOptimizer, MEGATRON_OPTIMIZERS, optimizerIn, optimizerStatements } from '../optimizer-names';
import { forbid } from '../refusal';
import { type DefaultValue, Section } from '../section';
import { stateOptimizer } from '../stated-optimizer';
import { whatWaits } from '../waiting-models';
import { VERL_KEYS, VERL_TABLE } from './verl-keys';
import { VERL } from './verl-repository';
import { verlWords } from './verl-words';

const SOURCE = fileIn(VERL, 'verl/');
const FSDP_ENGINE = 'workers/engine/fsdp/transformer_impl.py';
/** Configs are typed by many dataclasses; Hydra refuses what it does not know, unless a `+` adds it. */
const policy: KeyPolicy = { ...scriptPolicy('verl'), unknown: () => undefined, accepts: isBlank };

function own<V>(value: V, note = say('{0} default', 'verl'), file = 'trainer/config/'): DefaultValue<V> {
  return { value, note, source: `${SOURCE}${file}` };
}

/** How the two trainers spell what means the same: RL keeps the policy in a block of its own, fine-tuning has it at the top. */
interface Names {
  readonly model: string;
  readonly engine: string;
  readonly optimizer: string;
  readonly ulysses: readonly [string, string];
  /** GPUs of each machine where the file does not state it. */
  readonly gpusPerNode: number;
}
const ACTOR = 'actor_rollout_ref.actor';
const RL: Names = {
  model: 'actor_rollout_ref.model',
  engine: `${ACTOR}.fsdp_config`,
  optimizer: `${ACTOR}.optim`,
  ulysses: [`${ACTOR}.ulysses_sequence_parallel_size`, `${ACTOR}.fsdp_config.ulysses_sequence_parallel_size`],
  gpusPerNode: 8,
};
const FINE_TUNING: Names = {
  model: 'model',
  engine: 'engine',
  optimizer: 'optim',
  ulysses: ['ulysses_sequence_parallel_size', 'engine.ulysses_sequence_parallel_size'],
  gpusPerNode: 1,
};

/** verl: PPO, GRPO and their like over Ray, and supervised fine-tuning. Its configs are Hydra's, given by a launch for the most part. */
export const verl: Dialect = {
  id: 'verl',
  name: 'verl',
  released: VERL_TABLE.released,
  keys: VERL_KEYS,
  words: verlWords,
  markers: /^[ \t]*actor_rollout_ref\s*:/m,
  detect(root: ConfigNode): number {
    const has = (path: string) => nodeAt(root, path) !== undefined;
    if (root.kind !== 'map' || mapAt(root, 'actor_rollout_ref') === undefined) return 0;
    return has('actor_rollout_ref.actor') || has('actor_rollout_ref.model') ? 1 : 0.8;
  },
  read(document: ConfigDocument, context: ReadContext): Reading {
    const draft = new Draft(document, context);
    const root = interpolated(document.root);
    if (root?.kind !== 'map') return draft.reading();
    const section = new Section(root, draft, '', VERL_TABLE).withDefaultsOf(`${SOURCE}trainer/config/`);
    draft.assume('framework', 'verl', say('the file is a {0} config', 'verl'));
    if (mapAt(root, 'actor_rollout_ref') || mapAt(root, 'algorithm'))
      readReinforcement(section, draft, context);
    else readFineTuning(section);
    rejectMisfits(root, VERL_TABLE, draft);
    draft.rules(() => checkKeys(root, VERL_TABLE, policy, draft));
    draft.rules(() => check(section, draft));
    return draft.reading();
  },
};

function readReinforcement(section: Section, draft: Draft, context: ReadContext): void {
  const strategy = section.find(`${ACTOR}.strategy`);
  const named = textOf(strategy?.node) ?? section.text('model_engine');
  const core = named === undefined ? section.has(`${ACTOR}.megatron`) : named === 'megatron';
  // Megatron's attention is read first: it has a switch of its own.
  if (core) readMegatron(section, draft);
  readModel(section, RL);
  readMachines(section, RL);
  readResponses(section, draft, context);
  readObjective(section);
  readRollouts(section);
  if (core) return;
  readFsdp(section, RL, `${ACTOR}.strategy`);
  readLoss(section);
}

/** `verl.trainer.sft_trainer`, and `fsdp_sft_trainer` before it. */
function readFineTuning(section: Section): void {
  readModel(section, FINE_TUNING);
  // torchrun states how many GPUs there are; over Ray the config does.
  if (section.has('trainer.n_gpus_per_node')) readMachines(section, FINE_TUNING);
  const dynamic = section.find('data.use_dynamic_bsz');
  const tokens = section.find('data.max_token_len_per_gpu');
  const length = integerOf(tokens?.node);
  // Before 0.6 the trainer knew samples only.
  const byTokens = flagOf(dynamic?.node) ?? tokens !== undefined;
  if (byTokens && tokens && length !== undefined) readRow(section, tokens, length, FINE_TUNING);
  section.take('data.micro_batch_size_per_gpu', 'data.max_length');
  section.takeElse('data.train_batch_size', own(256));
  section.assume('method.objective', own('lm' as const));
  readFsdp(section, FINE_TUNING, 'engine.strategy');
  assumeLoss(section);
}

function assumeLoss(section: Section): void {
  section.assume(
    'loss.implementation',
    own(
      'in-place' as const,
      say("flash attention's cross-entropy, backward in place"),
      'utils/torch_functional.py',
    ),
  );
}

function readModel(section: Section, { model, ulysses }: Names): void {
  section.take(`${model}.path`, `${model}.partial_pretrain`);
  const unpadded = [`${model}.use_remove_padding`, 'use_remove_padding'] as const;
  section.takeFirst(...unpadded);
  section.stateFlag('batch.paddingFree', unpadded, own(true));
  section.stateMeaning(
    'attention.implementation',
    `${model}.override_config.attn_implementation`,
    ({ node }) => attentionOf(textOf(node)),
    own('flash2' as const, say('verl loads models with flash attention'), 'workers/config/model.py'),
  );
  section.take(`${model}.use_liger`);
  section.takeFirst(...ulysses);
  const rank = section.find(`${model}.lora_rank`);
  if (rank && section.integerOrDefault(`${model}.lora_rank`) > 0) {
    section.state('method.kind', 'lora', rank);
    section.take(`${model}.lora_rank`, `${model}.lora_alpha`);
    const targets = section.find(`${model}.target_modules`);
    if (targets) section.take(`${model}.target_modules`);
    else section.assume('lora.targets', own(['all-linear']));
    section.assume('lora.dropout', own(0, say("peft's default")));
  } else if (rank) section.state('method.kind', 'full', rank);
  else section.assume('method.kind', own('full' as const), `${model}.lora_rank`);
}

/** Machines and GPUs of each, as the file states or the trainer assumes. */
function machinesOf(section: Section, { gpusPerNode }: Names) {
  const nodes = section.find('trainer.nnodes');
  const gpus = section.find('trainer.n_gpus_per_node');
  const machines = nodes ? integerOf(nodes.node) : 1;
  const each = gpus ? integerOf(gpus.node) : gpusPerNode;
  if (machines === undefined || each === undefined) return undefined;
  return { machines, gpus: machines * each, because: gpus ?? nodes };
}

function readMachines(section: Section, names: Names): void {
  const found = machinesOf(section, names);
  if (!found) return;
  const { machines, gpus, because } = found;
  section.take('trainer.nnodes');
  const note = machines > 1 ? say('on each of {0} machines', machines) : undefined;
  if (because) section.state('hardware.gpus', gpus, because, note);
  else section.assume('hardware.gpus', own(gpus));
  section.take('trainer.total_training_steps');
}

/** One row of as many tokens as a GPU may have; with Ulysses its GPUs share a row of as many each. */
function readRow(
  section: Section,
  found: { key: string; node: ConfigNode },
  tokens: number,
  { ulysses }: Names,
): void {
  const together = section.integerOrDefault([...ulysses]);
  section.state('batch.micro', 1, found, say('one row of as many tokens as a GPU may have'));
  section.state('batch.sequence', tokens * together, found, say('tokens of a row'));
}

/** Degrees of GPUs that work on the same samples. */
const TOGETHER = ['parallel.tensor', 'parallel.pipeline', 'parallel.context', 'parallel.ulysses'] as const;

/** Prompt and response together; micro batches by samples or, with `use_dynamic_bsz`, by tokens. */
function readResponses(section: Section, draft: Draft, context: ReadContext): void {
  const prompt = section.find('data.max_prompt_length');
  const response = section.find('data.max_response_length');
  const sum =
    section.integerOrDefault('data.max_prompt_length') + section.integerOrDefault('data.max_response_length');
  const dynamic = section.find(`${ACTOR}.use_dynamic_bsz`);
  if (dynamic && flagOf(dynamic.node) === true) {
    const limit = section.find(`${ACTOR}.ppo_max_token_len_per_gpu`);
    readRow(section, limit ?? dynamic, section.integerOrDefault(`${ACTOR}.ppo_max_token_len_per_gpu`), RL);
  }
  const stated = response ?? prompt;
  const note = say('prompt and response together');
  if (stated) section.state('batch.sequence', sum, stated, note);
  else section.assume('batch.sequence', own(sum, note));
  section.take('data.max_response_length', `${ACTOR}.ppo_micro_batch_size_per_gpu`);
  const old = section.find(`${ACTOR}.ppo_micro_batch_size`);
  const all = integerOf(old?.node);
  const gpus = context.known['hardware.gpus'];
  // Divided among data-parallel ranks: GPUs that share a row by Ulysses, or a model by Megatron, are one (`workers/fsdp_workers.py`).
  const together = TOGETHER.reduce((product, field) => product * Number(draft.valueOf(field) ?? 1), 1);
  if (old && all !== undefined && typeof gpus === 'number' && gpus > 0)
    section.state(
      'batch.micro',
      Math.max(1, Math.floor(all / Math.max(1, Math.floor(gpus / together)))),
      old,
      together > 1
        ? say('shared by {0} GPUs, {1} of which work on the same samples', gpus, together)
        : say('shared by {0} GPUs', gpus),
    );
  const mini = section.find(`${ACTOR}.ppo_mini_batch_size`);
  const responses = section.find('actor_rollout_ref.rollout.n');
  const times = section.integerOrDefault('actor_rollout_ref.rollout.n');
  const samples = section.integerOrDefault(`${ACTOR}.ppo_mini_batch_size`) * times;
  const micro = `${ACTOR}.ppo_micro_batch_size_per_gpu`;
  const divided = section.has(micro) || all !== undefined || flagOf(dynamic?.node) === true;
  const shape = mini ?? stated;
  // `workers/config/actor.py`, `validate`: one of the two sizes has to be there.
  if (!divided && shape)
    draft.leave(
      'value',
      shape.node,
      micro,
      say('`{0}` is not set: without it, or `use_dynamic_bsz`, verl does not start.', micro),
      ['batch.micro'],
    );
  const because = mini ?? responses;
  const each = say('{0} {0|response|responses} to each prompt', times);
  if (because) section.state('batch.global', samples, because, each);
  else section.assume('batch.global', own(samples, each));
}

/** `gae` trains a value model on the same GPUs; both models take turns there where the critic's states wait in host memory. */
function readObjective(section: Section): void {
  const found = section.find('algorithm.adv_estimator');
  const estimator = textOf(found?.node)?.toLowerCase() ?? 'gae';
  const valued = section.flag('critic.enable') ?? estimator === 'gae';
  const objective: FieldValue<'method.objective'> = valued ? 'ppo' : estimator === 'rloo' ? 'rloo' : 'grpo';
  if (found) section.state('method.objective', objective, found);
  else section.assume('method.objective', own(objective));
  section.assume('method.referenceModel', own(false, say('the reference waits in host memory'), FSDP_ENGINE));
  const away = ['param_offload', 'optimizer_offload'].every((key) =>
    ['critic.model.fsdp_config', 'critic.fsdp', 'critic.megatron'].some(
      (block) => section.flag(`${block}.${key}`) === true,
    ),
  );
  const because = section.find(['critic.enable', 'algorithm.adv_estimator']);
  if (because) section.state('method.valueModel', valued && !away, because);
  else section.assume('method.valueModel', own(valued && !away, say('`gae` trains a value model')));
}

/** The engine shares the GPUs unless it has machines of its own, and gives its memory back while the policy trains. */
function readRollouts(section: Section): void {
  const block = 'actor_rollout_ref.rollout';
  const name = section.find(`${block}.name`);
  const apart = section.integerOrDefault(`${block}.nnodes`) > 0;
  const engine = textOf(name?.node) === 'hf' ? 'transformers' : apart ? 'vllm-server' : 'vllm-colocate';
  if (name) section.state('rollout.engine', engine, name);
  else section.assume('rollout.engine', own(engine));
  if (engine !== 'vllm-colocate') return;
  section.take(`${block}.gpu_memory_utilization`, `${block}.free_cache_engine`);
  const blocks = [`${ACTOR}.fsdp_config`, `${ACTOR}.megatron`];
  const weights = section.find(blocks.map((each) => `${each}.param_offload`));
  const states = section.find(blocks.map((each) => `${each}.optimizer_offload`));
  const [w, s] = [flagOf(weights?.node) === true, flagOf(states?.node) === true];
  const because = w ? weights : states;
  if (because) section.state('rollout.offload', whatWaits(w, s), because);
}

/** transformers' checkpoints of whole layers; Megatron has switches of its own. */
function readCheckpointing(section: Section, { model }: Names): void {
  section.take(`${model}.enable_gradient_checkpointing`, `${model}.enable_activation_offload`);
  section.assume('activations.reentrant', own(false, say('without reentry'), FSDP_ENGINE));
}

/** fp32 shards, lowered by FSDP under autocast (`_build_fsdp_module`, `forward_step`). */
function readFsdp(section: Section, names: Names, key: string): void {
  readCheckpointing(section, names);
  const { engine, optimizer, model } = names;
  const strategy = section.find([key, `${engine}.strategy`]);
  const second = textOf(strategy?.node) === 'fsdp2';
  if (strategy) section.state('parallel.data', second ? 'fsdp2' : 'fsdp1', strategy);
  else section.assume('parallel.data', own('fsdp1' as const));
  section.take(`${engine}.model_dtype`);
  const weights = weightsDtypeOf(section.text(`${engine}.model_dtype`)) ?? 'fp32';
  section.assume(
    'precision.masterWeights',
    own(weights, say('shards keep the type of the weights'), FSDP_ENGINE),
  );
  const computed =
    weightsDtypeOf(section.text([`${engine}.dtype`, `${engine}.mixed_precision.param_dtype`])) ?? 'bf16';
  section.assume('precision.compute', own(computed, say('FSDP computes in {0}', computed), FSDP_ENGINE));
  section.assume('precision.scheme', own('fsdp' as const, say('FSDP mixed precision'), FSDP_ENGINE));
  section.assume('precision.autocast', own(!second, say('autocast runs around it'), FSDP_ENGINE));
  section.assume('precision.reduce', own('fp32' as const, say('gradients are reduced in fp32'), FSDP_ENGINE));
  section.take(`${engine}.use_orig_params`);
  section.take(`${engine}.reshard_after_forward`);
  section.stateMeaning(
    'fsdp.syncEachBatch',
    `${engine}.use_no_sync_for_gradient_accumulation`,
    ({ node }) => flagOf(node) !== true,
    own(true, say('every micro batch reduces its gradients'), FSDP_ENGINE),
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
    section.assume(field, own(value as never));
}

/**
 * Log-probabilities by flash attention's cross-entropy, whose backward overwrites the logits; with the entropy they are needed
 * once more, and it has gradients of their size (`prepare_model_outputs`, `inplace_backward`).
 */
function readLoss(section: Section): void {
  const weight = section.find(`${ACTOR}.entropy_coeff`);
  const asked = section.find(`${ACTOR}.calculate_entropy`);
  const because =
    section.numberOrDefault(`${ACTOR}.entropy_coeff`) !== 0
      ? weight
      : flagOf(asked?.node) === true
        ? asked
        : undefined;
  if (because) section.state('loss.implementation', 'native', because, say('the entropy keeps the logits'));
  else assumeLoss(section);
}

const SPELLING: Spelling = Object.fromEntries(
  [
    'recompute_granularity',
    'recompute_method',
    'recompute_num_layers',
    'recompute_modules',
    'attention_backend',
  ].map((name) => [name, [`override_transformer_config.${name}`]]),
);

/** What goes to Megatron's optimizer over verl's own arguments (`utils/megatron/optimizer.py`, `init_megatron_optim_config`). */
const OVERRIDDEN: Spelling = Object.fromEntries(
  OPTIMIZER_SETTINGS.map((name) => [name, [`override_optimizer_config.${name}`, name]]),
);

/** Megatron-Core: low-precision weights, fp32 main gradients, distributed optimizer (`trainer/config/engine/megatron.yaml`). */
function readMegatron(section: Section, draft: Draft): void {
  const engine = section.find(`${ACTOR}.strategy`);
  const block = section.find(`${ACTOR}.megatron`);
  const args = new SpelledSection(block?.node, draft, SPELLING, `${ACTOR}.megatron`);
  const because = engine ?? block;
  if (because) section.state('parallel.data', 'ddp', because, say('replicas, whose states are sharded'));
  section.assume('model.code', megatron('megatron' as const, '', say('verl runs Megatron-Core')));
  for (const field of ['precision.weights', 'precision.compute'] as const)
    section.assume(field, own('bf16' as const));
  section.assume('precision.scheme', own('megatron' as const, say('fp32 masters')));
  section.take(`${ACTOR}.megatron.sequence_parallel`, `${ACTOR}.megatron.use_distributed_optimizer`);
  readParallelism(args);
  readRecomputation(args);
  readAttention(args);
  readModules(args, { transformerEngine: true, grouped: true });
  readUnmodelled(args);
  const optimizer = section.find(`${ACTOR}.optim`)?.node;
  const states = new SpelledSection(optimizer, draft, OVERRIDDEN, `${ACTOR}.optim`);
  readOptimizerArguments(states);
  readStates(states);
  section.assume(
    'loss.implementation',
    own('vocab-parallel' as const, say('log-probabilities over the ranks that split the vocabulary')),
  );
}

function check(section: Section, draft: Draft): void {
  const both = section.find(`${ACTOR}.ppo_micro_batch_size`);
  forbid(both !== undefined && section.has(`${ACTOR}.ppo_micro_batch_size_per_gpu`), both?.node, draft, {
    code: 'two-micro-batches',
    message: say('`ppo_micro_batch_size` and `ppo_micro_batch_size_per_gpu` exclude each other.'),
    source: `${SOURCE}workers/config/actor.py`,
  });
  for (const { model, ulysses } of [RL, FINE_TUNING]) {
    const split = section.find([...ulysses]);
    forbid(
      section.integerOrDefault(ulysses) > 1 && section.flag(`${model}.use_remove_padding`) === false,
      split?.node,
      draft,
      {
        code: 'ulysses-with-padding',
        message: say('Ulysses needs rows without padding: set `use_remove_padding`.'),
        source: `${SOURCE}${FSDP_ENGINE}`,
      },
    );
  }
}
