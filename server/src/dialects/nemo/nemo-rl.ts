import { baseConfigs } from '../../config/defaults-list';
import { interpolated } from '../../config/interpolation';
import { mapAt, nodeAt } from '../../config/lookup';
import type { ConfigDocument, ConfigNode, MapNode } from '../../config/node';
import { flagOf, integerOf, isBlank, plainOf, textOf } from '../../config/scalar';
import { takesRouterLoss } from '../../model/router-loss';
import type { FieldValue } from '../../run/fields';
import { fileIn, NEMO_RL } from '../../sources/repositories';
import { say } from '../../wording/say';
import { readOverrides } from '../config-overrides';
import type { Dialect, ReadContext, Reading } from '../dialect';
import { Draft } from '../draft';
import { scriptPolicy } from '../hf/training-arguments-rules';
import { weightsDtypeOf } from '../hf/weights-dtype';
import { checkKeys, type KeyPolicy, rejectMisfits } from '../key-check';
import { readAllocatorEnvironment } from '../launch/allocator-environment';
import { withPublishedNames } from '../megatron/megatron-linears';
import {
  megatron,
  readAttention,
  readFp8,
  readModules,
  readOptimizerArguments,
  readParallelism,
  readRecomputation,
  readStates,
} from '../megatron/parallel-arguments';
import { SpelledSection, type Spelling } from '../megatron/spelled-section';
import { readUnmodelled } from '../megatron/unmodelled-arguments';
import { classOptimizer } from '../optimizer-names';
import { forbid } from '../refusal';
import { type DefaultValue, Section } from '../section';
import { stateOptimizer } from '../stated-optimizer';
import { assumeTensorPlan, excludeFrozen, readFreezes, readTargets } from './automodel';
import { RL_BASES, RL_BASES_SOURCE, type RlBase } from './nemo-rl-bases';
import { NEMO_RL_KEYS, NEMO_RL_TABLE } from './nemo-rl-keys';
import { readSteps } from './nemo-rl-steps';
import { nemoRlWords } from './nemo-rl-words';

const SOURCE = fileIn(NEMO_RL, 'nemo_rl/');
/** OmegaConf takes null for any value: it is what is not given. */
const policy: KeyPolicy = { ...scriptPolicy('NeMo-RL'), accepts: isBlank };
const OBJECTIVES: Readonly<Record<string, FieldValue<'method.objective'>>> = {
  grpo: 'grpo',
  dpo: 'dpo',
  sft: 'lm',
  rm: 'reward',
  distillation: 'distillation',
  ppo: 'ppo',
};

function own<V>(value: V, note = 'NeMo-RL', file = 'models/policy/lm_policy.py'): DefaultValue<V> {
  return { value, note, source: `${SOURCE}${file}` };
}

/** How `policy.megatron_cfg` spells what Megatron calls so. */
const MEGATRON: Spelling = {
  optimizer: ['optimizer.optimizer'],
  use_distributed_optimizer: ['optimizer.use_distributed_optimizer'],
  use_precision_aware_optimizer: ['optimizer.use_precision_aware_optimizer'],
  main_grads_dtype: ['optimizer.main_grads_dtype'],
  main_params_dtype: ['optimizer.main_params_dtype'],
  exp_avg_dtype: ['optimizer.exp_avg_dtype'],
  exp_avg_sq_dtype: ['optimizer.exp_avg_sq_dtype'],
  optimizer_cpu_offload: ['optimizer.optimizer_cpu_offload'],
  optimizer_offload_fraction: ['optimizer.optimizer_offload_fraction'],
};

