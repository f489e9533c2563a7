import type { MapNode } from '../../config/node';
import { flagOf, integerOf, numberOf, textOf, textsOf } from '../../config/scalar';
import { takesRouterLoss } from '../../model/router-loss';
import type { FieldValue } from '../../run/fields';
import { fileIn } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import { attentionOf } from '../hf/attention';
import { assumePadding } from '../hf/padding';
import { scriptPolicy } from '../hf/training-arguments-rules';
import { weightsDtypeOf } from '../hf/weights-dtype';
import { checkKeys } from '../key-check';
import { assumeLeaves } from '../leaf-classes';
import { forbid } from '../refusal';
import type { DefaultValue, FoundKey, Section } from '../section';
import { whatWaits } from '../waiting-models';
import { OPENRLHF_LEAVES } from './leaf-modules';
import { OPENRLHF_TABLE } from './openrlhf-keys';
import { OPENRLHF } from './openrlhf-repository';

const SOURCE = fileIn(OPENRLHF, 'openrlhf/');

/** What `openrlhf.cli.train_*` trains for; PPO over Ray, or alone as `train_ppo` did until 0.6. */
export type OpenrlhfTrainer = 'sft' | 'dpo' | 'rm' | 'kto' | 'kd' | 'ppo' | 'ppo-alone';

const OBJECTIVES: Readonly<Record<OpenrlhfTrainer, FieldValue<'method.objective'>>> = {
  sft: 'lm',
  dpo: 'dpo',
  rm: 'reward',
  kto: 'kto',
  kd: 'distillation',
  ppo: 'ppo',
  'ppo-alone': 'ppo',
};

/** Files of the trainers, where they are not called as the trainer is. */
const FILES: Partial<Record<OpenrlhfTrainer, string>> = {
  ppo: `${SOURCE}cli/train_ppo_ray.py`,
  'ppo-alone': fileIn({ ...OPENRLHF, at: 'v0.5.9' }, 'openrlhf/cli/train_ppo.py'),
};

/** Names of a flag: dotted since 2026, flat before. */
const NAMES = {
  micro: ['train.micro_batch_size', 'micro_train_batch_size'],
  global: ['train.batch_size', 'train_batch_size'],
  length: ['data.max_len', 'max_len'],
  checkpointing: [
    'model.gradient_checkpointing_enable',
    'actor.gradient_checkpointing_enable',
    'gradient_checkpointing',
  ],
  reentrant: [
    'model.gradient_checkpointing_reentrant',
    'actor.gradient_checkpointing_reentrant',
    'gradient_checkpointing_use_reentrant',
  ],
  packing: ['ds.packing_samples', 'packing_samples'],
  ring: ['ds.ring_attn_size', 'ring_attn_size'],
  tensor: ['ds.tensor_parallel_size', 'ds_tensor_parallel_size'],
  rank: ['ds.lora.rank', 'lora_rank'],
  four: ['ds.load_in_4bit', 'load_in_4bit'],
  together: ['train.colocate_all', 'colocate_all_models'],
  dynamic: ['train.dynamic_batch_enable', 'use_dynamic_batch'],
  asynchronous: ['train.async_enable', 'async_train'],
} as const;

/** States what the flags of a trainer say. */
export function readOpenrlhf(
  flags: Section,
  trainer: OpenrlhfTrainer,
  draft: Draft,
  context: ReadContext,
): void {
  const source = FILES[trainer] ?? `${SOURCE}cli/train_${trainer}.py`;
  const own = <V>(value: V, note = say('{0} default', 'OpenRLHF')): DefaultValue<V> => ({
    value,
    note,
    source,
  });
  const section = flags.withDefaultsOf(source);
  draft.assume('framework', 'openrlhf', say('the script starts {0}', 'OpenRLHF'));
  section.take('model.model_name_or_path');
  if (trainer === 'ppo') readActors(section, own);
  readBatch(section, trainer, own, draft, context);
  readZero(section, own, draft);
  assumeLeaves(section, context, OPENRLHF_LEAVES, true);
  readMethod(section, own);
  readObjective(section, trainer, own);
  if (trainer === 'ppo') {
    readRollouts(section, own);
    noteRollouts(section, draft);
  }
  if (trainer === 'ppo-alone') readAlone(section, draft, own);
  section.take(NAMES.checkpointing[0]);
  section.take(NAMES.reentrant[0]);
  readAttention(section, trainer, own);
  // `models/actor.py` asks every model for them that can be asked, whatever the loss weighs; models of rewards have no such loss.
  if (trainer !== 'rm' && takesRouterLoss(context.model?.config))
    section.assume('loss.routerLogits', {
      value: true,
      note: say('{0} default', 'OpenRLHF'),
      source: `${SOURCE}models/actor.py`,
    });
  section.take('ds.use_liger_kernel', NAMES.tensor[0], NAMES.ring[0]);
  if (section.has(NAMES.ring))
    section.assume('parallel.contextMethod', own('ring' as const, say('ring flash attention')));
}

