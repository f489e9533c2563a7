import { interpolated } from '../../config/interpolation';
import { mapAt, nodeAt } from '../../config/lookup';
import type { ConfigDocument, ConfigNode } from '../../config/node';
import { flagOf, integerOf, isBlank, textOf } from '../../config/scalar';
import type { FieldValue } from '../../run/fields';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import type { Dialect, ReadContext, Reading } from '../dialect';
import { Draft } from '../draft';
import { scriptPolicy } from '../hf/training-arguments-rules';
import { checkKeys, type KeyPolicy, rejectMisfits } from '../key-check';
import { forbid } from '../refusal';
import { Section } from '../section';
import { whatWaits } from '../waiting-models';
import { readCritic } from './verl-critic';
import { VERL_KEYS, VERL_TABLE } from './verl-keys';
import { readVerlMegatron } from './verl-megatron';
import { assumeLoss, machinesOf, readVerlFsdp, readVerlLoss, readVerlModel } from './verl-model';
import {
  ACTOR,
  FINE_TUNING,
  FSDP_ENGINE,
  OLDER_FINE_TUNING,
  RL,
  type Trainer,
  VERL_SOURCE,
  type VerlNames,
  verlDefault,
} from './verl-names';
import { verlWords } from './verl-words';

/** Configs are typed by many dataclasses; Hydra refuses what it does not know, unless a `+` adds it. */
const policy: KeyPolicy = { ...scriptPolicy('verl'), unknown: () => undefined, accepts: isBlank };

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
  read: (document, context) => read(document, context),
};

/** The same, started by one of its own trainers, whose defaults count. */
export const verlStartedBy = (trainer: Trainer): Dialect => ({
  ...verl,
  read: (document, context) => read(document, context, trainer),
});

function read(document: ConfigDocument, context: ReadContext, trainer?: Trainer): Reading {
  const draft = new Draft(document, context);
  const root = interpolated(document.root);
  if (root?.kind !== 'map') return draft.reading();
  const section = new Section(root, draft, '', VERL_TABLE)
    .withDefaultsOf(`${VERL_SOURCE}trainer/config/`)
    .withVersions({ verl: context.versions?.verl?.version });
  draft.assume('framework', 'verl', say('the file is a {0} config', 'verl'));
  const reinforces = mapAt(root, 'actor_rollout_ref') || mapAt(root, 'algorithm');
  if (trainer === undefined ? reinforces : trainer === 'ppo' || trainer === 'megatron')
    readReinforcement(section, draft, context, trainer === 'megatron');
  else readFineTuning(section, draft, trainer);
  rejectMisfits(root, VERL_TABLE, draft);
  draft.rules(() => checkKeys(root, VERL_TABLE, policy, draft));
  draft.rules(() => check(section, draft));
  return draft.reading();
}

function readReinforcement(section: Section, draft: Draft, context: ReadContext, megatron: boolean): void {
  const strategy = section.find(`${ACTOR}.strategy`);
  const named = textOf(strategy?.node) ?? section.text('model_engine');
  const core = named === undefined ? megatron || section.has(`${ACTOR}.megatron`) : named === 'megatron';
  // Megatron's attention is read first: it has a switch of its own.
  if (core) readVerlMegatron(section, draft);
  readVerlModel(section, RL, draft);
  readMachines(section, RL);
  readResponses(section, draft, context);
  readRollouts(section, draft, core, context.versions?.verl?.version);
  noteRewardModel(section);
  if (!core) {
    readVerlFsdp(section, RL);
    readVerlLoss(section);
  }
  if (readObjective(section)) readCritic(section, draft, core, context);
}

/** `verl.trainer.sft_trainer`, and `fsdp_sft_trainer` before it. */
function readFineTuning(section: Section, draft: Draft, trainer: Trainer | undefined): void {
  // A base that is called so is the older trainer's alone.
  const older = trainer === 'older-sft' || (trainer === undefined && section.has('model.partial_pretrain'));
  const names = older ? OLDER_FINE_TUNING : FINE_TUNING;
  readVerlModel(section, names, draft);
  // torchrun states how many GPUs there are; over Ray the config does.
  if (section.has('trainer.n_gpus_per_node')) readMachines(section, names);
  if (!older) readTokens(section, trainer === 'sft');
  section.take('data.micro_batch_size_per_gpu', 'data.max_length');
  section.takeElse('data.train_batch_size', verlDefault(256));
  section.assume('method.objective', verlDefault('lm' as const));
  readVerlFsdp(section, names);
  // The older trainer takes the loss of shifted logits out of PyTorch (`_compute_loss_and_backward`).
  if (!older) assumeLoss(section);
  else
    section.assume(
      'loss.implementation',
      verlDefault('native' as const, say("PyTorch's cross-entropy"), 'trainer/fsdp_sft_trainer.py'),
    );
}

