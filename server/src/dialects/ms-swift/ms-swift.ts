import { entryOf, mapAt } from '../../config/lookup';
import type { ConfigDocument, ConfigNode, MapNode } from '../../config/node';
import { flagOf, integerOf, isBlank, numberOf, plainOf, textOf, textsOf } from '../../config/scalar';
import { parseRequirement } from '../../environment/requirement';
import type { FieldValue } from '../../run/fields';
import { fileIn, MS_SWIFT } from '../../sources/repositories';
import { isFsdp } from '../../terms/data-parallel';
import type { DType } from '../../terms/dtypes';
import { say } from '../../wording/say';
import type { Dialect, ReadContext, Reading } from '../dialect';
import { Draft } from '../draft';
import { divergenceOf, stateFrozenModels, stateTeacher } from '../frozen-models';
import { evaluationAsked } from '../hf/evaluation-strategy';
import { fsdpOptions, leaveUnknownOptions } from '../hf/fsdp-argument';
import { readGenerationSteps } from '../hf/generation-steps';
import { trainerWords } from '../hf/hf-words';
import { isMultimodal, TOWER_MODULES, trainedParts } from '../hf/multimodal-parts';
import { assumePadding } from '../hf/padding';
import { readTrainingLoop, type TrainerDefaults } from '../hf/training-arguments';
import { inferUnnamed, weightsDtypeOf } from '../hf/weights-dtype';
import { rejectMisfits } from '../key-check';
import { readAllocatorEnvironment } from '../launch/allocator-environment';
import { assumeLeaves } from '../leaf-classes';
import { assumeLength } from '../length-cap';
import { withPublishedNames } from '../megatron/megatron-linears';
import { type DefaultValue, type FoundKey, Section } from '../section';
import { whatWaits } from '../waiting-models';
import { readSwiftExperts } from './balanced-experts';
import { trainedWeights } from './frozen-weights';
import { SWIFT_LEAVES } from './leaf-modules';
import { MS_SWIFT_KEYS, MS_SWIFT_TABLE, TUNERS } from './ms-swift-keys';
import { readSwiftMegatron } from './ms-swift-megatron';
import { checkSwift } from './ms-swift-rules';
import { packagedZero, statePackagedFsdp, statePackagedZero } from './packaged-configs';
import type { SwiftCommand } from './swift-command';

const SOURCE = fileIn(MS_SWIFT, 'swift/');

/** DefaultValue of a file: ms-swift's own default, and where it stands. */
function swift<V>(value: V, file = 'arguments/sft_args.py'): DefaultValue<V> {
  return { value, note: say('{0} default', 'ms-swift'), source: `${SOURCE}${file}` };
}

/** Names of `tuner_type` from ms-swift 4 back to 2. */
const TUNER_TYPE = ['tuner_type', 'train_type', 'sft_type'];
const MICRO = ['per_device_train_batch_size', 'batch_size'];

/** Arguments of ms-swift as YAML or JSON: the first argument of `swift sft`. */
export const msSwift: Dialect = {
  id: 'ms-swift',
  name: 'ms-swift',
  released: MS_SWIFT_TABLE.released,
  words: trainerWords,
  keys: MS_SWIFT_KEYS,
  markers:
    /\b(?:tuner_type|train_type|sft_type|rlhf_type|split_dataset_ratio|dataset_num_proc|model_author)\b/,
  detect(root: ConfigNode): number {
    if (root.kind !== 'map' || entryOf(root, 'stage') || entryOf(root, 'base_model')) return 0;
    const has = (key: string) => entryOf(root, key) !== undefined;
    if (!has('model') && !has('model_id_or_path') && !has('adapters')) return 0;
    const model = entryOf(root, 'model')?.value;
    if (model && model.kind !== 'scalar') return 0;
    const kind = [...TUNER_TYPE, 'rlhf_type'].some(has);
    const train = mapAt(root, 'train');
    const nested = train !== undefined && TUNER_TYPE.some((key) => entryOf(train, key));
    const own = [
      'dataset',
      'split_dataset_ratio',
      'max_length',
      'torch_dtype',
      'attn_impl',
      'per_device_train_batch_size',
      'micro_batch_size',
      'lora_rank',
      'target_modules',
      'model_author',
      'dataset_num_proc',
      'lr_warmup_fraction',
    ].filter(has).length;
    return (kind || nested) && own >= 2 ? 0.95 : own >= 4 && has('dataset') ? 0.7 : 0;
  },
  releases({ root }) {
    const stated = entryOf(root, 'swift_version')?.value;
    const version = stated && textOf(stated);
    const release = version ? parseRequirement(`ms-swift==${version}`, stated.range) : undefined;
    return release ? [release] : [];
  },
  read(document: ConfigDocument, context: ReadContext): Reading {
    const draft = new Draft(document, context);
    const { root } = document;
    if (root?.kind !== 'map') return draft.reading();
    draft.assume('framework', 'ms-swift', say('the file holds arguments of ms-swift'));
    const flat = withWorker(root);
    const section = new Section(flat, draft, '', MS_SWIFT_TABLE);
    const command = { megatron: isMegatron(flat) };
    readEnvironment(section.section('ENV'), draft);
    readRay(new Section(root, draft));
    readSwift(section, command, draft, context);
    rejectMisfits(flat, MS_SWIFT_TABLE, draft);
    // What a run that started wrote down is no text of a person's: nothing in it is to be mended.
    if (entryOf(root, 'swift_version')) readRecord(section);
    else draft.rules(() => checkSwift(flat, section, command, context, draft));
    return draft.reading();
  },
};