type Own = <V>(value: V, note?: string) => DefaultValue<V>;

/** The flag that packs samples; PPO packs for a ring and for batches by tokens, too (`cli/train_ppo_ray.py`). */
function packingFlag(section: Section, trainer: OpenrlhfTrainer): FoundKey | undefined {
  const on = (names: readonly string[]): FoundKey | undefined => {
    const found = section.find(names);
    return flagOf(found?.node) === true ? found : undefined;
  };
  const stated = on(NAMES.packing);
  if (stated || trainer !== 'ppo') return stated;
  return section.integerOrDefault(NAMES.ring) > 1 ? section.find(NAMES.ring) : on(NAMES.dynamic);
}

/** Packed samples are seen by FlashAttention 2, whatever else is asked for (`cli/train_*.py`: `args.flash_attn = True`). */
function readAttention(section: Section, trainer: OpenrlhfTrainer, own: Own): void {
  const old = section.find('flash_attn');
  if (old && flagOf(old.node) === true) section.state('attention.implementation', 'flash2', old);
  const names = ['ds.attn_implementation', 'attn_implementation'];
  const dotted = section.root?.entries.some(({ key }) => key.includes('.')) ?? false;
  const asked = textOf(section.find(names)?.node) ?? (dotted ? 'flash_attention_2' : 'eager');
  const packs = packingFlag(section, trainer);
  if (packs && !asked.includes('flash_attention')) section.state('attention.implementation', 'flash2', packs);
  section.stateMeaning(
    'attention.implementation',
    names,
    ({ node }) => attentionOf(textOf(node)),
    dotted ? own('flash2' as const) : own('eager' as const, say('before 2026 eager without `--flash_attn`')),
  );
}

const LENGTHS: Partial<Record<OpenrlhfTrainer, number>> = { dpo: 512, rm: 512, kto: 512 };
const MICRO: Partial<Record<OpenrlhfTrainer, number>> = { rm: 1, ppo: 1, 'ppo-alone': 4 };

function readBatch(
  section: Section,
  trainer: OpenrlhfTrainer,
  own: Own,
  draft: Draft,
  context: ReadContext,
): void {
  section.takeElse(NAMES.micro[0], own(MICRO[trainer] ?? 8));
  section.take(NAMES.global[0]);
  const prompt = section.find('prompt_max_len');
  const answer = section.find('generate_max_len');
  if (trainer.startsWith('ppo') && (prompt || answer) && !section.has(NAMES.length)) {
    // Defaults of both in `cli/train_ppo_ray.py`, as long as it had these names.
    const [a, b] = [integerOf(prompt?.node) ?? 1024, integerOf(answer?.node) ?? 1024];
    const stated = answer ?? prompt;
    if (stated)
      section.state(
        'batch.sequence',
        a + b,
        stated,
        say('prompt of {0} and answer of {1} tokens', String(a), String(b)),
      );
  } else section.takeElse(NAMES.length[0], own(LENGTHS[trainer] ?? 2048));
  const packs = packingFlag(section, trainer);
  if (packs) section.state('batch.packed', true, packs);
  section.take(NAMES.packing[0]);
  readAccumulation(section, trainer, draft, context);
  if (!packs) assumePadding(section, draft, section.integer(NAMES.micro) ?? MICRO[trainer] ?? 8);
}

/** What one step's samples need of micro batches on each group of GPUs (`utils/deepspeed/deepspeed.py`). */
function readAccumulation(
  section: Section,
  trainer: OpenrlhfTrainer,
  draft: Draft,
  context: ReadContext,
): void {
  const gpus = context.known['hardware.gpus'];
  const micro = section.integer(NAMES.micro) ?? MICRO[trainer] ?? 8;
  const global = section.integerOrDefault(NAMES.global);
  const together = section.integerOrDefault(NAMES.ring) * section.integerOrDefault(NAMES.tensor);
  if (typeof gpus !== 'number' || gpus < together || micro < 1) return;
  const steps = Math.max(1, Math.floor((global * together) / micro / gpus));
  draft.infer(
    'batch.accumulation',
    steps,
    say('{0} samples over {1} GPUs in micro batches of {2}', String(global), String(gpus), String(micro)),
  );
}

