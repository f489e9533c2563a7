import { entryOf } from '../../config/lookup';
import type { ConfigDocument, ConfigNode, MapNode } from '../../config/node';
import { flagOf, integerOf, longTextOf, textOf, textsOf } from '../../config/scalar';
import type { FieldValue } from '../../run/fields';
import { AXOLOTL, fileIn } from '../../sources/repositories';
import type { DType } from '../../terms/dtypes';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import { fusesBy } from '../compile-backend';
import { leaveLoadArguments, readOverrides } from '../config-overrides';
import type { Dialect, ReadContext, Reading } from '../dialect';
import { Draft } from '../draft';
import { assumeReadByAll } from '../hf/fsdp-argument';
import { readGenerationSteps } from '../hf/generation-steps';
import { isMultimodal } from '../hf/multimodal-parts';
import { assumePadding } from '../hf/padding';
import { readSkippedModules } from '../hf/skipped-modules';
import { readTrainerSharding, type ShardingKeys, type TrainerSharding } from '../hf/trainer-sharding';
import { TRAINING_ARGUMENTS_TABLE } from '../hf/training-arguments-keys';
import { weightsDtypeOf } from '../hf/weights-dtype';
import { rejectMisfits } from '../key-check';
import { assumeLeaves } from '../leaf-classes';
import { AXOLOTL_OPTIMIZERS, TRANSFORMERS_OPTIMIZERS, transformersOptimizer } from '../optimizer-names';
import { type DefaultValue, type FoundKey, Section } from '../section';
import { stateOptimizer } from '../stated-optimizer';
import { assumeShardedInt8, readAxolotlFsdp, readAxolotlMasters } from './axolotl-fsdp';
import { AXOLOTL_KEYS, AXOLOTL_TABLE } from './axolotl-keys';
import { checkAxolotl } from './axolotl-rules';
import { axolotlSplits } from './axolotl-splits';
import { axolotlWords } from './axolotl-words';
import { readAxolotlExperts } from './balanced-experts';
import { AXOLOTL_LEAVES } from './leaf-modules';

const SOURCE = fileIn(AXOLOTL, 'src/axolotl/');

function axolotlDefault<V>(value: V, file: string): DefaultValue<V> {
  return { value, note: say('{0} default', 'Axolotl'), source: `${SOURCE}${file}` };
}

/**
 * Keys that Axolotl shares with the tools around Alpaca-LoRA, which call the model, the batch and the rank so, too; as do scripts with a
 * YAML of their own, which hand the rest on to the `TrainingArguments` of transformers by its names.
 */
const SHARED =
  /^(?:base_model|micro_batch_size|gradient_accumulation_steps|lora_\w+|learning_rate|val_set_size|train_on_inputs|group_by_length|load_in_8bit|num_epochs|warmup_steps|weight_decay|seed|bf16|fp16|output_dir|(?:save|eval|logging)_steps|wandb_\w+)$/;

/** Whether a file has none of the keys by which Axolotl is known, beside several that it does not know, or more of these than of all. */
function isOfOtherTool({ entries }: MapNode): boolean {
  const known = entries.filter(({ key }) => AXOLOTL_TABLE.find(key));
  if (entries.length > 2 * known.length) return true;
  return (
    known.every(({ key }) => SHARED.test(key) || TRAINING_ARGUMENTS_TABLE.find(key)) &&
    entries.length - known.length >= 3
  );
}