/**
 * `args.json` in the folder of a run: its processes are its GPUs where there are several. A single one may have spread the model
 * over all cards that it saw (`get_default_device_map`), which the record does not hold.
 */
function readRecord(section: Section): void {
  const processes = section.integer('global_world_size');
  if (processes === undefined || processes < 2) return;
  section.take('global_world_size');
  const local = section.integer('local_world_size');
  const found = section.find('local_world_size');
  if (found && local !== undefined && local > 0 && processes % local === 0)
    section.state('hardware.nodes', processes / local, found);
}

/** Over Ray, `train` holds what only the training workers get. */
function withWorker(root: MapNode): MapNode {
  const train = mapAt(root, 'train');
  if (!train) return root;
  const own = new Set(train.entries.map(({ key }) => key));
  return { ...root, entries: [...root.entries.filter(({ key }) => !own.has(key)), ...train.entries] };
}

/** Keys that only `megatron sft` has. */
function isMegatron(root: MapNode): boolean {
  return [
    'micro_batch_size',
    'global_batch_size',
    'tensor_model_parallel_size',
    'recompute_granularity',
  ].some((key) => entryOf(root, key));
}

function readEnvironment(environment: Section, draft: Draft): void {
  readAllocatorEnvironment(environment, draft);
  environment.stateInteger('hardware.gpus', 'NPROC_PER_NODE');
  environment.stateInteger('batch.imagePixels', 'MAX_PIXELS');
}

/** GPUs of the workers: one group for all, or a number for those that train. */
function readRay(section: Section): void {
  section.stateInteger('hardware.gpus', ['train.gpus', 'device_groups.nproc_per_node']);
}

/** States what the arguments say, from a file or from a command line. */
export function readSwift(section: Section, command: SwiftCommand, draft: Draft, context: ReadContext): void {
  if (!section.take('model')) section.stateText('model.id', 'model_name_or_path');
  readMethod(section, command, draft, context);
  const objective = readObjective(section, command, draft, context);
  if (command.megatron) readSwiftMegatron(section, draft, context);
  else readTrainer(section, objective, draft, context);
  readQuantization(section);
  readLength(section, objective, draft, context);
  section.take('max_pixels');
  readEvaluation(section);
}

type Objective = FieldValue<'method.objective'>;