/** Rows of as many tokens as a GPU may have: unless the config states otherwise, where it is known that the trainer is one that fills them. */
function readTokens(section: Section, fills: boolean): void {
  const dynamic = section.find('data.use_dynamic_bsz');
  const tokens = section.find('data.max_token_len_per_gpu');
  const byTokens = flagOf(dynamic?.node) ?? (tokens !== undefined || fills);
  const length = section.integerOrDefault('data.max_token_len_per_gpu');
  const because = tokens ?? dynamic;
  if (byTokens && because) readRow(section, because, length, FINE_TUNING);
  else if (byTokens) {
    const together = section.integerOrDefault(FINE_TUNING.ulysses);
    section.assume('batch.micro', verlDefault(1, say('one row of as many tokens as a GPU may have')));
    section.assume('batch.sequence', verlDefault(length * together, say('tokens of a row')));
  }
}

function readMachines(section: Section, names: VerlNames): void {
  const found = machinesOf(section, names);
  if (!found) return;
  const { machines, gpus, because } = found;
  section.take('trainer.nnodes');
  const note = machines > 1 ? say('on each of {0} machines', machines) : undefined;
  if (because) section.state('hardware.gpus', gpus, because, note);
  else section.assume('hardware.gpus', verlDefault(gpus));
  section.take('trainer.total_training_steps');
}

/** One row of as many tokens as a GPU may have; with Ulysses its GPUs share a row of as many each. */
function readRow(
  section: Section,
  found: { key: string; node: ConfigNode },
  tokens: number,
  { ulysses }: VerlNames,
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
  else section.assume('batch.sequence', verlDefault(sum, note));
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
  else section.assume('batch.global', verlDefault(samples, each));
}

/** `gae` trains a value model on the same GPUs. True where one is trained. */
function readObjective(section: Section): boolean {
  const found = section.find('algorithm.adv_estimator');
  const estimator = textOf(found?.node)?.toLowerCase() ?? 'gae';
  const valued = section.flag('critic.enable') ?? estimator === 'gae';
  const objective: FieldValue<'method.objective'> = valued ? 'ppo' : estimator === 'rloo' ? 'rloo' : 'grpo';
  if (found) section.state('method.objective', objective, found);
  else section.assume('method.objective', verlDefault(objective));
  section.assume(
    'method.referenceModel',
    verlDefault(false, say('the reference waits in host memory'), FSDP_ENGINE),
  );
  const because = section.find(['critic.enable', 'algorithm.adv_estimator']);
  if (because) section.state('method.valueModel', valued, because);
  else section.assume('method.valueModel', verlDefault(valued, say('`gae` trains a value model')));
  return valued;
}

/** A model that scores shares the GPUs unless it has a pool of its own; FSDP keeps it in host memory where it is asked to (`fsdp_workers.py`, `RewardModelWorker`). */
function noteRewardModel(section: Section): void {
  const enabled = section.find(['reward_model.enable', 'reward.reward_model.enable']);
  if (!enabled || flagOf(enabled.node) !== true) return;
  const blocks = ['reward_model', 'reward.reward_model'];
  const any = (key: string) => blocks.some((block) => section.flag(`${block}.${key}`) === true);
  if (any('model.fsdp_config.param_offload') || any('megatron.param_offload') || any('enable_resource_pool'))
    return;
  section.bring('reward-model', enabled);
}

/** Engines of rollouts, in any release (`workers/rollout/base.py`). */
const ENGINES = /^(?:hf|naive|vllm\w*|sglang\w*|trtllm\w*)$/;

