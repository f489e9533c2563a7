import { interpolated } from '../../config/interpolation';
import { nodeAt } from '../../config/lookup';
import type { ConfigDocument, ConfigNode, MapNode } from '../../config/node';
import { flagOf, integerOf, isAuto, isBlank, plainOf, textOf, textsOf } from '../../config/scalar';
import { unevenGroups } from '../../run/derive';
import type { FieldValue } from '../../run/fields';
import { say } from '../../wording/say';
import { readOverrides } from '../config-overrides';
import type { Dialect, ReadContext, Reading } from '../dialect';
import { Draft } from '../draft';
import { isMultimodal } from '../hf/multimodal-parts';
import { scriptPolicy } from '../hf/training-arguments-rules';
import { inferUnnamed, weightsDtypeOf } from '../hf/weights-dtype';
import { checkKeys, type KeyPolicy, rejectMisfits } from '../key-check';
import { assumeLength } from '../length-cap';
import { classOptimizer } from '../optimizer-names';
import { forbid } from '../refusal';
import { Section } from '../section';
import { stateOptimizer } from '../stated-optimizer';
import { AUTOMODEL_SOURCE, own } from './automodel-default';
import { kernelQuestions, readKernels } from './automodel-kernels';
import { AUTOMODEL_KEYS, AUTOMODEL_TABLE, LENGTH_KEYS, MACHINES_KEYS } from './automodel-keys';
import { readRecipe } from './automodel-recipes';
import { automodelWords } from './automodel-words';
import { bringAutomodelPrediction } from './further-tokens';

/** Null is what is not given, whatever the key takes. */
const policy: KeyPolicy = { ...scriptPolicy('Automodel'), accepts: isBlank };

/** NeMo Automodel: transformers' models under FSDP 2, Megatron-FSDP or DDP. */
export const nemoAutomodel: Dialect = {
  id: 'nemo-automodel',
  name: 'NeMo Automodel',
  keys: AUTOMODEL_KEYS,
  words: automodelWords,
  joins: { questions: kernelQuestions },
  markers: /\bstep_scheduler\s*:|\bnemo_automodel\b/,
  detect(root: ConfigNode): number {
    const has = (path: string) => nodeAt(root, path) !== undefined;
    if (root.kind !== 'map') return 0;
    if (has('step_scheduler.local_batch_size') || has('step_scheduler.global_batch_size')) return 1;
    const recipe = textOf(nodeAt(root, 'recipe')) ?? '';
    if (has('recipe_args') && /Recipe/.test(recipe)) return 0.9;
    if (!has('step_scheduler') && !has('model')) return 0;
    const named = ['model._target_', 'recipe._target_', 'loss_fn._target_'].some((path) =>
      /^nemo_automodel\./.test(textOf(nodeAt(root, path)) ?? ''),
    );
    return named || /^nemo_automodel\./.test(recipe) ? 0.9 : 0;
  },
  read(document: ConfigDocument, context: ReadContext): Reading {
    const draft = new Draft(document, context);
    const { root } = document;
    if (root?.kind !== 'map') return draft.reading();
    const whole = interpolated(root);
    const filled = whole && translated(whole);
    if (filled?.kind !== 'map') return draft.reading();
    const section = new Section(filled, draft, '', AUTOMODEL_TABLE);
    draft.assume('framework', 'nemo-automodel', say('the file is an {0} config', 'Automodel'));
    readRecipe(section, draft);
    readModel(section, draft, context);
    bringAutomodelPrediction(section, context.model);
    readDistributed(section, draft);
    readPrecision(section, draft, context);
    readBatch(section, draft);
    readMethod(section, draft, context);
    readOptimizer(section);
    rejectMisfits(filled, AUTOMODEL_TABLE, draft);
    draft.rules(() => check(filled, section, context, draft));
    return draft.reading();
  },
};

/** The words that Automodel takes for Python's `None` (`components/config/loader.py`, `translate_value`). */
const NOTHING: ReadonlySet<unknown> = new Set(['none', 'None']);