/** NeMo-RL: SFT, DPO, GRPO and distillation of a `policy` on a `cluster`. */
export const nemoRl: Dialect = {
  id: 'nemo-rl',
  name: 'NeMo-RL',
  keys: NEMO_RL_KEYS,
  released: NEMO_RL_TABLE.released,
  words: nemoRlWords,
  // An anchor may stand before the key.
  markers: /^(?:&\S+[ \t]+)?policy\s*:/m,
  detect(root: ConfigNode): number {
    const has = (path: string) => nodeAt(root, path) !== undefined;
    if (root.kind !== 'map' || mapAt(root, 'policy') === undefined) return 0;
    if (has('policy.dtensor_cfg') || has('policy.megatron_cfg')) return 1;
    const named = has('policy.model_name') || has('policy.max_total_sequence_length');
    const batch = has('policy.train_micro_batch_size') || has('policy.train_global_batch_size');
    const method = Object.keys(OBJECTIVES).some(has);
    const cluster = has('cluster.gpus_per_node') || has('cluster.num_nodes');
    if ((named || batch) && (cluster || method)) return 1;
    return has('defaults') && cluster && (method || has('checkpointing') || has('logger')) ? 0.8 : 0;
  },
  read(document: ConfigDocument, context: ReadContext): Reading {
    const draft = new Draft(document, context);
    const { root } = document;
    if (root?.kind !== 'map') return draft.reading();
    const filled = interpolated(root);
    if (filled?.kind !== 'map') return draft.reading();
    const section = new Section(filled, draft, '', NEMO_RL_TABLE);
    const base = baseOf(document);
    linkBases(document, draft);
    draft.assume('framework', 'nemo-rl', say('the file is a {0} config', 'NeMo-RL'));
    section.take('policy.model_name');
    readOverrides(section, draft, ['policy.hf_config_overrides']);
    readRouters(section, context);
    readMethod(section, filled, context);
    readBatch(section, context);
    readGeneration(section);
    readCluster(section, draft);
    const megatron = usesMegatron(section, context, base);
    if (megatron) readMegatronEngine(section, draft);
    else readDtensor(section, base === undefined, draft, context);
    const engine = megatron ? 'policy.megatron_cfg' : 'policy.dtensor_cfg';
    readAllocatorEnvironment(section.section(`${engine}.env_vars`), draft);
    if (base) assumeBase(section, base, context);
    rejectMisfits(filled, NEMO_RL_TABLE, draft);
    draft.rules(() => check(filled, section, context, draft));
    return draft.reading();
  },
};

/** NeMo-RL's own config that this one starts from. */
function baseOf(document: ConfigDocument): (RlBase & { readonly name: string }) | undefined {
  for (const { path } of baseConfigs(document)) {
    const name = path.split('/').at(-1) ?? path;
    const base = RL_BASES[name];
    if (base) return { ...base, name };
  }
  return undefined;
}

/** Configs that this one starts from; those of NeMo-RL itself need not be here. */
function linkBases(document: ConfigDocument, draft: Draft): void {
  for (const { path, range } of baseConfigs(document)) {
    const optional = Object.hasOwn(RL_BASES, path.split('/').at(-1) ?? path);
    draft.links.push({ path, range, key: 'defaults', role: 'include', ...(optional ? { optional } : {}) });
  }
}

/** What that config states counts least: where it is at hand, it speaks for itself. */
function assumeBase(section: Section, base: RlBase & { readonly name: string }, context: ReadContext): void {
  const byDefault = <V>(value: V): DefaultValue<V> => ({
    value,
    note: say('examples/configs/{0} of NeMo-RL', base.name),
    source: RL_BASES_SOURCE,
  });
  const sequence = context.known['batch.sequence'];
  section.assume('model.id', byDefault(base.model));
  section.assume('batch.micro', byDefault(base.micro));
  section.assume('batch.global', byDefault(base.global));
  if (typeof sequence !== 'number') section.assume('batch.sequence', byDefault(base.sequence));
  section.assume('batch.packed', byDefault(base.packed));
  section.assume('hardware.gpus', byDefault(base.gpusPerNode));
}