/** Axolotl's YAML. */
export const axolotl: Dialect = {
  id: 'axolotl',
  name: 'Axolotl',
  definitions: [
    'src/axolotl/utils/schemas/config.py',
    'src/axolotl/utils/config/models/input/v0_4_1/__init__.py',
  ],
  released: AXOLOTL_TABLE.released,
  optimizers: Object.keys({ ...AXOLOTL_OPTIMIZERS, ...TRANSFORMERS_OPTIMIZERS }),
  keys: AXOLOTL_KEYS,
  words: axolotlWords,
  splits: axolotlSplits,
  markers: /^[ \t]*(?:base_model|sequence_len)\s*:/m,
  detect(root: ConfigNode): number {
    if (root.kind !== 'map') return 0;
    const own = [
      'datasets',
      'pretraining_dataset',
      'sequence_len',
      'adapter',
      'rl',
      'micro_batch_size',
      'lora_r',
      'sample_packing',
    ];
    // The card of a model names its base and its data too, but its data sets by name alone.
    const card = (textsOf(entryOf(root, 'datasets')?.value) ?? []).length > 0;
    // An adapter is a name here; a block of that name is another framework's.
    const block = entryOf(root, 'adapter')?.value.kind === 'map';
    const foreign = (key: string) => (key === 'datasets' && card) || (key === 'adapter' && block);
    const found = own.filter((key) => entryOf(root, key) && !foreign(key)).length;
    // Half written, or the part that several runs share: nobody else calls the length so.
    if (!entryOf(root, 'base_model')) return found >= 4 && entryOf(root, 'sequence_len') ? 0.8 : 0;
    if (isOfOtherTool(root)) return 0;
    return found >= 2 ? 0.95 : found === 1 ? 0.6 : 0;
  },
  read(document: ConfigDocument, context: ReadContext): Reading {
    const draft = new Draft(document, context);
    const { root } = document;
    if (root?.kind !== 'map') return draft.reading();
    const section = new Section(root, draft, '', AXOLOTL_TABLE);
    readAxolotl(section, draft, context);
    rejectMisfits(root, AXOLOTL_TABLE, draft);
    draft.rules(() => checkAxolotl(root, section, draft, context.model?.config));
    return draft.reading();
  },
};

/** States what the config states. */
export function readAxolotl(section: Section, draft: Draft, context: ReadContext): void {
  draft.assume('framework', 'axolotl', say('the file is an {0} config', 'Axolotl'));
  section.take('base_model');
  readBatch(section);
  readImages(section, context);
  const sharding = readTrainerSharding(section, draft, context, SHARDING);
  const compute = readPrecision(section, draft, sharding);
  readMethod(section, draft, compute, context);
  readObjective(section, draft, context);
  readOptimizer(section);
  readActivations(section, draft);
  readKernels(section);
  readAxolotlExperts(section, OBJECTIVES[section.text('rl')?.toLowerCase() ?? ''], context);
  assumeLeaves(section, context, AXOLOTL_LEAVES);
  readOverrides(section, draft, ['overrides_of_model_config', 'model_config']);
  leaveLoadArguments(section, draft, 'overrides_of_model_kwargs', 'model_kwargs');
  readLoraKernels(section, context);
  section.take('tensor_parallel_size', 'context_parallel_size', 'dp_replicate_size', 'expert_parallel_size');
  readShardGroups(section, context);
  section.take('fp8');
  const workers = section.find('ray_num_workers');
  const each = integerOf(workers?.node);
  if (workers && each !== undefined && section.flag('use_ray') === true)
    section.state('hardware.gpus', each, workers);
  section.take('ddp_bucket_cap_mb');
  section.take('max_steps', 'auto_find_batch_size');
  const held = section.numberOrDefault('val_set_size');
  const set = section.find(['val_set_size', 'test_datasets']);
  if (set && (held > 0 || section.has('test_datasets'))) section.state('evaluation.enabled', true, set);
  if (draft.knows('evaluation.enabled'))
    section.assume('evaluation.keepsCache', axolotlDefault(false, 'loaders/utils.py'));
  section.take('eval_batch_size', 'eval_sequence_len', 'neftune_noise_alpha');
  assumeAllocator(draft, context);
}

/**
 * Its command line sets the allocator before anything else (`utils/__init__.py`, `set_pytorch_cuda_alloc_conf`). Releases before 0.16, and any
 * with torch before 2.9, let it round requests up as well.
 */
function assumeAllocator(draft: Draft, { known, versions }: ReadContext): void {
  const rounds =
    isAtLeast(versions?.axolotl?.version, '0.16') === false ||
    isAtLeast(known['version.torch'], '2.9') === false;
  const source = fileIn(AXOLOTL, 'src/axolotl/utils/__init__.py');
  const note = say('{0} sets expandable segments', 'Axolotl');
  draft.assume('allocator.expandableSegments', true, note, source);
  if (rounds) draft.assume('allocator.roundup', 16, say('{0} default', 'Axolotl'), source);
}