function translated(node: ConfigNode): ConfigNode {
  if (node.kind === 'map')
    return { ...node, entries: node.entries.map((entry) => ({ ...entry, value: translated(entry.value) })) };
  if (node.kind === 'list') return { ...node, items: node.items.map(translated) };
  return NOTHING.has(node.value) ? { ...node, value: null } : node;
}

/** Arguments of `model.config` that are no fields of a config. */
const NO_FIELDS: ReadonlySet<string> = new Set(
  '_target_ pretrained_model_name_or_path name_or_path trust_remote_code attn_implementation torch_dtype revision use_cache'.split(
    ' ',
  ),
);

/** Fields of a config that stand in `model.config`: a model of their own, or over those of a model that is named. */
function readConfigFields(section: Section, draft: Draft, named: boolean): void {
  const found = section.find('model.config');
  if (found?.node.kind !== 'map') return;
  if (named) {
    readOverrides(section, draft, ['model.config']);
    return;
  }
  const config = Object.fromEntries(
    Object.entries(plainOf(found.node) as Readonly<Record<string, unknown>>).filter(
      ([name]) => !NO_FIELDS.has(name),
    ),
  );
  if (typeof config.model_type === 'string') section.state('model.config', config as never, found);
}

function readModel(section: Section, draft: Draft, context: ReadContext): void {
  const found = section.find([
    'model.pretrained_model_name_or_path',
    'model.config.pretrained_model_name_or_path',
    'model.config.name_or_path',
  ]);
  const plain = section.find('model.config');
  const id = textOf(found?.node) ?? textOf(plain?.node);
  const at = found ?? plain;
  if (at && id !== undefined && id !== '') section.state('model.id', id, at);
  readConfigFields(section, draft, at !== undefined && id !== undefined);
  readKernels(section, context);
  section.take('compile.enabled');
  const loss = section.find('loss_fn._target_');
  const target = textOf(loss?.node) ?? '';
  const losses: readonly (readonly [RegExp, FieldValue<'loss.implementation'>])[] = [
    [/FusedLinearCrossEntropy|linear_ce/, 'cut'],
    [/ChunkedCrossEntropy|chunked_ce/, 'chunked'],
    [/TEParallelCrossEntropy|te_parallel_ce/, 'in-place'],
  ];
  const named = losses.find(([pattern]) => pattern.test(target));
  if (loss && named) section.state('loss.implementation', named[1], loss);
  else if (loss && /MaskedCrossEntropy/.test(target))
    section.state(
      'loss.implementation',
      section.flag('loss_fn.fp32_upcast') === false ? 'native' : 'full',
      loss,
    );
  else if (loss) section.leave(loss, ['loss.implementation']);
}

const SCHEDULES: readonly (readonly [RegExp, FieldValue<'parallel.pipelineSchedule'>])[] = [
  [/^interleaved1f1b$/, 'interleaved'],
  [/^gpipe$/, 'gpipe'],
  [/^loopedbfs$/, 'looped-bfs'],
  [/^zbvzerobubble$/, 'zbv'],
  [/^interleavedzerobubble$/, 'zero-bubble'],
  [/^dualpipev$/, 'dualpipev'],
  [/^1f1b$/, '1f1b'],
];

/**
 * Automodel's plans of tensor parallelism for Llama, Qwen, Mistral, Gemma and Phi: rows of the embedding, and logits that stay split
 * until the loss. Models without a plan of their own have that of transformers.
 */
export function assumeTensorPlan(section: Section, size: number): void {
  if (size <= 1) return;
  const plans = 'components/distributed/optimized_tp_plans.py';
  section.assume('parallel.embedding', own('split' as const, say('its plans split the embedding'), plans));
  section.assume('parallel.headOutput', own('split' as const, say('its plans leave logits split'), plans));
}

/**
 * Layers stay gathered until their backward pass under a pipeline (`distributed/parallelizer.py`), and where experts are spread over
 * GPUs (`MoEParallelizerConfig`), unless the file states otherwise.
 */