/** Which of the two backends trains: as the run has it so far, else as this file does. */
function usesMegatron(section: Section, context: ReadContext, base: RlBase | undefined): boolean {
  const known = context.known['model.code'];
  if (known === 'megatron') return true;
  const stated = section.flag('policy.megatron_cfg.enabled');
  if (stated !== undefined) return stated;
  const dtensor = section.flag('policy.dtensor_cfg.enabled');
  if (dtensor === true) return false;
  if (known !== undefined) return false;
  if (dtensor === false) return section.has('policy.megatron_cfg');
  return base?.megatron ?? (section.has('policy.megatron_cfg') && !section.has('policy.dtensor_cfg'));
}

/** The loss is of the logits alone: what a model that returns those of its routers keeps of them is not known. */
function readRouters(section: Section, { model }: ReadContext): void {
  const asked = section.find('policy.hf_config_overrides.output_router_logits');
  if (asked && flagOf(asked.node) !== false && takesRouterLoss(model?.config))
    section.leave(asked, ['loss.routerLogits']);
}

function readMethod(section: Section, root: MapNode, context: ReadContext): void {
  const found = root.entries.find(({ key, value }) => value.kind === 'map' && Object.hasOwn(OBJECTIVES, key));
  const objective = found && OBJECTIVES[found.key];
  if (!found || !objective) return;
  const because = { key: found.key, node: found.value };
  section.state('method.objective', objective, because);
  // The reference's weights lie in host memory and are swapped in (`reference_model_state_dict`).
  section.state('method.referenceModel', false, because, say('the reference waits in host memory'));
  readSteps(section, found.key, context);
  section.take(`${found.key}.val_period`);
}

/** A packed or dynamic micro batch holds as many tokens as it may, in one row. */
function readBatch(section: Section, context: ReadContext): void {
  const packing = section.find('policy.sequence_packing.enabled');
  const packed = flagOf(packing?.node);
  const tokens = section.find('policy.sequence_packing.train_mb_tokens');
  const row = integerOf(tokens?.node);
  const applies = packed ?? context.known['batch.packed'] === true;
  if (packing && packed !== undefined) section.state('batch.packed', packed, packing);
  const length = section.integer('policy.max_total_sequence_length');
  const micro = section.integer('policy.train_micro_batch_size');
  if (applies && tokens && row !== undefined && row !== (length ?? 0) * (micro ?? 0)) {
    section.state('batch.micro', 1, tokens, say('one packed row'));
    section.state('batch.sequence', row, tokens, say('tokens of a packed row'));
  }
  section.take('policy.train_micro_batch_size', 'policy.train_global_batch_size');
  section.take('policy.max_total_sequence_length');
}

function readGeneration(section: Section): void {
  const found = section.find('policy.generation.backend');
  const shared = section.find('policy.generation.colocated.enabled');
  const apart = flagOf(shared?.node) === false;
  if (found) {
    const engine = textOf(found.node) === 'hf' ? 'transformers' : apart ? 'vllm-server' : 'vllm-colocate';
    section.state('rollout.engine', engine, found);
    if (engine === 'vllm-colocate') {
      section.state(
        'rollout.sleep',
        true,
        found,
        say('generation gives its memory back while the policy trains'),
      );
      // `offload_after_refit` of `models/policy/workers/dtensor_policy_worker.py` and its siblings.
      section.state(
        'rollout.offload',
        'all',
        found,
        say('the policy goes to host memory while it generates'),
      );
    }
  }
  section.take('policy.generation.max_new_tokens');
  const engine = textOf(found?.node);
  if (engine === undefined || engine === 'vllm')
    section.take('policy.generation.vllm_cfg.tensor_parallel_size');
}