function readTrainer(section: Section, objective: Objective, draft: Draft, context: ReadContext): void {
  const source = `${SOURCE}trainers/arguments.py`;
  section.take('per_device_train_batch_size');
  readAccumulation(section, objective, context);
  if (section.has('per_device_eval_batch_size') || !section.has('eval_batch_size'))
    section.take('per_device_eval_batch_size');
  else section.stateInteger('evaluation.batch', 'eval_batch_size');
  const compute = readPrecision(section, draft, context);
  readSharding(section, draft, context);
  const defaults: TrainerDefaults = {
    note: say('{0} default', 'ms-swift'),
    source,
    micro: 1,
    accumulation: 1,
    checkpointing: true,
    compute,
  };
  readGalore(section);
  readOptimizerPlugin(section);
  readTrainingLoop(section, draft, context, defaults);
  section.assume('parallel.data', {
    value: 'ddp',
    note: say('replicas unless DeepSpeed or FSDP is asked for'),
    source,
  });
  section.take('attn_impl');
  readSwiftExperts(section, objective, context);
  assumeLeaves(section, context, SWIFT_LEAVES);
  const old = section.find('use_flash_attn');
  if (old && flagOf(old.node) === true) section.state('attention.implementation', 'flash2', old);
  section.take('sequence_parallel_size', 'deepspeed_autotp_size', 'zero_hpz_partition_size');
  const own = say('{0} splits sequences by itself', 'ms-swift');
  if (Number(draft.valueOf('parallel.ulysses') ?? 1) > 1)
    draft.assume('zero.sequenceReduce', 'none', own, `${SOURCE}sequence_parallel/ulysses.py`);
  const backend = section.find('tuner_backend');
  if (backend && textOf(backend.node) === 'unsloth') section.state('kernels.unsloth', true, backend);
  const packed = ['packing', 'padding_free']
    .map((key) => section.find(key))
    .find((it) => flagOf(it?.node) === true);
  if (packed) {
    section.state('batch.packed', true, packed);
    if (flagOf(section.find('packing')?.node) !== true) section.state('batch.paddingFree', true, packed);
  } else section.assume('batch.packed', swift(false, 'arguments/base_args/base_args.py'), 'packing');
  if (objective !== 'grpo') assumePadding(section, draft, section.integerOrDefault(MICRO));
}

/** As many micro batches as make 16 samples over all GPUs (`trainers/arguments.py`); one in GRPO. */
function readAccumulation(section: Section, objective: Objective, context: ReadContext): void {
  if (section.take('gradient_accumulation_steps')) return;
  if (section.has('gradient_accumulation_steps')) return;
  if (objective === 'grpo') {
    section.assume('batch.accumulation', swift(1, 'arguments/rlhf_args.py'), 'gradient_accumulation_steps');
    return;
  }
  const world = context.known['hardware.gpus'];
  const micro = section.integerOrDefault(MICRO);
  if (typeof world !== 'number' || world < 1 || micro < 1) return;
  section.assume(
    'batch.accumulation',
    {
      value: Math.max(1, Math.ceil(16 / micro / world)),
      note: say(
        'ms-swift default: 16 samples over {0} GPUs in micro batches of {1}',
        String(world),
        String(micro),
      ),
      source: `${SOURCE}trainers/arguments.py`,
    },
    'gradient_accumulation_steps',
  );
}

/**
 * Weights are loaded in `torch_dtype`, or in the type of the checkpoint; the type decides the precision of autocast, fp16
 * for models in fp32 (`model_args.py`, `_init_mixed_precision`). What is trained in fp16 becomes fp32.
 */
function readPrecision(section: Section, draft: Draft, context: ReadContext): DType {
  const found = section.find(['torch_dtype', 'dtype']);
  const word = textOf(found?.node)?.toLowerCase();
  const stated = weightsDtypeOf(word);
  const published = context.model?.publishedDtype;
  const loaded = stated ?? published ?? 'bf16';
  const asked = (['bf16', 'fp16'] as const).find((key) => section.flag(key) === true);
  const off = (['bf16', 'fp16'] as const).every((key) => section.flag(key) === false);
  const compute: DType = off ? 'fp32' : (asked ?? (loaded === 'bf16' ? 'bf16' : 'fp16'));
  const because = asked ? section.find(asked) : found;
  const launched = section.has(['deepspeed', 'fsdp']) ? undefined : context.known['parallel.data'];
  const scheme =
    section.has('deepspeed') || launched === 'zero'
      ? 'deepspeed'
      : compute === 'fp32'
        ? 'native'
        : section.has('fsdp') || isFsdp(launched)
          ? 'fsdp'
          : 'autocast';
  const note = asked ? undefined : say('the type of the weights decides');
  const full = /^full$/.test(section.textOrDefault(TUNER_TYPE));
  const weights = scheme === 'deepspeed' ? compute : full && loaded === 'fp16' ? 'fp32' : loaded;
  if (because && (stated || asked)) {
    section.state('precision.compute', compute, because, note);
    section.state('precision.scheme', scheme, because, note);
  } else {
    const source = `${SOURCE}arguments/base_args/model_args.py`;
    const note = say('ms-swift follows the type of the checkpoint, {0}', published ?? say('mostly bf16'));
    draft.infer('precision.compute', compute, note);
    draft.assume('precision.scheme', scheme, note, source, 'torch_dtype');
  }
  if (found && stated) section.state('precision.weights', weights, found);
  else if (published || scheme === 'deepspeed')
    draft.infer('precision.weights', weights, say('type that the model is published in'));
  else inferUnnamed(draft);
  return compute;
}