function readResharding(section: Section): void {
  const size = (key: string) => section.integerOrDefault(`distributed.${key}`) > 1;
  const found = size('ep_size')
    ? section.find(['distributed.moe.reshard_after_forward', 'parallelizer.reshard_after_forward'])
    : section.find('distributed.reshard_after_forward');
  const reshards = flagOf(found?.node);
  if (found && reshards !== undefined)
    section.state('fsdp.strategy', reshards ? ('full' as const) : ('grad-op' as const), found);
  else
    section.assume(
      'fsdp.strategy',
      own(size('ep_size') || size('pp_size') ? ('grad-op' as const) : ('full' as const)),
    );
  if (size('ep_size'))
    section.assume(
      'fsdp.gathersWholeExperts',
      own(false, say('whole experts are left out'), 'components/moe/parallelizer.py'),
    );
}

function readDistributed(section: Section, draft: Draft): void {
  const block = section.section('distributed');
  const found = section.find(['distributed.strategy', 'distributed._target_', 'distributed']);
  const word = section.textOrDefault(['distributed.strategy', 'distributed._target_']);
  const replicas = /ddp/i.test(word) && !/fsdp/i.test(word);
  if (found && !/ddp|fsdp/i.test(word)) section.leave(found, ['parallel.data']);
  const place = found && (found.node.kind === 'map' ? undefined : found);
  if (place) section.state('parallel.data', replicas ? 'ddp' : 'fsdp2', place);
  else section.assume('parallel.data', own('fsdp2' as const, say('Automodel shards by FSDP 2')));
  block.take('tp_size', 'cp_size', 'pp_size', 'ep_size', 'sequence_parallel', 'dp_replicate_size');
  assumeTensorPlan(block, block.integerOrDefault('tp_size'));
  const data = block.find('dp_size');
  const copies = integerOf(data?.node);
  const size = (key: string) => block.integerOrDefault(key);
  if (data && copies !== undefined && copies > 0)
    block.state(
      'hardware.gpus',
      copies * size('tp_size') * size('pp_size') * size('cp_size'),
      data,
      say('product of the sizes'),
    );
  section.take(...MACHINES_KEYS);
  if (!replicas) {
    readResharding(section);
    block.takeElse(
      'defer_fsdp_grad_sync',
      own(false, say('gradients are reduced with the last micro batch')),
    );
  }
  const schedule = block.text('pipeline.pp_schedule');
  const plan = block.find('pipeline.pp_schedule');
  const named = SCHEDULES.find(([pattern]) =>
    pattern.test((schedule ?? '').toLowerCase().replace(/[^a-z0-9]/g, '')),
  );
  if (plan && named && size('pp_size') > 1) block.state('parallel.pipelineSchedule', named[1], plan);
  else if (plan && !named) block.leave(plan, ['parallel.pipelineSchedule']);
  const recompute = block.find('activation_checkpointing');
  // Recipes called that plan with its own switch once; those of today read `distributed` alone.
  const planned = section.find('parallelizer.activation_checkpointing');
  const mode = textOf(recompute?.node)?.toLowerCase();
  const on = flagOf(recompute?.node);
  if (recompute && mode === 'selective') block.state('activations.checkpointing', 'selective', recompute);
  else if (recompute && (on !== undefined || mode === 'full'))
    block.state('activations.checkpointing', on === false ? 'none' : 'full', recompute);
  else if (recompute) block.leave(recompute, ['activations.checkpointing']);
  else if (planned && flagOf(planned.node) === true)
    draft.leave(
      'value',
      planned.node,
      'activation_checkpointing',
      say('`{0}` counts in some releases of {1} only.', 'parallelizer.activation_checkpointing', 'Automodel'),
      ['activations.checkpointing'],
    );
  else block.assume('activations.checkpointing', own('none' as const), 'activation_checkpointing');
  section.assume('activations.reentrant', own(false, say('Automodel checkpoints without reentry')));
  const offload = block.find('offload_policy._target_');
  if (offload && /CPUOffloadPolicy/.test(textOf(offload.node) ?? '')) {
    block.state('offload.parameters', 'cpu', offload);
    block.state('offload.optimizer', 'cpu', offload);
  }
}