/** GPUs that train: those of generation, judges and teachers on GPUs of their own are not among them. */
function readCluster(section: Section, draft: Draft): void {
  const nodes = section.find('cluster.num_nodes');
  const each = section.find('cluster.gpus_per_node');
  const machines = integerOf(nodes?.node) ?? 1;
  const gpus = integerOf(each?.node);
  const apart = section.flag('policy.generation.colocated.enabled') === false;
  const generating = apart ? section.integer('policy.generation.colocated.resources.num_nodes') : undefined;
  const judging = section.integer('env.nemo_gym.num_gpu_nodes') ?? 0;
  const teaching = teacherNodes(section);
  const taken = (generating ?? 0) + judging + teaching;
  const takenGpus = apart
    ? section.integer('policy.generation.colocated.resources.gpus_per_node')
    : undefined;
  const training = machines > taken ? machines - taken : machines;
  // Distillation takes the judges' machines off by itself (`algorithms/distillation.py`). GRPO's launchers do it and give
  // all these numbers anew, so those of the file need not be the run's.
  const launched = teaching > 0 || (judging > 0 && !section.has('distillation'));
  if (nodes && !launched) section.state('hardware.nodes', training, nodes);
  if (!each || gpus === undefined) return;
  const count =
    machines === 1 && takenGpus !== undefined && takenGpus < gpus ? gpus - takenGpus : gpus * training;
  const note = say('GPUs that train, those of generation left out');
  if (launched) {
    draft.infer('hardware.nodes', training, note, nodes?.node, nodes?.key);
    draft.infer('hardware.gpus', count, note, each.node, each.key);
  } else section.state('hardware.gpus', count, each, apart ? note : undefined);
}

/** Machines of teachers that have GPUs of their own, one set for each model (`models/policy/teacher_worker_group.py`). */
function teacherNodes(section: Section): number {
  const distillation = section.section('on_policy_distillation');
  const on = distillation.flag('enabled') === true;
  if (!on || distillation.flag('non_colocated_teachers.enabled') !== true) return 0;
  const teachers = distillation.find('teacher_model_by_agent_name')?.node;
  const named = teachers?.kind === 'map' ? teachers.entries : [];
  const once = distillation.flag('deduplicate_shared_teacher_checkpoints') !== false;
  const models = new Set<string>();
  let nodes = 0;
  for (const { key, value } of named) {
    const model = textOf(value) ?? key;
    if (once && models.has(model)) continue;
    models.add(model);
    const settings = distillation.section('non_colocated_teachers');
    nodes +=
      settings.section('teacher_overrides').section(key).integer('num_nodes') ??
      settings.integer('default_teacher_cfg.num_nodes') ??
      1;
  }
  return nodes;
}

