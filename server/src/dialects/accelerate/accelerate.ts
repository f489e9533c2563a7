import { entryOf, nodeAt } from '../../config/lookup';
import type { ConfigDocument, ConfigNode, MapNode } from '../../config/node';
import { flagOf, integerOf, textOf } from '../../config/scalar';
import { matchAccelerator } from '../../hardware/catalog';
import type { FieldValue } from '../../run/fields';
import { isFsdp } from '../../terms/data-parallel';
import type { DType } from '../../terms/dtypes';
import { say } from '../../wording/say';
import { DEEPSPEED_TABLE } from '../deepspeed/deepspeed-keys';
import { readZero } from '../deepspeed/deepspeed-zero';
import type { Dialect, ReadContext, Reading, SplitWays } from '../dialect';
import { Draft } from '../draft';
import { replacesCheckpointing } from '../hf/fsdp-checkpointing';
import { scriptQuestions } from '../hf/launch-question';
import { lacksTensorPlan } from '../hf/tensor-plan';
import { rejectMisfits } from '../key-check';
import { type FoundKey, Section } from '../section';
import { containerReleases } from './accelerate-container';
import { readFsdp } from './accelerate-fsdp';
import { ACCELERATE_KEYS, ACCELERATE_TABLE } from './accelerate-keys';
import { type RunKind, runKindOf } from './accelerate-kind';
import { readMegatron } from './accelerate-megatron';
import { checkAccelerate } from './accelerate-rules';
import { accelerateWords } from './accelerate-words';
import { isOutdone } from './outdone-launcher';

const DOCS = 'https://huggingface.co/docs/accelerate/package_reference/cli#accelerate-launch';

/**
 * `_prepare_tp` of `accelerator.py` leaves a model whole whose weights are no distributed tensors: the script loads it with a plan.
 * `context_parallel` works with FSDP 2, and the Trainer refuses other kernels than SDPA with it.
 */
const SPLITS: SplitWays = {
  ofScripts: true,
  contextNeeds: { 'attention.implementation': 'sdpa' },
  refuses: (run, { modelType }) =>
    run['precision.scheme'] !== 'megatron' &&
    ((run['parallel.tensor'] > 1 && lacksTensorPlan(modelType)) ||
      (run['parallel.context'] > 1 &&
        (run['parallel.data'] !== 'fsdp2' || run['attention.implementation'] !== 'sdpa'))),
};

/** Config of `accelerate launch`: YAML, or JSON of old versions. */
export const accelerate: Dialect = {
  id: 'accelerate',
  name: 'Accelerate',
  released: ACCELERATE_TABLE.released,
  keys: ACCELERATE_KEYS,
  schema: { strict: true, blank: true, required: ['distributed_type'] },
  startsRuns: true,
  isLibrary: true,
  joins: { questions: scriptQuestions, givesWay: isOutdone, replaces: replacesCheckpointing },
  words: accelerateWords,
  splits: SPLITS,
  markers: /distributed_type/,
  detect(root: ConfigNode): number {
    if (root.kind !== 'map' || !entryOf(root, 'distributed_type')) return 0;
    const companions = ['compute_environment', 'num_processes', 'mixed_precision', 'num_machines', 'use_cpu'];
    if (companions.some((key) => entryOf(root, key))) return 1;
    return root.entries.some((entry) => /^(deepspeed|fsdp|megatron_lm)_config$/.test(entry.key)) ? 0.8 : 0;
  },
  releases: containerReleases,
  read: readAccelerate,
};

function readAccelerate(document: ConfigDocument, context: ReadContext): Reading {
  const draft = new Draft(document, context);
  const { root } = document;
  if (root?.kind !== 'map') return draft.reading();
  draft.assume('framework', 'accelerate', say('the file is an {0} config', 'Accelerate'));
  const kind = readAccelerateSettings(root, draft, context);
  rejectMisfits(root, ACCELERATE_TABLE, draft);
  draft.rules(() => checkAccelerate(root, kind, context, draft));
  return draft.reading();
}

