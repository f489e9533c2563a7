import { flagOf, textOf } from '../../config/scalar';
import { fileIn, TRANSFORMERS } from '../../sources/repositories';
import type { DType } from '../../terms/dtypes';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import { fusesBy } from '../compile-backend';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import { transformersOptimizer } from '../optimizer-names';
import type { DefaultValue, Section } from '../section';
import { stateOptimizer } from '../stated-optimizer';
import { evaluationAsked } from './evaluation-strategy';
import { readFsdpArgument } from './fsdp-argument';
import { readTrainerSharding, type ShardingKeys, type TrainerSharding } from './trainer-sharding';
import { TRAINING_ARGUMENTS_TABLE } from './training-arguments-keys';

const DOCS = 'https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments';

/** `_backward_compatibility_gradient_checkpointing`. */
const OWN_CHECKPOINTING = fileIn(TRANSFORMERS, 'src/transformers/modeling_utils.py#L1354');

/** What a tool on top of the Trainer takes where the key is absent, instead of the Trainer's own defaults. */
export interface TrainerDefaults {
  /** For people, who states it: `TRL default`. */
  readonly note: string;
  readonly source: string;
  readonly micro: number;
  readonly accumulation: number;
  readonly checkpointing: boolean;
  /** Precision of autocast where neither `bf16` nor `fp16` is there. */
  readonly compute: DType;
  /** Who states that precision, where it is somebody else. */
  readonly computeBy?: { readonly note: string; readonly source: string };
}

export const TRAINER_DEFAULTS: TrainerDefaults = {
  get note() {
    return say('default of the Hugging Face Trainer');
  },
  source: DOCS,
  micro: 8,
  accumulation: 1,
  checkpointing: false,
  compute: 'fp32',
};

/** What the rest of a dialect needs to know of the arguments. */
export interface TrainerReading {
  /** Type of autocast, or fp32. */
  readonly compute: DType;
  readonly sharding: TrainerSharding;
}

/**
 * `TrainingArguments` of transformers 4 and 5, which TRL, LLaMA-Factory, ms-swift and many scripts take whole. States
 * batch, precision, optimizer, checkpointing, kernels and sharding; how the model is loaded is left to the caller.
 */
export function readTrainingArguments(
  section: Section,
  draft: Draft,
  context: ReadContext,
  defaults: TrainerDefaults = TRAINER_DEFAULTS,
): TrainerReading {
  const sharding = readTrainerSharding(section, draft, context, SHARDING);
  const compute = readPrecision(section, draft, sharding, defaults, context.known);
  readTrainingLoop(section, draft, context, defaults);
  return { compute, sharding };
}

/** The arguments that mean the same whoever chose sharding and precision: tools around the Trainer have their own ways. */
export function readTrainingLoop(
  section: Section,
  draft: Draft,
  context: ReadContext,
  defaults: TrainerDefaults,
): void {
  const trainer = section.by(TRAINING_ARGUMENTS_TABLE).withDefaultsOf(defaults.source, defaults.note);
  const own = <V>(value: V): DefaultValue<V> => ({ value, note: defaults.note, source: defaults.source });
  trainer.takeElse('per_device_train_batch_size', own(defaults.micro));
  trainer.takeElse('gradient_accumulation_steps', own(defaults.accumulation));
  const cpu = trainer.find(['use_cpu', 'no_cuda']);
  if (cpu && flagOf(cpu.node) === true) draft.refuseCpu(cpu.node, cpu.key);
  trainer.take('max_steps', 'auto_find_batch_size');
  readOptimizer(section, draft, context);
  readOwnCheckpointing(trainer, draft, context);
  trainer.takeElse('gradient_checkpointing', own(defaults.checkpointing ? 'full' : 'none'));
  readReentry(section, context);
  trainer.take('use_liger_kernel');
  const noise = section.find('neftune_noise_alpha');
  if (noise) section.state('method.noisyEmbeddings', true, noise);
  readCompilation(trainer);
  trainer.take('ddp_bucket_cap_mb', 'tf32');
  readParallelism(section);
  readEvaluation(trainer, own(false));
  readGeneration(trainer, draft, context);
}

/** Naming a backend or a mode switches it on, also beside `torch_compile: false` (`training_args.py`, `__post_init__`). */
function readCompilation(trainer: Section): void {
  const mode = trainer.find('torch_compile_mode');
  if (trainer.has('torch_compile_backend'))
    trainer.stateMeaning('kernels.compile', 'torch_compile_backend', ({ node }) => fusesBy(node));
  else if (mode) trainer.state('kernels.compile', true, mode);
  else trainer.take('torch_compile');
}

const SHARDING: ShardingKeys = {
  fsdp: readFsdpArgument,
  get note() {
    return say('the Trainer replicates the model on every GPU unless told otherwise');
  },
  source: DOCS,
};

/** The first release that leaves FSDP to Accelerate (transformers 4.30.0, `trainer.py`; 4.29.2 wraps the model itself, in the type that it has). */
const SHARDED_BY_ACCELERATE = '4.30';