function readSharding(section: Section, draft: Draft, context: ReadContext): void {
  const deepspeed = section.find('deepspeed');
  const name = textOf(deepspeed?.node);
  if (deepspeed && (deepspeed.node.kind === 'map' || name !== undefined)) {
    section.state('parallel.data', 'zero', deepspeed);
    const packaged = name === undefined ? undefined : packagedZero(name);
    if (packaged) statePackagedZero(section, deepspeed, packaged, context, draft);
    else if (name !== undefined && !name.trim().startsWith('{')) section.link('deepspeed', 'deepspeed');
    // Settings that stand there themselves.
    else draft.leaveUncounted(deepspeed.node, 'deepspeed', ['zero.stage']);
    return;
  }
  const fsdp = section.find('fsdp');
  if (fsdp && textOf(fsdp.node) === 'fsdp2') statePackagedFsdp(section, fsdp, draft);
  else if (fsdp && textOf(fsdp.node)?.endsWith('.json')) {
    section.state('parallel.data', 'fsdp2', fsdp);
    section.link('fsdp', 'fsdp');
  } else if (fsdp) leaveUnknownOptions(fsdpOptions(section).words, fsdp, draft);
}

/**
 * `optimizers/mapping.py` of ms-swift 4.6: `muon` is Moonlight's, for matrices of layers, with AdamW for embedding and head; names that are
 * not listed are those of a plugin.
 */
function readOptimizerPlugin(section: Section): void {
  const found = section.find('optimizer');
  const name = textOf(found?.node) ?? '';
  if (!found || /^(?:default|galore|lorap|multimodal)$/.test(name)) return;
  if (name === 'muon') section.state('optimizer.name', 'muon', found);
  else section.leave(found, ['optimizer.name']);
}

function readGalore(section: Section): void {
  const galore = section.find('use_galore');
  if (!galore || flagOf(galore.node) !== true) return;
  const quantized = section.flag('galore_quantization') === true;
  const eight = section.text('optim')?.includes('8bit') === true;
  const name = quantized ? 'q-galore-adamw-8bit' : eight ? 'galore-adamw-8bit' : 'galore-adamw';
  section.state('optimizer.name', name, galore);
  section.take('galore_rank');
}

const ADAPTERS: Readonly<Record<string, FieldValue<'lora.kind'>>> = {
  lora: 'lora',
  lora_llm: 'lora',
  longlora: 'lora',
  adalora: 'adalora',
  vera: 'vera',
  boft: 'boft',
  fourierft: 'fourierft',
  bone: 'miss',
  ia3: 'ia3',
};

/** Keys of the rank of adapters that have one of their own. */
const RANK_KEYS: Partial<Record<FieldValue<'lora.kind'>, string>> = {
  vera: 'vera_rank',
  adalora: 'adalora_init_r',
  fourierft: 'fourier_n_frequency',
  miss: 'reft_rank',
};

/** Copies of layers are put behind as many groups and trained alone (`tuners/llamapro.py`). */
function readLlamaPro(section: Section, type: FoundKey): void {
  section.state('method.kind', 'freeze', type, say('new blocks are trained'));
  const grouped = section.has('llamapro_num_groups');
  const groups = grouped ? 'llamapro_num_groups' : 'llamapro_num_new_blocks';
  section.take(groups);
  section.stateInteger('method.trainableLayers', groups, swift(4, 'arguments/tuner_args.py'));
  section.state('method.spreadLayers', true, type);
}

const freezesParts = () =>
  say('ms-swift freezes parts of multimodal models (freeze_llm, freeze_vit, freeze_aligner)');