/** States what the launcher's settings say, from its config or from the same names on its command line. */
export function readAccelerateSettings(
  root: MapNode,
  draft: Draft,
  context: Pick<ReadContext, 'known' | 'model'> = { known: {} },
): RunKind {
  const kind = runKindOf(root);
  const section = new Section(root, draft, '', ACCELERATE_TABLE);
  if (kind.cpu) draft.refuseCpu(kind.cpu, 'use_cpu');
  else refuseOthers(kind, draft);
  if (!kind.cpu && kind.type !== 'MULTI_CPU') {
    readHardware(section, kind);
    // XLA has a bf16 of its own, without autocast (`state.py`, `XLA_USE_BF16`).
    const sharded = shardedAs(kind, context);
    if (kind.type !== 'XLA' && kind.type !== 'TPU') readPrecision(section, { ...kind, type: sharded }, draft);
    // Nothing asks its settings of FSDP then.
    if (kind.type !== 'FSDP' || sharded === 'FSDP') readData(section, kind, draft);
    readParallelism(section, context);
    section.take('dynamo_config.dynamo_backend');
    if (kind.sagemaker) readInstance(section, root, draft, context.known);
  }
  return kind;
}

/** What processes that are replicas to the launcher are to the script, whose arguments may shard the model. */
function shardedAs({ type }: RunKind, { known }: Pick<ReadContext, 'known'>): string {
  if (!/^(?:NO|MULTI_GPU|FSDP)$/.test(type)) return type;
  const data = known['parallel.data'];
  return data === 'zero' ? 'DEEPSPEED' : type === 'MULTI_GPU' && isFsdp(data) ? 'FSDP' : type;
}

/** What such a run states holds, and is judged by nobody: what its devices hold is not known. */
function refuseOthers({ node, type, others }: RunKind, draft: Draft): void {
  // A flag of the command line is reported by itself.
  if (!node || others === undefined || draft.hasLeft(node.range)) return;
  if (type === 'MULTI_CPU') draft.refuseCpu(node, 'distributed_type');
  else draft.refuseDevice(node, 'distributed_type', others);
}

/** GPUs of the cloud instance that the file names, over all its machines. */
function readInstance(section: Section, root: MapNode, draft: Draft, known: ReadContext['known']): void {
  const key = 'ec2_instance_type';
  const node = nodeAt(root, key);
  const name = textOf(node);
  const match = name === undefined ? undefined : matchAccelerator(name.replace(/^ml\./, ''));
  if (!node || name === undefined || !match?.instance) return;
  const note = say('GPUs of {0}', name);
  const machines = Number(known['hardware.nodes'] ?? section.integerOrDefault('num_machines'));
  draft.state('hardware.gpu', match.accelerator.name, node, key, note);
  draft.state('hardware.instance', match.instance.instance, node, key, note);
  draft.state('hardware.gpus', (match.gpus ?? 1) * machines, node, key, note);
}

function readHardware(section: Section, kind: RunKind): void {
  const type = section.find('distributed_type');
  if (kind.type === 'NO' && type && !kind.sagemaker)
    section.state('hardware.gpus', 1, type, say('distributed_type NO runs one process'));
  else section.take('num_processes');
  section.take('num_machines');
}

const LOW = new Set<string>(['fp16', 'bf16', 'fp8']);

interface MixedPrecision {
  readonly value: 'no' | 'fp16' | 'bf16' | 'fp8';
  readonly found: FoundKey;
}

/** Precision that the file asks for: `mixed_precision`, or the old `fp16: true`. */
function mixedPrecisionOf(section: Section): MixedPrecision | undefined {
  const found = section.find('mixed_precision');
  const text = textOf(found?.node)?.toLowerCase();
  if (found && text !== undefined) {
    if (LOW.has(text)) return { value: text as 'fp16' | 'bf16' | 'fp8', found };
    return flagOf(found.node) === false ? { value: 'no', found } : undefined;
  }
  const old = section.find('fp16');
  return old && flagOf(old.node) === true ? { value: 'fp16', found: old } : undefined;
}