/** Ranks that groups of `dp_shard_size` and the other ways to split leave are replicas (`utils/distributed.py`, `_get_parallel_config_kwargs`). */
function readShardGroups(section: Section, { known }: ReadContext): void {
  const found = section.find('dp_shard_size');
  const shards = integerOf(found?.node) ?? 1;
  const gpus = known['hardware.gpus'];
  if (!found || shards <= 1 || typeof gpus !== 'number' || (section.integer('dp_replicate_size') ?? 1) > 1)
    return;
  const size = (key: string) => section.integerOrDefault(key);
  const split = size('tensor_parallel_size') * size('context_parallel_size') * size('expert_parallel_size');
  const replicas = gpus / (shards * split);
  if (Number.isInteger(replicas) && replicas > 1) section.state('parallel.replicate', replicas, found);
}

function readBatch(section: Section): void {
  section.take('micro_batch_size');
  const whole = section.find('batch_size');
  const micro = section.integerOrDefault('micro_batch_size');
  const size = integerOf(whole?.node);
  // Without accumulation steps they follow from the batch, rounded down (`utils/config/__init__.py`, `normalize_config`).
  if (whole && size !== undefined && !section.has('gradient_accumulation_steps'))
    section.state('batch.accumulation', Math.max(1, Math.floor(size / micro)), whole, `${size} / ${micro}`);
  else section.take('gradient_accumulation_steps');
  section.take('auto_find_batch_size', 'sequence_len', 'pad_to_sequence_len');
}

/** Without a processor samples are made by the tokenizer alone, whatever else the model can look at (`common/datasets.py`). */
function readImages(section: Section, context: ReadContext): void {
  if (!isMultimodal(context) || section.has('processor_type')) return;
  const note = say('without `processor_type` samples are text alone');
  section.assume('batch.images', { value: 0, note, source: `${SOURCE}common/datasets.py` });
}

const SHARDING: ShardingKeys = {
  fsdp: readAxolotlFsdp,
  get note() {
    return say('replicas unless DeepSpeed or FSDP is asked for');
  },
  source: `${SOURCE}utils/schemas/config.py`,
};

/** Weights are loaded in the type that is computed in; autocast runs over them (`utils/config/__init__.py`). */
function readPrecision(section: Section, draft: Draft, sharding: TrainerSharding): DType {
  const on = (key: string) => {
    const found = section.find(key);
    return found && flagOf(found.node) === true ? found : undefined;
  };
  const pure = on('bfloat16') ?? on('float16');
  const low = on('bf16') ?? on('fp16');
  const found = pure ?? low;
  const automatic = !found && flagOf(section.find('bf16')?.node) === undefined;
  const compute: DType = found ? (/bf/.test(found.key) ? 'bf16' : 'fp16') : automatic ? 'bf16' : 'fp32';
  const scheme: FieldValue<'precision.scheme'> =
    compute === 'fp32' || pure
      ? 'native'
      : sharding === 'zero'
        ? 'deepspeed'
        : sharding === 'fsdp'
          ? 'fsdp'
          : 'autocast';
  const source = `${SOURCE}utils/config/__init__.py`;
  if (found) {
    section.state('precision.compute', compute, found);
    section.state('precision.scheme', scheme, found);
    section.state(
      'precision.weights',
      compute,
      found,
      say('weights are loaded in the type that is computed in'),
    );
  } else {
    const note = automatic ? say('`bf16: auto`: bf16 where the GPU can') : say('no low precision');
    draft.assume('precision.compute', compute, note, source, 'bf16');
    draft.assume('precision.scheme', scheme, note, source, 'bf16');
    draft.assume('precision.weights', compute, note, source, 'bf16');
  }
  if (sharding === 'fsdp' && compute !== 'fp32') readAxolotlMasters(section, draft, compute);
  return compute;
}