/** What is trained: adapters, or all but what multimodal models freeze. */
function readKind(
  section: Section,
  kind: 'full' | 'lora',
  command: SwiftCommand,
  draft: Draft,
  context: ReadContext,
): void {
  const type = section.find(TUNER_TYPE);
  const parts = kind === 'full' ? frozenParts(section, context) : undefined;
  const named = kind === 'full' ? trainedWeights(section, draft, parts, { command, context }) : undefined;
  if (named === 'unknown') return;
  const trained = named ?? parts;
  const note = named ? say('weights are frozen by name') : freezesParts();
  if (trained && !type) {
    const { source } = swift(true, 'arguments/tuner_args.py');
    draft.assume('method.kind', 'freeze', note, source, 'tuner_type');
    draft.assume('method.trainable', trained, note, source, 'tuner_type');
  } else if (type && trained) {
    section.state('method.kind', 'freeze', type, note);
    section.state('method.trainable', trained, type, note);
  } else if (kind === 'full' && section.integerOrDefault('lisa_activated_layers') > 0) readLisa(section);
  else if (type) section.state('method.kind', kind, type);
  else
    section.assume(
      'method.kind',
      swift(
        kind,
        command.megatron ? 'megatron/arguments/megatron_args.py' : 'arguments/base_args/base_args.py',
      ),
      'tuner_type',
    );
}

function keepOffTowers(section: Section, draft: Draft, context: ReadContext): void {
  // `get_multimodal_target_regex`: linear layers of the parts that are not frozen.
  const targets = section.find(['target_modules', 'lora_target_modules']);
  const towers =
    isMultimodal(context) && section.flagOrDefault('freeze_vit') && section.flagOrDefault('freeze_aligner');
  if (towers && (!targets || /\ball[-_]linear\b/i.test(textsOf(targets.node)?.join(' ') ?? '')))
    draft.assume(
      'lora.exclude',
      TOWER_MODULES,
      freezesParts(),
      swift([], 'arguments/tuner_args.py').source,
      'target_modules',
    );
}

function readMethod(section: Section, command: SwiftCommand, draft: Draft, context: ReadContext): void {
  const type = section.find(TUNER_TYPE);
  const byDefault = command.megatron ? 'full' : 'lora';
  const name = textOf(type?.node)?.toLowerCase() ?? byDefault;
  const known = (TUNERS as readonly string[]).includes(name);
  const unknown = type !== undefined && name !== 'full' && !ADAPTERS[name];
  if (type && known && name === 'llamapro') {
    readLlamaPro(section, type);
    return;
  }
  // Those that are left train a few weights per layer, as LoRA does: counted as full training they would need several times more.
  if (type && unknown && known) {
    draft.report(
      'adapter-not-modelled',
      'information',
      say(
        'Adapters of the kind {0} are not modelled: the estimate takes LoRA of rank 8, which is near.',
        name,
      ),
      type.node.range,
    );
  }
  if (type && unknown && !known) {
    section.leave(type, ['method.kind', 'lora.kind']);
    if (draft.hasLeft(type.node.range)) return;
  }
  const kind = name === 'full' || (unknown && !known) ? 'full' : 'lora';
  if (!command.megatron) noteSpeech(section, context);
  readKind(section, kind, command, draft, context);
  if (kind === 'full') return;
  // `tuner_plugin/lora_llm.py` of ms-swift 4.6: the run needs more than is estimated.
  if (type && name === 'lora_llm')
    section.state(
      'features.unmodelled',
      ['vision-tower'],
      type,
      say('`{0}` trains the vision tower in full beside the adapters, which is not counted', name),
    );
  const file = 'arguments/tuner_args.py';
  const adapter = ADAPTERS[name];
  if (type && adapter && adapter !== 'lora') section.state('lora.kind', adapter, type);
  section.take(RANK_KEYS[adapter ?? 'lora'] ?? 'lora_rank');
  if (adapter === 'boft') section.take('boft_block_size');
  section.take('lora_alpha');
  // Each kind has a dropout of its own, none by default (`pipelines/train/tuner.py`).
  const own = adapter !== undefined && adapter !== 'lora' && adapter !== 'adalora';
  if (!own) section.take('lora_dropout');
  else if (name === 'vera' || name === 'boft') section.take(`${name}_dropout`);
  else section.assume('lora.dropout', swift(0, file));
  section.take('target_regex');
  section.stateMeaning(
    'lora.targets',
    ['target_modules', 'lora_target_modules'],
    ({ node }) => {
      const words = textsOf(node)
        ?.flatMap((texts) => texts.split(/\s+/))
        .map((word) => (/^ALL$/.test(word) ? 'all-linear' : word));
      return words && command.megatron ? withPublishedNames(words) : words;
    },
    swift(['all-linear'], file),
  );
  keepOffTowers(section, draft, context);
  if (!section.take('modules_to_save')) section.stateTexts('lora.modulesToSave', 'lora_modules_to_save');
  section.take('use_dora', 'lora_bias');
  const dtype = section.find('lora_dtype');
  const stated = weightsDtypeOf(textOf(dtype?.node));
  if (dtype && stated) section.state('lora.dtype', stated, dtype);
  else if (!command.megatron)
    draft.assume('lora.dtype', 'fp32', say('PEFT upcasts adapters to fp32'), `${SOURCE}tuners/peft.py`);
}