const FP8_LIBRARIES: Readonly<Record<string, FieldValue<'precision.fp8'>>> = {
  te: 'transformer-engine',
  ao: 'torchao',
};

/** Who multiplies in fp8: as stated, else torchao is looked for first (`accelerator.py`, `__init__`). */
function readFp8(section: Section, kind: RunKind, mixed: FoundKey, draft: Draft): void {
  const found = section.find(['fp8_config.backend', 'fp8_config.fp8_backend', 'fp8_backend']);
  const backend = textOf(found?.node)?.toLowerCase();
  if (found && backend === 'msamp' && kind.type !== 'DEEPSPEED') {
    // Accelerate's default is O2 (`MSAMPRecipeKwargs`).
    const level = section.text(['fp8_config.opt_level', 'fp8_config.fp8_opt_level']);
    section.state('precision.fp8', level?.toUpperCase() === 'O1' ? 'ms-amp-o1' : 'ms-amp-o2', found);
    return;
  }
  if (found && backend === 'msamp') {
    section.bring('fp8-training', found);
    draft.report(
      'fp8-not-modelled',
      'information',
      say('MS-AMP under DeepSpeed is not modelled: the estimate takes bf16 products, which needs more.'),
      found.node.range,
    );
    return;
  }
  const library = FP8_LIBRARIES[backend ?? ''];
  if (found && library) section.state('precision.fp8', library, found);
  else section.state('precision.fp8', 'torchao', mixed, say('Accelerate looks for torchao first'));
}

function readPrecision(section: Section, kind: RunKind, draft: Draft): void {
  const mixed = mixedPrecisionOf(section);
  // The linked DeepSpeed file states which precision it is.
  if (kind.type === 'DEEPSPEED' && section.has('deepspeed_config.deepspeed_config_file') && !mixed) return;
  if (!mixed || mixed.value === 'no') {
    readFullPrecision(mixed, draft);
    return;
  }
  const { value, found } = mixed;
  // Products in fp8 run inside autocast to bf16: results and what is kept of them have its type.
  const base: DType = value === 'fp8' ? 'bf16' : value;
  section.state('precision.compute', base, found);
  if (value === 'fp8') readFp8(section, kind, found, draft);
  switch (kind.type) {
    case 'DEEPSPEED':
      section.state('precision.scheme', 'deepspeed', found);
      section.state('precision.weights', base, found, say('DeepSpeed holds weights in the low precision'));
      break;
    case 'MEGATRON_LM':
      section.state('precision.scheme', 'megatron', found);
      section.state('precision.weights', base, found);
      break;
    case 'FSDP':
      section.state('precision.scheme', 'fsdp', found);
      // Trained weights are upcast to fp32 and split so (`precision.masterWeights`); frozen ones stay as loaded.
      section.state(
        'precision.masterWeights',
        'fp32',
        found,
        say('Accelerate upcasts trained weights to fp32 under FSDP mixed precision and splits them so'),
      );
      inferWeights(draft);
      section.assume('precision.reduce', {
        value: base,
        note: say('FSDP mixed precision of Accelerate reduces in the low precision'),
        source: DOCS,
      });
      break;
    default:
      section.state('precision.scheme', 'autocast', found);
      inferWeights(draft);
  }
}

/**
 * `no` is what `accelerate config` writes unless asked, and what a script asks for comes before it: `TrainingArguments` writes the variable
 * anew (`transformers/training_args.py`, `ACCELERATE_MIXED_PRECISION`), and so does `Accelerator(mixed_precision=...)`.
 */
function readFullPrecision(mixed: MixedPrecision | undefined, draft: Draft): void {
  const note = mixed
    ? say('no mixed precision, unless the script asks for it')
    : say('Accelerate default: no mixed precision');
  draft.assume('precision.scheme', 'native', note, DOCS, 'mixed_precision');
  inferWeights(draft);
}

/** Accelerate does not say how the script loads the model. */
function inferWeights(draft: Draft): void {
  const note = say('transformers 4 loads weights in fp32, transformers 5 in the type of the checkpoint');
  draft.infer('precision.weights', 'fp32', note);
}