function readMethod(section: Section, draft: Draft, compute: DType, context: ReadContext): void {
  const adapter = section.find('adapter');
  const name = textOf(adapter?.node)?.toLowerCase();
  if (!adapter || name === undefined) {
    const layers = section.find('lisa_n_layers');
    // Both are needed (`core/builders/causal.py`).
    if (layers && section.has('lisa_step_interval')) {
      section.state('method.kind', 'lisa', layers);
      section.take('lisa_n_layers', 'lisa_step_interval');
      return;
    }
    const only = section.find('unfrozen_parameters');
    const patterns = only && textsOf(only.node);
    if (only && patterns && patterns.length > 0) {
      section.state('method.kind', 'freeze', only);
      section.state('method.trainable', patterns, only);
    } else freezeTowers(section, context);
    section.assume('method.kind', axolotlDefault('full' as const, 'utils/schemas/peft.py'), 'adapter');
    return;
  }
  if (name !== 'lora' && name !== 'qlora') {
    section.leave(adapter, ['method.kind']);
    return;
  }
  section.state('method.kind', 'lora', adapter);
  section.take('lora_r', 'lora_alpha', 'lora_dropout');
  readTargets(section);
  freezeTowers(section, context);
  section.take('lora_modules_to_save', 'lora_target_parameters', 'peft_layers_to_transform');
  section.take('lora_rank_pattern', 'peft_use_dora');
  section.stateMeaning('lora.dtype', 'peft_autocast_adapter_dtype', ({ node }) =>
    flagOf(node) === false && compute !== 'fp32' ? compute : undefined,
  );
  section.take('llama4_linearized_experts');
  readQuantization(section, draft, name, context);
  assumeReadByAll(section, draft);
}

/** Parts of names by which `freeze_mm_modules` finds what it freezes, adapters included (`utils/freeze.py`, `_MM_MODULE_PREFIXES`). */
const TOWERS = [
  ...['vision_tower', 'vision_model', 'vision_encoder', 'embed_vision', 'multi_modal_projector', 'visual'],
  ...['audio_tower', 'audio_model', 'embed_audio'],
];

function freezeTowers(section: Section, context: ReadContext): void {
  const found = section.find('freeze_mm_modules');
  if (!found || flagOf(found.node) !== true || !isMultimodal(context)) return;
  if (section.has('adapter')) {
    section.state(
      'lora.exclude',
      TOWERS.map((name) => `*${name}*`),
      found,
    );
    return;
  }
  section.state('method.kind', 'freeze', found);
  section.state('method.trainable', [`(?!(?:.*\\.)?(?:${TOWERS.join('|')})\\.)`], found);
}

/** Named modules and, with `lora_target_linear`, every linear layer beside them. */
function readTargets(section: Section): void {
  const linear = section.find('lora_target_linear');
  const named = section.find('lora_target_modules');
  if (linear && flagOf(linear.node) === true) section.state('lora.targets', ['all-linear'], linear);
  else if (named) {
    const text = named.node.kind === 'scalar' ? (textOf(named.node) ?? longTextOf(named.node)) : undefined;
    // One text is a regular expression to PEFT, except for its word for every linear layer.
    if (text !== undefined && text !== 'all-linear') section.state('lora.targetPattern', text, named);
    else section.take('lora_target_modules');
  } else {
    // Without modules Axolotl hands PEFT an empty list, not its default: the parameters are all that is adapted.
    const parameters = section.find('lora_target_parameters');
    const alone = parameters && textsOf(parameters.node);
    if (parameters && alone && alone.length > 0) section.state('lora.targets', alone, parameters);
  }
}

/** Layers that stay in 16 bits for a type of model (`_set_quantization_config`), and those that a person names. */
function leaveUnquantized(options: Section, draft: Draft, { model }: ReadContext, eight: boolean): void {
  readSkippedModules(options, draft);
  const type = model?.config?.model_type;
  if (type !== 'falcon_h1' && !(type === 'jamba' && eight)) return;
  const note = say('Axolotl leaves some layers of this model in 16 bits');
  draft.bringByDefault('partial-quantization', note, `${SOURCE}loaders/model.py`);
}