/** LISA trains a few layers at a time, drawn anew every interval, and embedding and head always (`callbacks/lisa.py`). */
function readLisa(section: Section): void {
  const layers = section.find('lisa_activated_layers');
  if (layers) section.state('method.kind', 'lisa', layers);
  section.take('lisa_activated_layers', 'lisa_step_interval');
}

const OBJECTIVES: Readonly<Record<string, Objective>> = {
  dpo: 'dpo',
  orpo: 'orpo',
  simpo: 'simpo',
  kto: 'kto',
  cpo: 'cpo',
  rm: 'reward',
  ppo: 'ppo',
  grpo: 'grpo',
  gkd: 'distillation',
};

/** A reference stands beside a model that is trained in full, but not where GRPO weighs it with 0 (`rlhf_args.py`). */
function readObjective(
  section: Section,
  { name, megatron }: SwiftCommand,
  draft: Draft,
  context: ReadContext,
): Objective {
  const type = section.find('rlhf_type');
  const word = textOf(type?.node)?.toLowerCase() ?? (name === 'rlhf' ? 'dpo' : undefined);
  const objective = word === undefined ? undefined : OBJECTIVES[word];
  if (objective === undefined) return readTask(section, draft);
  if (type) section.state('method.objective', objective, type);
  else section.assume('method.objective', swift(objective, 'arguments/rlhf_args.py'), 'rlhf_type');
  const beta = section.find('beta');
  const full = (section.text(TUNER_TYPE) ?? (megatron ? 'full' : 'lora')) === 'full';
  const compares = ['dpo', 'kto', 'ppo', 'grpo'].includes(objective);
  const unweighted = objective === 'grpo' && numberOf(beta?.node) === 0;
  const needed = compares && full && !unweighted;
  const found = section.find('ref_model');
  if (found && needed) section.state('method.referenceModel', true, found);
  else if (beta && unweighted) section.state('method.referenceModel', false, beta);
  else
    section.assume('method.referenceModel', {
      ...swift(needed, 'arguments/rlhf_args.py'),
      note: needed
        ? say('a frozen copy of the model is the reference')
        : say('no separate reference model is needed'),
    });
  readOtherModels(section, objective, megatron);
  if (objective === 'grpo' || objective === 'ppo' || objective === 'distillation')
    readRollouts(section, objective, megatron, context);
  return objective;
}

/** What is trained beside the next token has a head of its own in the place of the vocabulary's (`model/register.py`). */
function readTask(section: Section, draft: Draft): Objective {
  const task = section.find(['task_type', 'num_labels']);
  const word = section.text('task_type')?.toLowerCase();
  if (!task || word === 'causal_lm') return 'lm';
  // A sample is an anchor with texts to hold it to, as many as the data has: each is a row (`trainers/embedding_trainer.py`).
  if (word !== undefined && /embedding|reranker/.test(word)) draft.refuseTask(task.node, word);
  section.state('method.objective', 'classification', task);
  return 'classification';
}

/** Reward models and teachers stand beside the policy, in PPO a value model too, which is trained (`pipelines/train/rlhf.py`). */
function readOtherModels(section: Section, objective: Objective, megatron: boolean): void {
  const away = section.flag('offload_teacher_model') === true;
  if (objective === 'distillation' && megatron && !away) stateFrozenModels(section, ['teacher_model']);
  else if (objective === 'distillation') readTeacher(section, away);
  if (objective === 'grpo') stateFrozenModels(section, ['reward_model']);
  if (objective !== 'ppo') return;
  stateFrozenModels(section, ['reward_model']);
  const file = 'rlhf_trainers/ppo_trainer.py';
  section.assume('method.valueModel', {
    ...swift(true, file),
    note: say('a value model of the size of the policy'),
  });
  section.assume('method.valueTogether', swift(true, file));
}