/** The engine shares the GPUs unless it has machines of its own, and gives its memory back while the policy trains. */
function readRollouts(section: Section, draft: Draft, core: boolean, release: unknown): void {
  const block = 'actor_rollout_ref.rollout';
  const name = section.find(`${block}.name`);
  // `RayPPOTrainer` refuses anything else; the trainers that take it give the engine a pool of GPUs of its own (`fully_async_main.py`).
  const hybrid = section.flagOrDefault('actor_rollout_ref.hybrid_engine');
  const apart = section.integerOrDefault(`${block}.nnodes`) > 0 || !hybrid;
  const engine = textOf(name?.node) === 'hf' ? 'transformers' : apart ? 'vllm-server' : 'vllm-colocate';
  // One that is not known: vLLM's stands in, which shares the GPUs.
  if (name && !ENGINES.test(textOf(name.node) ?? '')) section.leave(name, ['rollout.engine']);
  else if (name) section.state('rollout.engine', engine, name);
  else section.assume('rollout.engine', verlDefault(engine));
  if (engine === 'transformers') return;
  const tensor = `${block}.tensor_model_parallel_size`;
  // `ppo_megatron_trainer.yaml` had one of its own from 0.4.0 to 0.5.0.
  const alone = core && isAtLeast(release, '0.4.0') === true && isAtLeast(release, '0.6.0') === false;
  if (alone) section.takeElse(tensor, verlDefault(1));
  else section.take(tensor);
  if (engine !== 'vllm-colocate') return;
  // Whoever takes the weights from the trainer has its segments grow again when it has them, which is before the first step.
  if (isAtLeast(release, '0.6.0') !== false)
    section.assume('allocator.expandableSegments', {
      value: true,
      note: say('{0} sets expandable segments', 'verl'),
      source: `${VERL_SOURCE}workers/fsdp_workers.py`,
    });
  const quantized = section.find(`${block}.quantization`);
  if (quantized && !isBlank(quantized.node)) section.state('rollout.quantized', true, quantized);
  section.take(`${block}.gpu_memory_utilization`);
  const free = section.find(`${block}.free_cache_engine`);
  // `workers/sharding_manager/fsdp_vllm.py`, `__exit__`: before 0.5 `sleep(level=1)` for vLLM since 0.7, whatever is stated.
  if (free && flagOf(free.node) === false && isAtLeast(release, '0.5.0') !== true)
    draft.inferEither(
      'rollout.sleep',
      [false, true],
      say(
        'Before verl 0.5 an engine of vLLM 0.7 or later gives its memory back whatever `free_cache_engine` states: which releases run here is not known.',
      ),
      free.node,
      free.key,
    );
  else section.take(`${block}.free_cache_engine`);
  const blocks = [`${ACTOR}.fsdp_config`, `${ACTOR}.megatron`];
  const weights = section.find(blocks.map((each) => `${each}.param_offload`));
  const states = section.find(blocks.map((each) => `${each}.optimizer_offload`));
  const [w, s] = [flagOf(weights?.node) === true, flagOf(states?.node) === true];
  const because = w ? weights : states;
  if (because) section.state('rollout.offload', whatWaits(w, s), because);
}

function check(section: Section, draft: Draft): void {
  const both = section.find(`${ACTOR}.ppo_micro_batch_size`);
  // Batches by tokens have neither.
  const counted = section.flag(`${ACTOR}.use_dynamic_bsz`) !== true;
  const each = section.has(`${ACTOR}.ppo_micro_batch_size_per_gpu`);
  forbid(counted && both !== undefined && each, both?.node, draft, {
    code: 'two-micro-batches',
    message: say('`ppo_micro_batch_size` and `ppo_micro_batch_size_per_gpu` exclude each other.'),
    source: `${VERL_SOURCE}workers/config/actor.py`,
  });
  for (const { ulysses, unpadded, strategy } of [RL, FINE_TUNING]) {
    const split = section.find([...ulysses]);
    const sharding = section.text(strategy)?.toLowerCase() ?? 'fsdp';
    const padded = section.flag(unpadded) === false && /^fsdp2?$/.test(sharding);
    const from = unpaddedSince(split?.key, strategy === RL.strategy ? sharding : undefined);
    forbid(section.integerOrDefault(ulysses) > 1 && padded, split?.node, draft, {
      code: 'ulysses-with-padding',
      message: say('Ulysses needs rows without padding: set `use_remove_padding`.'),
      source: `${VERL_SOURCE}${FSDP_ENGINE}`,
      ...(from ? { releases: { from } } : {}),
    });
  }
}

/**
 * The first release that refuses Ulysses over padded rows, where others that have the key do not: the engine checks since 0.8, and trainers
 * checked their own keys before (`trainer/ppo/ray_trainer.py`, FSDP 2 since 0.5; `trainer/fsdp_sft_trainer.py`).
 */
function unpaddedSince(key: string | undefined, sharding: string | undefined): string | undefined {
  if (key !== undefined && /(?:^engine|fsdp_config)\./.test(key)) return '0.8.0';
  return sharding === 'fsdp2' ? '0.5.0' : undefined;
}