function readQuantization(section: Section, draft: Draft, adapter: string, context: ReadContext): void {
  const on = (key: string) => {
    const found = section.find(key);
    return found && flagOf(found.node) === true ? found : undefined;
  };
  const [four, eight, gptq] = [on('load_in_4bit'), on('load_in_8bit'), on('gptq')];
  const options = section.section('bnb_config_kwargs');
  // `lora` takes weights in 8 bits, `qlora` in 4 (`_set_quantization_config`): the other switch is ignored.
  if (four && adapter !== 'lora') {
    const fp4 = options.text('bnb_4bit_quant_type') === 'fp4';
    section.state('quantization.kind', fp4 ? 'fp4' : 'nf4', four);
    options.stateFlag(
      'quantization.double',
      'bnb_4bit_use_double_quant',
      axolotlDefault(true, 'loaders/model.py'),
    );
    options.stateMeaning(
      'quantization.storage',
      'bnb_4bit_quant_storage',
      ({ node }) => {
        const type = weightsDtypeOf(textOf(node));
        return type ?? 'uint8';
      },
      axolotlDefault('bf16' as const, 'loaders/model.py'),
    );
  } else if (eight) {
    section.state('quantization.kind', 'int8', eight);
    assumeShardedInt8(section, draft);
  } else if (gptq) section.state('quantization.kind', 'gptq', gptq);
  else return;
  leaveUnquantized(options, draft, context, eight !== undefined && adapter === 'lora');
  // Stacked experts are quantized as they are loaded (`monkeypatch/moe_quant.py`); linear ones as all linear layers are.
  const experts = on('quantize_moe_experts') ?? on('llama4_linearized_experts');
  if (experts) section.state('quantization.experts', true, experts);
  if (adapter === 'lora' || adapter === 'qlora')
    draft.assume(
      'quantization.prepared',
      false,
      say('norms and embeddings are cast back to the low precision after the upcast'),
      `${SOURCE}loaders/model.py`,
    );
}

/** Products in TF32 wherever the GPU has them, unless the file states no (`schemas/config.py`, `capabilities.tf32`). */
function readProducts(section: Section): void {
  const tf32 = section.find('tf32');
  const stated = flagOf(tf32?.node);
  if (tf32 && stated !== undefined) section.state('kernels.tf32', stated, tf32);
  else
    section.assume(
      'kernels.tf32',
      {
        ...axolotlDefault(true, 'utils/schemas/config.py'),
        note: say('Axolotl takes TF32 where the GPU has it'),
      },
      'tf32',
    );
}

const OBJECTIVES: Readonly<Record<string, FieldValue<'method.objective'>>> = {
  dpo: 'dpo',
  ipo: 'ipo',
  kto: 'kto',
  bco: 'bco',
  orpo: 'orpo',
  simpo: 'simpo',
  cpo: 'cpo',
  grpo: 'grpo',
  gdpo: 'grpo',
};

/** What has a head of its own in the place of the vocabulary's, and plugins that take another loss (`integrations/kd`, `diffusion`). */
function readOtherTask(section: Section, draft: Draft): void {
  const on = (key: string) => {
    const found = section.find(key);
    return found && flagOf(found.node) === true ? found : undefined;
  };
  const [reward, steps] = [on('reward_model'), on('process_reward_model')];
  const type = section.find('model_type');
  const plugins = section.find('plugins');
  const names = textsOf(plugins?.node) ?? [];
  const other = names.find((name) => /\bintegrations\.(kd|diffusion)\./i.test(name));
  if (reward) section.state('method.objective', 'reward', reward);
  else if (steps) section.state('method.objective', 'token-classification', steps);
  else if (type && /ForSequenceClassification$/.test(textOf(type.node) ?? ''))
    section.state('method.objective', 'classification', type);
  const unknown = on('kd_trainer') ?? (other === undefined ? undefined : plugins);
  if (unknown) draft.refuseTask(unknown.node, other ?? unknown.key);
}