function readData(section: Section, kind: RunKind, draft: Draft): void {
  const type = section.find('distributed_type');
  if (!type) return;
  switch (kind.type) {
    case 'NO':
      section.state('parallel.data', 'none', type);
      break;
    case 'MULTI_GPU':
    case 'DATA_PARALLEL':
      section.state('parallel.data', 'ddp', type);
      break;
    case 'DEEPSPEED':
      section.state('parallel.data', 'zero', type);
      readDeepspeedBlock(section.section('deepspeed_config'), draft);
      break;
    case 'FSDP':
      readFsdp(section, type, draft);
      break;
    case 'MEGATRON_LM':
      section.state('parallel.data', 'ddp', type);
      readMegatron(section);
      break;
    default:
      // Whatever device it is, `prepare_model` wraps it so (`accelerator.py`, `DistributedDataParallel`); XLA keeps replicas, too.
      if (kind.others !== undefined) section.state('parallel.data', 'ddp', type);
      break;
  }
}

const DEEPSPEED = 'https://huggingface.co/docs/accelerate/usage_guides/deepspeed';

function readDeepspeedBlock(block: Section, draft: Draft): void {
  if (block.text('deepspeed_config_file') !== 'none' && block.link('deepspeed_config_file', 'deepspeed')) {
    fillStage(block, draft);
    return;
  }
  block.take('zero_stage');
  const stage = block.integerOrDefault('zero_stage');
  // The DeepSpeed config that Accelerate generates leaves these to DeepSpeed.
  readZero(new Section(undefined, draft, '', DEEPSPEED_TABLE).section('zero_optimization'), stage);
  block.take('gradient_accumulation_steps');
  // Stage 3 builds the model in shards, and saves it so, unless set otherwise.
  if (stage === 3) block.take('zero3_init_flag', 'zero3_save_16bit_model');
  const leaves = block.find('deepspeed_moe_layer_cls_names');
  // Names between commas (Accelerate, `dataclasses.py`, `set_moe_leaf_modules`).
  const names = block
    .text('deepspeed_moe_layer_cls_names')
    ?.split(',')
    .map((name) => name.trim());
  if (leaves && names && names[0] !== '') block.state('zero.leafModules', names, leaves);
  const offload: readonly [string, 'offload.optimizer' | 'offload.parameters', number][] = [
    ['offload_optimizer_device', 'offload.optimizer', 1],
    ['offload_param_device', 'offload.parameters', 3],
  ];
  for (const [key, field, from] of offload) {
    const none = block.text(key)?.toLowerCase() === 'none';
    // What the stage cannot move stays.
    if (none || stage >= from) block.take(key);
    else
      block.assume(field, { value: 'none', note: say('{0} default', 'Accelerate'), source: DEEPSPEED }, key);
  }
}

/** Beside a DeepSpeed file the stage stands in for nothing but its `auto`. */
function fillStage(block: Section, draft: Draft): void {
  const found = block.find('zero_stage');
  const stage = integerOf(found?.node);
  if (found && stage !== undefined)
    draft.infer(
      'zero.stage',
      stage,
      say('auto: {0}', `--${found.key.split('.').at(-1)}`),
      found.node,
      found.key,
    );
}

function readParallelism(section: Section, { model }: Pick<ReadContext, 'model'>): void {
  const block = section.section('parallelism_config');
  const tensor = block.find('parallelism_config_tp_size');
  // It is trained whole on each of these GPUs.
  const splits = block.integerOrDefault('parallelism_config_tp_size') > 1;
  if (tensor && splits && lacksTensorPlan(model?.config?.model_type))
    block.leave(tensor, ['parallel.tensor']);
  block.take('parallelism_config_tp_size', 'parallelism_config_cp_size');
  block.take('parallelism_config_sp_size', 'parallelism_config_dp_replicate_size');
  if (block.integerOrDefault('parallelism_config_sp_size') > 1)
    block.take('parallelism_config_sp_attn_implementation');
}