/**
 * Weights in the type that the model is loaded in (bf16 unless it is published otherwise), computed in bf16 and reduced in
 * fp32 (`components/distributed/config.py`, `mp_policy`).
 */
function readPrecision(section: Section, draft: Draft, context: ReadContext): void {
  const found = section.find(['model.torch_dtype', 'model.dtype', 'model.config.torch_dtype']);
  const type = weightsDtypeOf(textOf(found?.node));
  const published = context.model?.publishedDtype;
  const weights = type ?? (published === 'fp32' || published === 'fp16' ? published : 'bf16');
  if (found && type) section.state('precision.weights', type, found);
  else if (found && !isAuto(found.node)) section.leave(found, ['precision.weights', 'precision.compute']);
  else if (!published && context.model) inferUnnamed(draft, found?.node, found?.key);
  else
    section.assume(
      'precision.weights',
      own(weights, say('as published'), '_transformers/auto_model.py'),
      'model.torch_dtype',
    );
  const compute = section.find('distributed.mp_policy.param_dtype');
  const named = weightsDtypeOf(textOf(compute?.node));
  const lower = named ?? 'bf16';
  if (compute && !named) section.leave(compute, ['precision.compute']);
  else if (compute) section.state('precision.compute', lower, compute);
  else section.assume('precision.compute', own(lower));
  const wide = weights === 'fp32' && lower !== 'fp32';
  section.assume(
    'precision.scheme',
    own(
      wide ? ('fsdp' as const) : ('native' as const),
      wide ? say('shards are fp32') : say('weights are computed in their own type'),
    ),
  );
  if (wide) section.assume('precision.masterWeights', own('fp32' as const, say('shards are fp32')));
  const reduce = section.find('distributed.mp_policy.reduce_dtype');
  const reduced = weightsDtypeOf(textOf(reduce?.node));
  if (reduce && reduced) section.state('precision.reduce', reduced, reduce);
  else section.assume('precision.reduce', own('fp32' as const));
  const fp8 = section.find('fp8.enabled');
  if (fp8 && flagOf(fp8.node) === true) section.state('precision.fp8', 'torchao', fp8);
}

function readBatch(section: Section, draft: Draft): void {
  const stages = section.integerOrDefault('distributed.pp_size');
  const piece = 'distributed.pipeline.pp_microbatch_size';
  if (stages > 1 && section.has(piece)) section.take(piece);
  else if (stages > 1) section.assume('batch.micro', own(1, say('one sample per micro batch of a pipeline')));
  section.take('step_scheduler.local_batch_size', 'recipe_args.micro_batch_size');
  section.take('step_scheduler.global_batch_size', 'step_scheduler.max_steps');
  const packing = section.find(['packed_sequence.packed_sequence_size', 'packed_sequence.pack_size']);
  const row = integerOf(packing?.node);
  if (packing && row !== undefined) section.state('batch.packed', row > 0, packing);
  if (packing && row !== undefined && row > 0) section.state('batch.sequence', row, packing);
  const stated = section.take(...LENGTH_KEYS);
  const at = section.find('dataset')?.node ?? section.find('step_scheduler')?.node;
  if (!stated && !draft.knows('batch.sequence'))
    assumeLength(draft, 'dataset.seq_length', at, `${AUTOMODEL_SOURCE}components/datasets/utils.py`);
  const validation = section.find(['validation_dataset', 'validation_dataloader']);
  if (validation) section.state('evaluation.enabled', true, validation);
}

/** Every linear layer, the head among them. */
const EVERY_LINEAR = ['all-linear', 'lm_head'];

/**
 * The regular expression that a word of `target_modules` is: `*` is any text, and a dot before it is part of that
 * (`components/_peft/module_matcher.py`, `_compile_wildcard_pattern`). A word without one names a module.
 */
function matcherPattern(word: string): string {
  if (!word.includes('*')) return `(.*\\.)?${word}`;
  return word.replace(/(?<!\.)\*/g, '.*').replace(/\.\*/g, '(.*)');
}