/** `bf16` and `fp16`: what it means for the weights depends on who shards them. */
function readPrecision(
  section: Section,
  draft: Draft,
  sharding: TrainerReading['sharding'],
  defaults: TrainerDefaults,
  known: ReadContext['known'],
): DType {
  const asked = (['bf16', 'fp16'] as const).find((key) => flagOf(section.find(key)?.node) === true);
  const found = asked && section.find(asked);
  const refused = flagOf(section.find('bf16')?.node) === false;
  const compute: DType = asked ?? (refused ? 'fp32' : defaults.compute);
  const scheme =
    compute === 'fp32'
      ? 'native'
      : sharding === 'zero'
        ? 'deepspeed'
        : sharding === 'fsdp'
          ? 'fsdp'
          : 'autocast';
  if (asked && found) {
    section.state('precision.compute', asked, found);
    section.state('precision.scheme', scheme, found);
    if (sharding === 'zero')
      section.state('precision.weights', asked, found, say('DeepSpeed holds weights in the low precision'));
    if (sharding === 'fsdp') {
      const note = say(
        'Accelerate upcasts trained weights to fp32 under FSDP mixed precision and splits them so',
      );
      if (isAtLeast(known['version.transformers'], SHARDED_BY_ACCELERATE) !== false)
        section.state('precision.masterWeights', 'fp32', found, note);
      section.state('precision.reduce', asked, found);
    }
    return asked;
  }
  if (compute === 'fp32') {
    draft.assume('precision.scheme', 'native', say('no mixed precision'), defaults.source, 'bf16');
    return compute;
  }
  const { note, source } = defaults.computeBy ?? defaults;
  draft.assume('precision.compute', compute, note, source, 'bf16');
  draft.assume('precision.scheme', scheme, note, source, 'bf16');
  if (sharding === 'zero')
    draft.assume('precision.weights', compute, say('DeepSpeed holds weights in the low precision'), source);
  return compute;
}

function readOptimizer(section: Section, draft: Draft, context: ReadContext): void {
  const found = section.find('optim');
  const old = section.find('adafactor');
  if (!found && old && flagOf(old.node) === true) {
    section.state('optimizer.name', 'adafactor', old);
    return;
  }
  const name = textOf(found?.node);
  if (found && name !== undefined) {
    stateOptimizer(section, transformersOptimizer(name, section.text('optim_args')), found);
    return;
  }
  if (draft.knows('optimizer.name')) return;
  const { note, implementation } = defaultOptimizer(context);
  draft.assume('optimizer.name', 'adamw', note, DOCS, 'optim');
  draft.assume('optimizer.implementation', implementation, note, DOCS, 'optim');
}

/** AdamW by default: transformers' own until 4.31, torch's since, its fused one since 4.54 with torch 2.8 (`training_args.py`). */
function defaultOptimizer({ known }: ReadContext): {
  readonly note: string;
  readonly implementation: 'fused' | 'foreach' | 'for-loop';
} {
  const version = known['version.transformers'];
  if (isAtLeast(version, '4.32') === false)
    return {
      note: say('adamw_hf, default of the Trainer until transformers 4.31'),
      implementation: 'for-loop',
    };
  const fused = isAtLeast(known['version.torch'], '2.8') === true && isAtLeast(version, '4.54') !== false;
  return fused
    ? {
        note: say('adamw_torch_fused, default of the Trainer since torch 2.8'),
        implementation: 'fused',
      }
    : { note: say('adamw_torch, default of the Trainer'), implementation: 'foreach' };
}

/** Activations are checkpointed from loading on where the config of the checkpoint has that flag: the Trainer turns it off nowhere. */
function readOwnCheckpointing(section: Section, draft: Draft, { model }: ReadContext): void {
  if (model?.config?.gradient_checkpointing !== true) return;
  const note = say('`{0}` stands in the config of the checkpoint', '"gradient_checkpointing": true');
  const found = section.find(['gradient_checkpointing', 'activation_checkpointing']);
  if (found) section.state('activations.checkpointing', 'full', found, note);
  else draft.assume('activations.checkpointing', 'full', note, OWN_CHECKPOINTING);
}

function readReentry(section: Section, context: ReadContext): void {
  const reentrant = [
    'gradient_checkpointing_kwargs.use_reentrant',
    'activation_checkpointing_kwargs.use_reentrant',
  ];
  const fifth = isAtLeast(context.known['version.transformers'], '5.0') === true;
  section.stateFlag('activations.reentrant', reentrant, {
    value: !fifth,
    note: fifth ? say('default of transformers 5') : say('default of transformers 4'),
    source: DOCS,
  });
}

const SIZES = [
  ['tp_size', 'parallel.tensor'],
  ['cp_size', 'parallel.context'],
  ['sp_size', 'parallel.ulysses'],
  ['dp_replicate_size', 'parallel.replicate'],
] as const;

function readParallelism(section: Section): void {
  const block = section.section('parallelism_config');
  for (const [key, field] of SIZES) block.stateInteger(field, key);
}