function readObjective(section: Section, draft: Draft, context: ReadContext): void {
  const rl = section.find('rl');
  const value = OBJECTIVES[textOf(rl?.node)?.toLowerCase() ?? ''];
  if (!rl) readOtherTask(section, draft);
  if (rl && !value) section.leave(rl, ['method.objective', 'method.referenceModel']);
  if (!rl || !value) return;
  section.state('method.objective', value, rl);
  section.take('precompute_ref_log_probs');
  const adapters = section.has('adapter');
  if (value === 'grpo') {
    readRollouts(section, rl, context);
    return;
  }
  const needed =
    ['dpo', 'ipo', 'kto', 'bco'].includes(value) &&
    !adapters &&
    section.flag('precompute_ref_log_probs') !== true;
  draft.assume(
    'method.referenceModel',
    needed,
    needed
      ? say('the trainer keeps a frozen copy of the model')
      : say('no separate reference model is needed'),
    `${SOURCE}core/builders/rl.py`,
  );
}

function readRollouts(section: Section, rl: FoundKey, context: ReadContext): void {
  const online = section.section('trl');
  const vllm = online.find('use_vllm');
  const uses = vllm && flagOf(vllm.node) === true;
  const colocated = online.text('vllm_mode') === 'colocate';
  section.state(
    'rollout.engine',
    uses ? (colocated ? 'vllm-colocate' : 'vllm-server') : 'transformers',
    vllm ?? rl,
  );
  online.take('max_completion_length');
  if (!uses) readGenerationSteps(online, context, axolotlDefault(0, 'core/trainers/grpo/trainer.py'));
  if (uses && colocated) {
    const engine = section.section('vllm');
    engine.stateNumber(
      'hardware.reservedFraction',
      'gpu_memory_utilization',
      axolotlDefault(0.9, 'utils/schemas/vllm.py'),
    );
    engine.stateInteger('rollout.tensor', 'tensor_parallel_size');
    online.take('vllm_enable_sleep_mode');
  }
  const beta = online.find('beta');
  const weight = online.number('beta') ?? 0;
  if (beta) section.state('method.referenceModel', weight > 0 && !section.has('adapter'), beta);
}

function readOptimizer(section: Section): void {
  const found = section.find('optimizer');
  const name = textOf(found?.node);
  if (found && name !== undefined) {
    stateOptimizer(section, transformersOptimizer(name, section.text('optim_args')), found);
    return;
  }
  section.assume(
    'optimizer.name',
    axolotlDefault('adamw' as const, 'utils/schemas/training.py'),
    'optimizer',
  );
  section.assume(
    'optimizer.implementation',
    axolotlDefault('fused' as const, 'utils/schemas/training.py'),
    'optimizer',
  );
}

/**
 * TRL's offloading takes the place of checkpointing where adapters are trained; of full training it moves the inputs of
 * checkpoints without reentry (0.18, `loaders/model.py`, `_apply_activation_checkpointing`). `legacy` has no streams,
 * `hidden_states` is checkpointing whose inputs are moved.
 */
function readOffloading(section: Section, found: FoundKey | undefined): void {
  const mode = textOf(found?.node)?.toLowerCase();
  if (!found || flagOf(found.node) === false || mode === 'hidden_states') return;
  if (!section.has('adapter')) {
    section.state('activations.reentrant', false, found);
    return;
  }
  const note = say('with adapters, activations are moved instead of computed again');
  section.state('activations.checkpointing', 'none', found, note);
  section.state('activations.offloadOverlap', mode !== 'legacy', found);
}