/** Asked for all linear layers Automodel adapts the head, too; given what to leave out, all the others; given nothing, `*_proj`. */
export function readTargets(peft: Section): void {
  const all = peft.find('match_all_linear');
  const targets = peft.texts('target_modules') ?? [];
  const place = peft.find('target_modules');
  const without = peft.find('exclude_modules');
  const excluded = textsOf(without?.node) ?? [];
  const every = all && flagOf(all.node) === true ? all : targets.includes('*') ? place : undefined;
  if (every) peft.state('lora.targets', EVERY_LINEAR, every);
  else if (place && targets.length > 0)
    peft.state('lora.targetPattern', targets.map(matcherPattern).join('|'), place);
  else if (without && excluded.length > 0) {
    peft.state('lora.targets', EVERY_LINEAR, without);
    peft.state('lora.exclude', [...excluded], without);
  } else
    peft.assume(
      'lora.targetPattern',
      own(matcherPattern('*_proj'), say('{0} default', 'Automodel'), 'components/_peft/module_matcher.py'),
      'target_modules',
    );
}

/** What a switch of `freeze_config` freezes by parts of names, and its default (`components/utils/model_utils.py`). */
const FREEZES = [
  ['freeze_vision_tower', true, ['vision', 'visual', 'image_encoder']],
  ['freeze_audio_tower', false, ['audio', 'speech', 'sound']],
] as const;

/** Parts of names that `freeze_config` freezes, of a model that sees or hears; its adapters are frozen with them. */
function frozenNames(section: Section, context: ReadContext): string[] {
  const block = section.find('freeze_config');
  if (block?.node.kind !== 'map' || !isMultimodal(context)) return [];
  const frozen = section.section('freeze_config');
  // Modules that are named leave nothing to be frozen by default.
  const named = frozen.has('freeze_modules') || frozen.has('unfreeze_modules');
  return FREEZES.flatMap(([key, byDefault, names]) =>
    (frozen.flag(key) ?? (byDefault && !named)) ? names : [],
  );
}

/** Parts of `freeze_config` that freeze or train weights by names of the framework's own modules. */
const BY_MODULE = ['freeze_config.freeze_modules', 'freeze_config.unfreeze_modules'] as const;

/** What `freeze_config` leaves to be trained where there are no adapters; whether it states anything of that. */
export function readFreezes(section: Section, draft: Draft, context: ReadContext): boolean {
  const freezes = section.find('freeze_config');
  const frozen = frozenNames(section, context);
  const language = section.find('freeze_config.freeze_language_model');
  const silenced = flagOf(language?.node) === true && isMultimodal(context) ? language : undefined;
  const unknown = section.find([...BY_MODULE]) ?? silenced;
  if (unknown) {
    const message = say('It is not known which weights `{0}` freezes.', unknown.key);
    draft.leave('value', unknown.node, unknown.key, message, ['method.kind']);
    return true;
  }
  if (!freezes || frozen.length === 0) return false;
  section.state('method.kind', 'freeze', freezes);
  section.state('method.trainable', [`(?!.*(?:${frozen.join('|')}))`], freezes);
  return true;
}

/** Keeps adapters off what `freeze_config` freezes: they are frozen with it. */
export function excludeFrozen(section: Section, context: ReadContext): void {
  const freezes = section.find('freeze_config');
  const frozen = frozenNames(section, context);
  if (freezes && frozen.length > 0)
    section.state(
      'lora.exclude',
      frozen.map((name) => `*${name}*`),
      freezes,
    );
}