/** The Trainer moves nothing but the loss out of an evaluation step unless the script computes metrics. */
function readEvaluation(section: Section, byDefault: DefaultValue<boolean>): void {
  const strategy = evaluationAsked(section);
  const plain = section.find('do_eval');
  if (strategy) section.state('evaluation.enabled', strategy.asked, strategy.found);
  else if (plain && flagOf(plain.node) === true) section.state('evaluation.enabled', true, plain);
  else section.assume('evaluation.enabled', byDefault, 'eval_strategy');
  section.withDefaultsOf(DOCS, say('default of the Trainer')).take('per_device_eval_batch_size');
  section.take('eval_accumulation_steps');
  const each = section.find('batch_eval_metrics');
  if (each && flagOf(each.node) === true)
    section.state('evaluation.accumulation', 1, each, say('metrics are computed batch by batch'));
  section.take('eval_do_concat_batches', 'use_cache');
}

/** Types whose checkpoints are published with a length and beams of their own in `generation_config.json`; those of T5 have neither. */
const GENERATES_OWN = /^(?:bart|blenderbot|led|m2m_100|marian|mbart|pegasus|pegasus_x|prophetnet)$/;

/** Whether the checkpoint of a model states how much is generated, where nothing else does. */
export const generatesOwn = (type: unknown): boolean => typeof type === 'string' && GENERATES_OWN.test(type);

/** A `GenerationConfig` that stands in the file, by what it states. */
const LENGTHS_SPELLED_OUT = ['generation_config.max_new_tokens', 'generation_config.max_length'];
/** Arguments of scripts that bound what an evaluation generates (`run_summarization.py`, `run_seq2seq_qa.py`). */
export const SCRIPT_LENGTHS = [
  'val_max_target_length',
  'max_target_length',
  'val_max_answer_length',
  'max_answer_length',
] as const;
const BEAMS_SPELLED_OUT = 'generation_config.num_beams';

/** A `GenerationConfig` spelled out, which takes the place of the model's own; true of one that is named: what it holds is not known. */
function readGenerationConfig(section: Section, draft: Draft): boolean {
  const given = section.find('generation_config');
  if (
    given?.node.kind === 'scalar' &&
    textOf(given.node) !== undefined &&
    !section.has('generation_max_length')
  ) {
    const words = say('`{0}` is not read: what the evaluation generates hangs on it.', 'generation_config');
    draft.leave('value', given.node, 'generation_config', words, [
      'evaluation.generatedTokens',
      'evaluation.beams',
    ]);
    return true;
  }
  if (given?.node.kind !== 'map') return false;
  if (!section.has('generation_max_length')) section.take(...LENGTHS_SPELLED_OUT);
  if (!section.has('generation_num_beams')) section.take(BEAMS_SPELLED_OUT);
  return false;
}

/**
 * Generation in evaluation (`Seq2SeqTrainingArguments`): 20 tokens where neither it nor the model's config states more. What such a config states is not
 * known: as many as the model has positions are the most.
 */
function readGeneration(section: Section, draft: Draft, { model }: ReadContext): void {
  const generates = section.find('predict_with_generate');
  if (!generates || flagOf(generates.node) !== true) return;
  // Examples of transformers hand these over as `generation_max_length`: the first, where it is left out the second.
  const scripts = SCRIPT_LENGTHS.find((key) => section.has(key)) ?? SCRIPT_LENGTHS[0];
  const beams = 'num_beams';
  const { model_type: type, max_position_embeddings: positions } = model?.config ?? {};
  const isOwn = generatesOwn(type);
  const length =
    isOwn && typeof positions === 'number'
      ? {
          value: positions,
          note: say(
            'the positions of the model are the most that its generation config, which is not read, can ask for',
          ),
        }
      : { value: 20, note: say("length of the model's generation config, 20 unless it says otherwise") };
  if (readGenerationConfig(section, draft)) return;
  const isSpelledOut = section.has(LENGTHS_SPELLED_OUT);
  const isStated =
    section.has(['generation_max_length', scripts]) ||
    isSpelledOut ||
    draft.knows('evaluation.generatedTokens');
  const hasBeams =
    section.has(['generation_num_beams', beams, BEAMS_SPELLED_OUT]) || draft.knows('evaluation.beams');
  if (isOwn && !(isStated && hasBeams)) {
    const words = isStated
      ? say(
          "The model's generation config says how many beams the evaluation generates with: it is not read.",
        )
      : hasBeams
        ? say(
            "The model's generation config says how many tokens the evaluation generates with: it is not read.",
          )
        : say(
            "The model's generation config says how many tokens and beams the evaluation generates with: it is not read.",
          );
    draft.leave('value', generates.node, 'predict_with_generate', words, [
      ...(isStated ? [] : (['evaluation.generatedTokens'] as const)),
      ...(hasBeams ? [] : (['evaluation.beams'] as const)),
    ]);
  }
  const isOwnArgument = section.has('generation_max_length');
  if (isOwnArgument || !(section.has(scripts) || isSpelledOut))
    section.takeElse('generation_max_length', { ...length, source: DOCS });
  else if (!isSpelledOut) section.stateInteger('evaluation.generatedTokens', scripts);
  if (!section.take('generation_num_beams') && !section.has(BEAMS_SPELLED_OUT))
    section.stateInteger('evaluation.beams', beams);
}