function readZero(section: Section, own: Own, draft: Draft): void {
  const stage = ['ds.zero_stage', 'zero_stage'];
  section.take('ds.zero_stage');
  const found = section.find(stage);
  if (found) section.state('parallel.data', 'zero', found);
  else section.assume('parallel.data', own('zero' as const, say('OpenRLHF trains with DeepSpeed')));
  section.take('ds.zpg', 'ds.overlap_comm', 'ds.adam_offload');
  const typed = section.find('ds.param_dtype');
  const plain = section.find('bf16');
  const stated = weightsDtypeOf(textOf(typed?.node)) ?? (flagOf(plain?.node) === true ? 'bf16' : undefined);
  const because = typed ?? plain;
  for (const field of ['precision.weights', 'precision.compute'] as const) {
    if (because && stated) section.state(field, stated, because);
    else section.assume(field, own('bf16' as const));
  }
  draft.assume(
    'precision.scheme',
    'deepspeed',
    say('DeepSpeed keeps fp32 masters'),
    `${SOURCE}utils/deepspeed/`,
  );
  section.take('ds.grad_accum_dtype');
  section.stateMeaning(
    'optimizer.name',
    ['optim', 'actor.optim'],
    ({ node }) => (textOf(node) === 'muon' ? 'muon' : 'adamw'),
    own('adamw' as const),
  );
  draft.assume(
    'optimizer.implementation',
    'fused',
    say("DeepSpeed's fused Adam"),
    `${SOURCE}utils/deepspeed/`,
  );
}

function readMethod(section: Section, own: Own): void {
  const rank = section.find(NAMES.rank);
  const size = integerOf(rank?.node) ?? 0;
  if (rank && size > 0) {
    section.state('method.kind', 'lora', rank);
    section.take(NAMES.rank[0], 'ds.lora.alpha', 'ds.lora.dropout');
    section.stateMeaning(
      'lora.targets',
      ['ds.lora.target_modules', 'target_modules'],
      ({ node }) => textsOf(node),
      own(['all-linear']),
    );
  } else if (rank) section.state('method.kind', 'full', rank);
  else section.assume('method.kind', own('full' as const), 'ds.lora.rank');
  const four = section.find(NAMES.four);
  if (four && flagOf(four.node) === true) {
    section.state('quantization.kind', 'nf4', four);
    section.state('quantization.double', true, four, 'bnb_4bit_use_double_quant (models/actor.py)');
  }
  section.assume('quantization.prepared', own(false, say('`prepare_model_for_kbit_training` is not called')));
}

function readObjective(section: Section, trainer: OpenrlhfTrainer, own: Own): void {
  const ipo = section.find(['model.ipo_enable', 'ipo']);
  if (trainer === 'dpo' && ipo && flagOf(ipo.node) === true) section.state('method.objective', 'ipo', ipo);
  else section.assume('method.objective', own(OBJECTIVES[trainer], say('the trainer that is started')));
  if (trainer !== 'dpo' && trainer !== 'kto') return;
  const away = section.find(['ref.offload', 'ref_offload']);
  if (away && flagOf(away.node) === true)
    section.state('method.referenceModel', false, away, say('it lies in host memory'));
  else section.assume('method.referenceModel', own(true, say('a frozen copy of the model is the reference')));
}

/** Over Ray each model has GPUs of its own, those of the actor count; `--train.colocate_all` puts them on the same. */
function readActors(section: Section, own: Own): void {
  const nodes = section.find(['actor.num_nodes', 'actor_num_nodes']);
  const each = section.find(['actor.num_gpus_per_node', 'actor_num_gpus_per_node']);
  section.take('actor.num_nodes');
  const machines = integerOf(nodes?.node) ?? (nodes ? undefined : 1);
  const gpus = integerOf(each?.node) ?? (each ? undefined : 8);
  if (machines === undefined || gpus === undefined) return;
  const because = each ?? nodes;
  if (because) section.state('hardware.gpus', machines * gpus, because, say('GPUs of the actor'));
  else section.assume('hardware.gpus', own(8, say('OpenRLHF default: 8 GPUs for the actor')));
}

/** Policy, reference, reward model and, with `gae`, critic on every GPU; the policy itself generates (`cli/train_ppo.py`, `train`). */
function readAlone(section: Section, draft: Draft, own: Own): void {
  section.assume('method.referenceModel', own(true, say('a frozen copy of the model is the reference')));
  const estimator = section.textOrDefault(['algo.advantage.estimator', 'advantage_estimator']);
  section.assume('method.valueModel', own(estimator === 'gae', say('the critic lies on the same GPUs')));
  const judge = section.find(['reward.model_name_or_path', 'reward_pretrain']);
  if (judge && !section.has(['reward.remote_url', 'remote_rm_url']))
    section.state('method.frozenModels', 1, judge, say('the reward model'));
  section.take('rollout.max_new_tokens');
  section.assume('rollout.engine', own('transformers' as const));
  // `trainer/ppo_utils/experience_maker.py`: every model sees `micro_rollout_batch_size` whole samples.
  const { source } = own(true);
  if (source) draft.bringByDefault('rollout-buffers', say('what all models compute of the rollouts'), source);
}