function readMethod(section: Section, draft: Draft, context: ReadContext): void {
  const found = section.find(['peft._target_', 'peft.dim', 'peft.match_all_linear', 'peft.target_modules']);
  const peft = section.section('peft');
  if (!found) {
    if (!readFreezes(section, draft, context)) section.assume('method.kind', own('full' as const));
    return;
  }
  if (!peft.has('exclude_modules')) excludeFrozen(section, context);
  section.state('method.kind', 'lora', found);
  const lora = 'components/_peft/lora.py';
  peft.take('dim', 'alpha', 'dropout', 'use_dora');
  readTargets(peft);
  const dtype = peft.find('lora_dtype');
  const type = weightsDtypeOf(textOf(dtype?.node)?.replace(/^torch\./, ''));
  if (dtype && type) peft.state('lora.dtype', type, dtype);
  else peft.assume('lora.dtype', own('bf16' as const, say('as the base weights'), lora));
  const four = section.find('quantization.load_in_4bit');
  const eight = section.find('quantization.load_in_8bit');
  if (four && flagOf(four.node) === true) {
    const fp4 = section.text('quantization.bnb_4bit_quant_type') === 'fp4';
    section.state('quantization.kind', fp4 ? 'fp4' : 'nf4', four);
    section.take('quantization.bnb_4bit_use_double_quant', 'quantization.bnb_4bit_quant_storage');
  } else if (eight && flagOf(eight.node) === true) section.state('quantization.kind', 'int8', eight);
  section.assume(
    'quantization.prepared',
    own(false, say('`prepare_model_for_kbit_training` is not called'), 'components/quantization/qlora.py'),
  );
}

function readOptimizer(section: Section): void {
  const found = section.find('optimizer._target_');
  const block = section.find('optimizer');
  const name = textOf(found?.node)
    ?.replace(/^flashoptim\.(\w+)$/, 'torch.optim.$1')
    .replace(/FlashAdamW/, 'AdamW');
  if (!found || name === undefined) return;
  const options = block?.node.kind === 'map' ? (plainOf(block.node) as Record<string, unknown>) : {};
  const values = classOptimizer(name, options);
  stateOptimizer(section, values, found);
}

function check(root: MapNode, section: Section, context: ReadContext, draft: Draft): void {
  checkKeys(root, AUTOMODEL_TABLE, policy, draft);
  const source = `${AUTOMODEL_SOURCE}components/training/step_scheduler.py`;
  const node = (key: string) => section.find(key)?.node;
  const local = section.integer('step_scheduler.local_batch_size');
  const global = section.integer('step_scheduler.global_batch_size');
  for (const key of ['local_batch_size', 'global_batch_size'] as const) {
    const path = `step_scheduler.${key}`;
    const stated = section.integer(path);
    forbid(stated !== undefined && stated <= 0, node(path), draft, {
      code: 'batch-size',
      message: say('`{0}` must be greater than 0.', key),
      source,
    });
  }
  const size = (key: string) => section.integerOrDefault(`distributed.${key}`);
  const split = size('tp_size') * size('pp_size') * size('cp_size');
  const gpus = context.known['hardware.gpus'];
  const copies =
    section.integer('distributed.dp_size') ?? (typeof gpus === 'number' ? gpus / split : Number.NaN);
  forbid(
    typeof gpus === 'number' && gpus % split !== 0,
    node('distributed.tp_size') ?? node('distributed.pp_size'),
    draft,
    {
      code: 'world-size',
      message: unevenGroups(Number(gpus), split, {
        tensor: size('tp_size'),
        pipeline: size('pp_size'),
        context: size('cp_size'),
      }),
      source: `${AUTOMODEL_SOURCE}components/distributed/mesh_utils.py`,
    },
  );
  forbid(
    local !== undefined &&
      local > 0 &&
      global !== undefined &&
      Number.isInteger(copies) &&
      copies > 0 &&
      global % (local * copies) !== 0,
    node('step_scheduler.global_batch_size'),
    draft,
    {
      code: 'batch-not-divisible',
      message: say(
        'A global batch of {0} is not a multiple of {1} samples × {2} replicas.',
        String(global),
        String(local),
        copies,
      ),
      source,
    },
  );
  const piece = section.integer('distributed.pipeline.pp_microbatch_size');
  forbid(
    size('pp_size') > 1 && piece !== undefined && piece > 0 && local !== undefined && local % piece !== 0,
    node('distributed.pipeline.pp_microbatch_size'),
    draft,
    {
      code: 'batch-not-divisible',
      message: say(
        '{0} samples per GPU cannot be cut into micro batches of {1}.',
        String(local),
        String(piece),
      ),
      source: `${AUTOMODEL_SOURCE}components/distributed/pipelining/functional.py`,
    },
  );
}