/** FSDP 2 over fp32 weights, computed in `precision` and reduced in fp32 (`models/automodel/setup.py`). */
function readDtensor(section: Section, assumes: boolean, draft: Draft, context: ReadContext): void {
  const dtensor = section.section('policy.dtensor_cfg');
  const engine = section.find([
    'policy.dtensor_cfg.enabled',
    'policy.fsdp_offload_enabled',
    'policy.dtensor_cfg',
    'policy.precision',
  ]);
  const setup = 'models/automodel/setup.py';
  // Before DTensor there was FSDP 1.
  const first = section.flag('policy.dtensor_cfg.enabled') === false;
  if (engine) section.state('parallel.data', first ? 'fsdp1' : 'fsdp2', engine);
  else section.assume('parallel.data', own('fsdp2' as const, say('NeMo-RL shards by FSDP 2'), setup));
  const found = section.find('policy.precision');
  const type = weightsDtypeOf(textOf(found?.node));
  if (found && type) {
    section.state('precision.compute', type, found);
    section.state('precision.scheme', type === 'fp32' ? 'native' : 'fsdp', found);
  } else {
    section.assume(
      'precision.compute',
      own('bf16' as const, say("NeMo-RL's base configs compute in bf16"), setup),
    );
    section.assume(
      'precision.scheme',
      own('fsdp' as const, say("NeMo-RL's base configs compute in bf16"), setup),
    );
  }
  section.assume('precision.weights', own('fp32' as const, say('weights are always loaded in fp32'), setup));
  section.assume('precision.masterWeights', own('fp32' as const, say('shards are fp32'), setup));
  section.assume('precision.reduce', own('fp32' as const, say('gradients are reduced in fp32'), setup));
  section.assume('fsdp.syncEachBatch', own(true, say('every micro batch reduces its gradients'), setup));
  dtensor.take('tensor_parallel_size', 'context_parallel_size', 'expert_parallel_size');
  dtensor.take('dp_replicate_size', 'sequence_parallel');
  assumeTensorPlan(dtensor, dtensor.integer('tensor_parallel_size') ?? 1);
  const recompute =
    dtensor.find('activation_checkpointing') ?? section.find('policy.activation_checkpointing_enabled');
  const on = flagOf(recompute?.node);
  if (recompute && on !== undefined)
    dtensor.state('activations.checkpointing', on ? 'full' : 'none', recompute);
  else if (assumes)
    dtensor.assume('activations.checkpointing', own('none' as const, say('off unless set'), setup));
  section.assume('activations.reentrant', own(false, say('without reentry'), setup));
  const offload = dtensor.find('cpu_offload') ?? section.find('policy.fsdp_offload_enabled');
  if (offload && flagOf(offload.node) !== undefined) {
    const place = flagOf(offload.node) ? 'cpu' : 'none';
    dtensor.state('offload.parameters', place, offload);
    dtensor.state('offload.optimizer', place, offload);
  }
  const lora = dtensor.find('lora_cfg.enabled');
  const adapted = lora !== undefined && flagOf(lora.node) === true;
  readLora(dtensor, 'lora_cfg', adapted);
  // Passed on to Automodel, which freezes (`_transformers/auto_model.py`).
  const passed = dtensor.section('automodel_kwargs');
  passed.take('attn_implementation', 'use_liger_kernel');
  if (adapted) excludeFrozen(passed, context);
  else readFreezes(passed, draft, context);
  readClassOptimizer(section, draft);
  const parts = (section.integer('policy.dtensor_cfg.tensor_parallel_size') ?? 1) > 1;
  section.assume(
    'loss.implementation',
    parts
      ? own(
          'vocab-parallel' as const,
          say('log-probabilities over the ranks that split the vocabulary'),
          'distributed/model_utils.py',
        )
      : own(
          'log-probabilities' as const,
          say('log-probabilities out of all logits, in fp32'),
          'models/automodel/train.py',
        ),
  );
}

/**
 * The optimizer by its class. Transformer Engine's Adam has states of other types, which each step raises to fp32, and a master of
 * each weight, also of one that is fp32 (`optimizers/fused_adam.py`, `initialize_state`): four bytes more, as states of its own.
 */
function readClassOptimizer(section: Section, draft: Draft): void {
  const name = section.find('policy.optimizer.name');
  const kwargs = section.find('policy.optimizer.kwargs')?.node;
  const options = kwargs?.kind === 'map' ? (plainOf(kwargs) as Readonly<Record<string, unknown>>) : {};
  const values = classOptimizer(textOf(name?.node) ?? '', options);
  if (name) stateOptimizer(section, values, name);
  if (!/^transformer_engine\..*FusedAdam$/.test(textOf(name?.node) ?? '')) return;
  const settings = section.section('policy.optimizer.kwargs');
  const typeOf = (key: string) => weightsDtypeOf(settings.text(key)?.replace(/^torch\./, ''));
  const first = settings.find(['exp_avg_dtype', 'exp_avg_sq_dtype']);
  const type = typeOf('exp_avg_dtype') ?? 'fp32';
  if (first && type === (typeOf('exp_avg_sq_dtype') ?? 'fp32')) {
    settings.state('precision.optimizerStates', type, first);
    if (type !== 'fp32') draft.bring('raised-states', first.node, first.key);
  } else if (first) settings.leave(first, ['precision.optimizerStates']);
  const masters = settings.find('master_weights');
  if (masters && flagOf(masters.node) === true) {
    const note = say('a master of each weight beside it');
    settings.state('optimizer.extraStates', type === 'fp32' ? 1 : 2, masters, note);
  }
}