/**
 * The teacher's logits are compared in chunks of 512 tokens (`rlhf_trainers/gkd_loss.py`), with Liger by its fused function. A
 * teacher behind a server, or its best logits alone, leave none of its own whole. Without a teacher the model teaches itself.
 */
function readTeacher(section: Section, away: boolean): void {
  // `prepare_deepspeed` with a config of its own (`rlhf_trainers/rollout_mixin.py`): ZeRO 3 shards it, whatever the trained model has.
  const own = section.find('teacher_deepspeed');
  const whole = /^zero[012]/.test(textOf(own?.node) ?? '');
  const apart = own !== undefined && !isBlank(own.node) && !whole;
  stateTeacher(section, 'teacher_model', !away && !apart);
  if (own && apart && !away) section.bring('distillation-teacher', own);
  if (own && whole) section.state('method.frozenSharded', false, own);
  if (section.has(['teacher_model_server', 'gkd_logits_topk'])) return;
  const file = 'rlhf_trainers/gkd_trainer.py';
  section.stateMeaning('loss.divergence', 'beta', divergenceOf, swift('mixture' as const, file));
  const liger = section.find('use_liger_kernel');
  if (liger && flagOf(liger.node) === true) section.state('loss.implementation', 'liger', liger);
  else section.assume('loss.implementation', swift('divergence-chunks' as const, file));
}

function readRollouts(section: Section, objective: Objective, megatron: boolean, context: ReadContext): void {
  if (section.has('max_completion_length') || !section.has('response_length'))
    section.takeElse('max_completion_length', swift(512, 'arguments/rlhf_args.py'));
  else section.take('response_length');
  const vllm = section.find('use_vllm');
  if (!vllm || flagOf(vllm.node) !== true) {
    const file = 'rlhf_trainers/args_mixin.py';
    if (vllm && flagOf(vllm.node) === false) section.state('rollout.engine', 'transformers', vllm);
    else section.assume('rollout.engine', swift('transformers' as const, file), 'use_vllm');
    // PPO is TRL's own trainer.
    if (objective !== 'ppo') readGenerationSteps(section, context, swift(0, 'rlhf_trainers/args_mixin.py'));
    return;
  }
  const groups = section.find('colocate_groups');
  const mode = section.find('vllm_mode');
  const colocated = textOf(mode?.node) === 'colocate' || groups !== undefined;
  section.state('rollout.engine', colocated ? 'vllm-colocate' : 'vllm-server', mode ?? groups ?? vllm);
  if (!colocated) return;
  const nested = 'rollout.vllm_gpu_memory_utilization';
  if (section.has('vllm_gpu_memory_utilization') || !section.has(nested))
    section.takeElse('vllm_gpu_memory_utilization', swift(0.9, 'rlhf_trainers/args_mixin.py'));
  else section.stateNumber('hardware.reservedFraction', nested);
  section.take('sleep_level', 'vllm_tensor_parallel_size');
  const more = section.find('vllm_engine_kwargs');
  if (more && /quantization|cpu_offload/.test(JSON.stringify(plainOf(more.node))))
    section.state('rollout.quantized', true, more);
  readOffload(section, megatron);
}

/**
 * What leaves the GPU while vLLM generates (`rlhf_trainers/rollout_mixin.py`, `offload_model`, `offload_optimizer`): weights are moved one by
 * one, so that those which DeepSpeed trains stay, as they are views of its flat buffers (`stage3.py`, `lp_param_buffer`).
 */
function readOffload(section: Section, megatron: boolean): void {
  const model = section.find('offload_model');
  const optimizer = section.find('offload_optimizer');
  const found = model ?? optimizer;
  if (!found) return;
  const flat = !megatron && section.has('deepspeed') && section.text(TUNER_TYPE) === 'full';
  const weights = flagOf(model?.node) === true && !flat;
  const states = flagOf(optimizer?.node) === true;
  section.state('rollout.offload', whatWaits(weights, states), found);
}

/**
 * Qwen's Omni models are loaded with what speaks (`talker`, `token2wav`, `code2wav`), which is frozen, unless `ENABLE_AUDIO_OUTPUT`
 * is off (`models/qwen.py`, `Qwen2_5OmniLoader`).
 */