/** Samples whose logits take no more without a graph than those of one that is trained: bf16 and fp32 against both and their gradients. */
const COVERED = 2;

/** What the policy computes of rollouts is covered by the step only where it sees few of them at once (`trainer/ppo_utils/experience_maker.py`). */
function noteRollouts(section: Section, draft: Draft): void {
  const found = section.find(['rollout.micro_batch_size', 'micro_rollout_batch_size']);
  const rollouts = integerOf(found?.node);
  const trained = section.integer(NAMES.micro) ?? 4;
  if (!found || rollouts === undefined || rollouts <= COVERED * trained) return;
  if (section.flag(NAMES.dynamic) === true) return;
  draft.bring('rollout-buffers', found.node, found.key);
}

function readRollouts(section: Section, own: Own): void {
  const together = section.find(NAMES.together);
  const all = flagOf(together?.node) === true ? together : undefined;
  const pair = section.find(['train.colocate_actor_ref', 'colocate_actor_ref']);
  const shared = all ?? (flagOf(pair?.node) === true ? pair : undefined);
  const away = section.flag(['ref.offload', 'ref_reward_offload']) === true;
  const weight = section.find(['algo.kl.init_coef', 'init_kl_coef']);
  const weighed = numberOf(weight?.node) !== 0;
  if (shared) section.state('method.referenceModel', weighed && !away, shared);
  else section.assume('method.referenceModel', own(false, say('the reference has GPUs of its own')));
  const estimator = section.textOrDefault(['algo.advantage.estimator', 'advantage_estimator']);
  const sleeps = section.flag(['ds.enable_sleep', 'deepspeed_enable_sleep']) === true;
  if (all) section.state('method.valueModel', estimator === 'gae' && !sleeps, all);
  else section.assume('method.valueModel', own(false, say('the critic has GPUs of its own')));
  const judge = section.find(['reward.model_name_or_path', 'reward_pretrain']);
  const remote = section.has([
    'reward.remote_url',
    'remote_rm_url',
    'train.agent_func_path',
    'agent_func_path',
  ]);
  if (all && judge && !remote && !away)
    section.state('method.frozenModels', 1, judge, say('the reward model'));
  section.take('rollout.max_new_tokens');
  const engines = section.find(['vllm.num_engines', 'vllm_num_engines']);
  if (!engines || (integerOf(engines.node) ?? 0) < 1) {
    section.assume('rollout.engine', own('transformers' as const));
    return;
  }
  // What generates while others train has GPUs of its own (`cli/train_ppo_ray.py`: its placement group).
  const beside = all && section.flag(NAMES.asynchronous) !== true;
  section.state('rollout.engine', beside ? 'vllm-colocate' : 'vllm-server', engines);
  if (!beside) return;
  section.take('vllm.gpu_memory_utilization', 'vllm.enable_sleep', 'vllm.tensor_parallel_size');
  // Weights stay (`utils/deepspeed/deepspeed_utils.py`, `offload_deepspeed_states`).
  const sleep = section.find(['ds.enable_sleep', 'deepspeed_enable_sleep']);
  if (sleep) section.state('rollout.offload', whatWaits(false, sleeps), sleep);
}

/** What OpenRLHF refuses (`cli/train_*.py`, `models/actor.py`). */
export function checkOpenrlhf(root: MapNode, section: Section, trainer: OpenrlhfTrainer, draft: Draft): void {
  checkKeys(root, OPENRLHF_TABLE, scriptPolicy('OpenRLHF'), draft);
  const ring = section.find(NAMES.ring);
  // PPO turns packing on instead, the others have no such check.
  const asks = trainer === 'sft' || trainer === 'dpo' || trainer === 'rm';
  forbid(
    asks && section.integerOrDefault(NAMES.ring) > 1 && section.flag(NAMES.packing) !== true,
    ring?.node,
    draft,
    {
      code: 'ring-without-packing',
      message: say('Ring attention needs packed samples: add `--ds.packing_samples`.'),
      source: `${SOURCE}cli/train_sft.py`,
    },
  );
  const four = section.find(NAMES.four);
  forbid(flagOf(four?.node) === true && section.text('ds.param_dtype') === 'fp16', four?.node, draft, {
    code: 'four-bit-fp16',
    message: say('Weights in 4 bits are multiplied in bf16 only: `--ds.param_dtype bf16`.'),
    source: `${SOURCE}models/actor.py`,
  });
}