function readLora(block: Section, key: string, on: boolean): void {
  const found = block.find([`${key}.enabled`, `${key}.dim`]);
  if (!on || !found) return;
  block.state('method.kind', 'lora', found);
  block.take(`${key}.dim`, `${key}.alpha`, `${key}.dropout`);
  // Automodel's own matcher gets these words (`models/automodel/setup.py`); a recipe that has none leaves them to a file that is not here.
  const words = ['match_all_linear', 'target_modules', 'exclude_modules'].map((word) => `${key}.${word}`);
  if (key === 'lora_cfg') {
    if (block.has(words)) readTargets(block.section(key));
    return;
  }
  const all = block.find(`${key}.match_all_linear`);
  const targets = block.texts(`${key}.target_modules`) ?? [];
  if (all && flagOf(all.node) === true) block.state('lora.targets', ['all-linear'], all);
  else if (targets.length > 0)
    block.stateMeaning('lora.targets', `${key}.target_modules`, () => withPublishedNames(targets));
}

/** Megatron-Core: low-precision weights, distributed optimizer. */
function readMegatronEngine(section: Section, draft: Draft): void {
  const block = section.find('policy.megatron_cfg');
  const rows = { table: NEMO_RL_TABLE, below: 'policy.megatron_cfg.', top: section };
  const args = new SpelledSection(block?.node, draft, MEGATRON, 'policy.megatron_cfg', undefined, rows);
  const engine = args.find('enabled');
  const setup = 'models/megatron/setup.py';
  if (engine && flagOf(engine.node) === true) args.state('model.code', 'megatron', engine);
  else section.assume('model.code', megatron('megatron' as const, '', say('NeMo-RL runs Megatron-Core')));
  if (engine) args.state('parallel.data', 'ddp', engine, say('replicas, whose states are sharded'));
  else section.assume('parallel.data', own('ddp' as const, say('replicas, whose states are sharded'), setup));
  const found = section.find('policy.precision');
  const type = weightsDtypeOf(textOf(found?.node));
  if (found && type) {
    for (const field of ['precision.weights', 'precision.compute'] as const)
      section.state(field, type, found);
    section.state('precision.scheme', 'megatron', found);
  } else {
    for (const field of ['precision.weights', 'precision.compute'] as const)
      section.assume(field, own('bf16' as const, say("NeMo-RL's base configs compute in bf16"), setup));
    section.assume('precision.scheme', own('megatron' as const, say('fp32 masters'), setup));
  }
  const wide = args.find('distributed_data_parallel_config.grad_reduce_in_fp32');
  const reduce = flagOf(wide?.node);
  if (wide && reduce !== undefined)
    args.state('precision.gradientAccumulation', reduce || type === 'fp32' ? 'fp32' : (type ?? 'bf16'), wide);
  readParallelism(args);
  const on = args.find('activation_checkpointing');
  if (on && flagOf(on.node) === true) {
    if (args.text('recompute_granularity') === 'selective') readRecomputation(args);
    else args.state('activations.checkpointing', 'full', on);
  } else if (on) args.state('activations.checkpointing', 'none', on);
  const bases = say("NeMo-RL's base configs have it so");
  if (!args.has('use_distributed_optimizer'))
    section.assume('parallel.distributedOptimizer', own(true, bases, setup));
  if (type === undefined || type === 'bf16')
    section.assume('precision.gradientAccumulation', own('bf16' as const, bases, setup));
  readStates(args);
  readOptimizerArguments(args);
  readAttention(args);
  readModules(args, { transformerEngine: true, grouped: true });
  readUnmodelled(args);
  const fp8 = args.find('fp8_cfg');
  if (fp8 && args.flag('fp8_cfg.enabled') === true)
    readFp8(new Section(fp8.node, draft, 'policy.megatron_cfg.fp8_cfg'));
  readLora(args, 'peft', args.flag('peft.enabled') === true);
}