function readActivations(section: Section, draft: Draft): void {
  const found = section.find('gradient_checkpointing');
  const word = textOf(found?.node)?.toLowerCase() ?? '';
  const offloads = word === 'offload' || word === 'offload_disk' || word === 'unsloth';
  const on = found && (offloads || flagOf(found.node) === true);
  if (on) readOffloading(section, offloads ? found : section.find('activation_offloading'));
  const selective = section.find('selective_checkpointing');
  if (selective && flagOf(selective.node) !== false)
    section.state('activations.checkpointing', 'selective', selective);
  else section.take('gradient_checkpointing');
  if (found && offloads) section.state('activations.offload', true, found);
  section.take('activation_offloading');
  const reentrant = 'gradient_checkpointing_kwargs.use_reentrant';
  // Reentrant where nothing speaks against it (`normalize_config`); arguments without the word leave it to transformers.
  const plain = !section.has('rl') && !section.has('unfrozen_parameters');
  const left = section.has('gradient_checkpointing_kwargs');
  section.stateFlag(
    'activations.reentrant',
    reentrant,
    axolotlDefault(plain || left, left ? 'core/builders/base.py' : 'utils/config/__init__.py'),
  );
  const packed = section.find('sample_packing');
  const flat = section.find('batch_flattening');
  if (packed && flagOf(packed.node) === true) section.state('batch.packed', true, packed);
  else if (flat && flagOf(flat.node) === true) section.state('batch.packed', true, flat);
  else section.assume('batch.packed', axolotlDefault(false, 'utils/schemas/config.py'), 'sample_packing');
  assumePadding(section, draft, section.integerOrDefault('micro_batch_size'));
}

const LORA_KERNELS = [
  ['lora_mlp_kernel', 'mlp'],
  ['lora_qkv_kernel', 'qkv'],
  ['lora_o_kernel', 'output'],
] as const;

/**
 * Fused LoRA functions: those that are asked for, or all where nothing is stated of them (since 0.10, with dropout since 0.16;
 * `schemas/config.py`, `check_auto_enable_lora_kernels`).
 */
function readLoraKernels(section: Section, context: ReadContext): void {
  const adapter = section.text('adapter')?.toLowerCase();
  if (adapter !== 'lora' && adapter !== 'qlora') return;
  const keys = LORA_KERNELS.map(([key]) => key);
  const found = section.find([...keys, 'lora_embedding_kernel']);
  if (found) {
    const parts = LORA_KERNELS.filter(([key]) => section.flag(key) === true).map(([, part]) => part);
    section.state('kernels.lora', parts, found);
    return;
  }
  const bars =
    section.has('rl') ||
    section.flag('trust_remote_code') === true ||
    (adapter === 'lora' && section.flag('load_in_8bit') === true);
  const gpus = context.known['hardware.gpus'];
  if (bars || (typeof gpus === 'number' && gpus > 1 && context.known['parallel.data'] === 'fsdp1')) return;
  section.assume(
    'kernels.lora',
    {
      ...axolotlDefault(LORA_KERNELS.map(([, part]) => part) as readonly string[], 'utils/schemas/config.py'),
      note: say('Axolotl turns its LoRA kernels on where nothing is said of them'),
    },
    'lora_mlp_kernel',
  );
}

function readKernels(section: Section): void {
  section.take('attn_implementation');
  const plugins = section.find('plugins');
  const names = textsOf(plugins?.node) ?? [];
  const has = (part: string) => names.some((name) => name.toLowerCase().includes(part));
  const liger = section.find(['liger_rms_norm', 'liger_glu_activation', 'liger_swiglu']);
  if (plugins && has('liger') && liger && flagOf(liger.node) === true)
    section.state('kernels.liger', true, liger);
  const fused = section.find('liger_fused_linear_cross_entropy');
  const cut = section.find('cut_cross_entropy');
  const chunked = section.find('chunked_cross_entropy');
  if (fused && flagOf(fused.node) === true) section.state('loss.implementation', 'liger', fused);
  else if (plugins && has('cut_cross_entropy') && flagOf(cut?.node) !== false)
    section.state('loss.implementation', 'cut', cut ?? plugins);
  else if (chunked && flagOf(chunked.node) === true)
    section.state('loss.implementation', 'compiled-chunks', chunked);
  else if (liger && flagOf(liger.node) === true)
    // Liger's norms without its loss: the whole logits are there.
    section.assume(
      'loss.implementation',
      axolotlDefault('full-upcast' as const, 'integrations/liger/plugin.py'),
    );
  // A backend counts where it is switched on (`core/builders/base.py`, `_configure_torch_compile`).
  if (flagOf(section.find('torch_compile')?.node) === true && section.has('torch_compile_backend'))
    section.stateMeaning('kernels.compile', 'torch_compile_backend', ({ node }) => fusesBy(node));
  else section.take('torch_compile');
  readProducts(section);
}