function noteSpeech(section: Section, { model }: ReadContext): void {
  const named = section.find('model');
  if (!named || !/^qwen(2_5_omni|3_omni_moe)$/.test(String(model?.config?.model_type))) return;
  if (section.section('ENV').flag('ENABLE_AUDIO_OUTPUT') === false) return;
  section.state(
    'features.unmodelled',
    ['speech-generator'],
    named,
    say(
      'the part that speaks is loaded beside what is trained, and not counted: `{0}` is not off',
      'ENABLE_AUDIO_OUTPUT',
    ),
  );
}

/** Vision tower and projector of a multimodal model are frozen in full training unless set otherwise. */
function frozenParts(section: Section, context: ReadContext): string[] | undefined {
  if (!isMultimodal(context)) return undefined;
  return trainedParts({
    language: section.flagOrDefault('freeze_llm'),
    vision: section.flagOrDefault('freeze_vit'),
    projector: section.flagOrDefault('freeze_aligner'),
  });
}

function readQuantization(section: Section): void {
  section.assume('quantization.prepared', {
    ...swift(false, 'tuners/peft.py'),
    note: say('`prepare_model_for_kbit_training` is not called'),
  });
  const method = section.find('quant_method');
  const bits = section.find(['quant_bits', 'quantization_bit']);
  const width = integerOf(bits?.node);
  const name = textOf(method?.node)?.toLowerCase() ?? (section.has('quantization_bit') ? 'bnb' : undefined);
  const found = bits ?? method;
  if (!found || name === undefined) return;
  if (name === 'fp8') section.state('quantization.kind', 'fp8', found);
  else if (name === 'hqq' || name === 'eetq' || name === 'quanto') {
    section.state('quantization.kind', name, found);
    if (width !== undefined) section.state('quantization.bits', width, found);
  } else if (name === 'bnb' && (width === 4 || width === 8)) {
    const fp4 = section.text('bnb_4bit_quant_type') === 'fp4';
    section.state('quantization.kind', width === 8 ? 'int8' : fp4 ? 'fp4' : 'nf4', found);
    if (width === 8) return;
    section.take('bnb_4bit_use_double_quant', 'bnb_4bit_quant_storage');
  } else if (name === 'bnb' && bits) section.leave(bits, ['quantization.kind', 'quantization.bits']);
}

/** Prompt and completion follow each other in GRPO. Without `max_length` only the model limits a sample. */
function readLength(section: Section, objective: Objective, draft: Draft, context: ReadContext): void {
  const found = section.find(['packing_length', 'max_length']);
  const length = integerOf(found?.node);
  if (objective === 'grpo') {
    const answer = section.integerOrDefault('max_completion_length');
    const stated = found ?? section.find('max_completion_length');
    const prompt = length ?? 512;
    const note = say('prompt of {0} and completion of {1} tokens', String(prompt), String(answer));
    if (found && length !== undefined) section.state('batch.sequence', prompt + answer, found, note);
    else
      draft.infer(
        'batch.sequence',
        prompt + answer,
        say('{0}: nothing limits the prompt', note),
        stated?.node,
        stated?.key,
      );
    return;
  }
  if (found && length !== undefined) {
    section.state('batch.sequence', length, found);
    return;
  }
  if (found) return;
  const longest = context.model?.maxPositions;
  const packed = section.flag('packing') === true;
  if (packed && longest !== undefined)
    draft.infer('batch.sequence', longest, say("packed rows are as long as the model's longest input"));
  else
    assumeLength(
      draft,
      'max_length',
      section.find(['model', 'model_id_or_path', ...TUNER_TYPE])?.node,
      `${SOURCE}arguments/base_args/base_args.py`,
    );
}

/** Without data for it there is no evaluation (`sft_args.py`); with it, it goes with saving. */
function readEvaluation(section: Section): void {
  const ratio = section.find(['split_dataset_ratio', 'dataset_test_ratio']);
  const held = section.find(['val_dataset', 'cached_val_dataset']);
  const share = section.numberOrDefault(['split_dataset_ratio', 'dataset_test_ratio']);
  const strategy = evaluationAsked(section);
  if (strategy?.asked === false) section.state('evaluation.enabled', false, strategy.found);
  else if (held) section.state('evaluation.enabled', true, held);
  else if (ratio) section.state('evaluation.enabled', share > 0, ratio);
  if (section.flag('gradient_checkpointing') !== false)
    section.assume('evaluation.keepsCache', swift(false, 'trainers/mixin.py'));
}