function check(root: MapNode, section: Section, context: ReadContext, draft: Draft): void {
  checkKeys(root, NEMO_RL_TABLE, policy, draft);
  const source = `${SOURCE}models/policy/lm_policy.py`;
  const on = (key: string) => section.flag(key) === true;
  const node = (key: string) => section.find(key)?.node;
  const both = on('policy.dynamic_batching.enabled') && on('policy.sequence_packing.enabled');
  forbid(both, node('policy.dynamic_batching.enabled'), draft, {
    code: 'packing-with-dynamic-batches',
    message: say('Dynamic batching and sequence packing exclude each other.'),
    source,
  });
  const stages = section.integerOrDefault('policy.megatron_cfg.pipeline_model_parallel_size');
  forbid(
    on('policy.megatron_cfg.enabled') && on('policy.dynamic_batching.enabled') && stages > 1,
    node('policy.dynamic_batching.enabled'),
    draft,
    {
      code: 'dynamic-batches-with-stages',
      message: say('Dynamic batching works with one pipeline stage only.'),
      source,
    },
  );
  const engines = on('policy.megatron_cfg.enabled') && on('policy.dtensor_cfg.enabled');
  const second = node('policy.megatron_cfg.enabled');
  // Who starts the file may switch one off: scripts that choose the backend do.
  if (engines && second)
    draft.report(
      'two-backends',
      'warning',
      say('`megatron_cfg` and `dtensor_cfg` are both on: one backend trains.'),
      second.range,
      { source },
    );
  const old = section.flag('policy.dtensor_cfg._v2') === false;
  forbid(
    old && on('policy.dtensor_cfg.lora_cfg.enabled'),
    node('policy.dtensor_cfg.lora_cfg.enabled'),
    draft,
    {
      code: 'lora-in-first-worker',
      message: say('LoRA needs `_v2: true`.'),
      source,
    },
  );
  forbid(
    on('policy.dtensor_cfg.lora_cfg.enabled') &&
      on('policy.dtensor_cfg.lora_cfg.use_triton') &&
      (section.integer('policy.dtensor_cfg.tensor_parallel_size') ?? 1) > 1,
    node('policy.dtensor_cfg.lora_cfg.use_triton'),
    draft,
    {
      code: 'lora-kernels-with-tensor-parallel',
      message: say(
        'The Triton kernels of LoRA do not work with tensor parallelism: set `use_triton: false`.',
      ),
      source: `${SOURCE}models/automodel/setup.py`,
    },
  );
  const plain = context.known['batch.packed'] !== true && !on('policy.dynamic_batching.enabled');
  if (plain) checkGlobalBatch(section, context, draft, source);
}

/** The global batch is whole micro batches of every replica. */
function checkGlobalBatch(section: Section, context: ReadContext, draft: Draft, source: string): void {
  const gpus = context.known['hardware.gpus'];
  const global = section.integer('policy.train_global_batch_size');
  const micro = section.integer('policy.train_micro_batch_size');
  const tensor = context.known['parallel.tensor'];
  const split =
    (typeof tensor === 'number' ? tensor : 1) *
    Number(context.known['parallel.pipeline'] ?? 1) *
    Number(context.known['parallel.context'] ?? 1);
  const copies = typeof gpus === 'number' ? gpus / split : Number.NaN;
  forbid(
    global !== undefined &&
      micro !== undefined &&
      Number.isInteger(copies) &&
      global % (micro * copies) !== 0,
    section.find('policy.train_global_batch_size')?.node,
    draft,
    {
      code: 'batch-not-divisible',
      message: say(
        'A global batch of {0} is not a multiple of {1} samples × {2} replicas.',
        String(global),
        String(micro),
        copies,
      ),
      source,
    },
  );
}
