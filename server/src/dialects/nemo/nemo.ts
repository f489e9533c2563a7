import { interpolated } from '../../config/interpolation';
import { entryOf, mapAt, nodeAt } from '../../config/lookup';
import type { ConfigDocument, ConfigNode, MapNode } from '../../config/node';
import { flagOf, integerOf, isBlank, textOf, textsOf } from '../../config/scalar';
import { fileIn } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { Dialect, ReadContext, Reading } from '../dialect';
import { Draft } from '../draft';
import { scriptPolicy } from '../hf/training-arguments-rules';
import { weightsDtypeOf } from '../hf/weights-dtype';
import { checkKeys, type KeyPolicy, rejectMisfits } from '../key-check';
import { reportVocabulary } from '../megatron/megatron-arguments';
import { checkMegatron } from '../megatron/megatron-rules';
import { megatron, readFp8, readParallelism, readRecomputation } from '../megatron/parallel-arguments';
import { SpelledSection, type Spelling } from '../megatron/spelled-section';
import { MEGATRON_OPTIMIZERS, optimizerIn, torchOptimizer } from '../optimizer-names';
import { forbid } from '../refusal';
import { type DefaultValue, type FoundKey, Section } from '../section';
import { stateOptimizer } from '../stated-optimizer';
import { NEMO_KEYS, NEMO_TABLE } from './nemo-keys';
import { nemoModel } from './nemo-model';
import { NEMO } from './nemo-repository';

const SOURCE = fileIn(NEMO, '');
/** Scripts put blocks of their own at the top. */
const policy: KeyPolicy = { ...scriptPolicy('NeMo'), unknown: () => undefined, accepts: isBlank };

function own<V>(value: V, note = say('{0} default', 'NeMo')): DefaultValue<V> {
  return { value, note, source: `${SOURCE}examples/nlp/language_modeling/conf/megatron_gpt_config.yaml` };
}

/** How NeMo spells what Megatron calls so, within `model`. */
const SPELLING: Spelling = {
  // The dataset is built with that of the data (`megatron_gpt_model.py`, `build_train_valid_test_datasets`).
  seq_length: [
    'data.seq_length',
    'encoder_seq_length',
    'seq_length',
    'data.train_ds.max_seq_length',
    'data.train_ds.seq_length',
    // `megatron_t0_config.yaml`: source and target have lengths of their own.
    'data.train_ds.max_src_seq_length',
    'data.max_seq_length',
    'data.common.max_seq_length',
    'dataset.max_seq_length',
  ],
  micro_batch_size: ['micro_batch_size', 'data.train_ds.micro_batch_size', 'data.common.micro_batch_size'],
  global_batch_size: [
    'global_batch_size',
    'data.train_ds.global_batch_size',
    'data.common.global_batch_size',
  ],
  recompute_granularity: ['activations_checkpoint_granularity'],
  recompute_method: ['activations_checkpoint_method'],
  recompute_num_layers: ['activations_checkpoint_num_layers'],
  num_experts: ['num_moe_experts'],
  tp_comm_overlap: ['ub_tp_comm_overlap'],
  fp8_format: ['fp8_hybrid'],
};

/** NeMo 1's Megatron configs, and those of NeMo 2 that speak to Lightning the same way. */
export const nemo: Dialect = {
  id: 'nemo',
  name: 'NeMo',
  optimizers: Object.keys(MEGATRON_OPTIMIZERS),
  keys: NEMO_KEYS,
  markers: /^[ \t]*(?:exp_manager|trainer|cfg)\s*:/m,
  detect(root: ConfigNode): number {
    const has = (path: string) => nodeAt(root, path) !== undefined;
    if (root.kind !== 'map' || asksOnly(has)) return 0;
    if (has('cfg.micro_batch_size') && has('cfg.tensor_model_parallel_size')) return 0.8;
    if (!has('trainer')) return 0;
    const machines = has('trainer.devices') || has('trainer.num_nodes');
    const megatron =
      has('model.micro_batch_size') ||
      has('model.tensor_model_parallel_size') ||
      has('model.megatron_amp_O2');
    if (megatron && machines) return 1;
    if (has('exp_manager') && has('model') && machines) return 0.9;
    const places = ['strategy', 'trainer.strategy', 'trainer', 'model.llm', 'model'];
    const own = places.some((path) => /^nemo\./.test(textOf(nodeAt(root, `${path}._target_`)) ?? ''));
    return has('model') && own ? 0.9 : 0;
  },
  read(document: ConfigDocument, context: ReadContext): Reading {
    const draft = new Draft(document, context);
    const { root } = document;
    if (root?.kind !== 'map') return draft.reading();
    const filled = interpolated(root);
    if (filled?.kind !== 'map') return draft.reading();
    const section = new Section(filled, draft, '', NEMO_TABLE);
    const { node, prefix } = modelOf(filled);
    const rows = { table: NEMO_TABLE, below: `${prefix}.`, top: section };
    const model = new SpelledSection(node, draft, SPELLING, prefix, undefined, rows);
    draft.assume('framework', 'nemo', say('the file is a {0} config', 'NeMo'));
    section.assume('model.code', megatron('megatron' as const, '', say('NeMo runs Megatron-Core')));
    readTrainer(section, draft);
    readModel(model, section, draft);
    readParallelism(model, model.integer('num_layers'));
    readRecomputation(model);
    readPrecision(section, model);
    readOptimizer(model, section, draft);
    readPeft(model, draft);
    readBatch(model, section);
    rejectMisfits(filled, NEMO_TABLE, draft);
    draft.rules(() => check(filled, section, model, context, draft));
    return draft.reading();
  },
};

/** What a run reads that trains nothing: samples to test with, or a checkpoint of another layout (the launcher's `evaluation`, `conversion`). */
const TESTED = ['data.validation_ds', 'data.test_ds', 'data.imagenet_val', 'checkpoint_folder'];

/**
 * A model that is asked, converted or quantized after training: `inference` of generation and its server, `export` of
 * quantization, what the launcher calls a conversion or an evaluation, and samples to test with where there are none to train with and no
 * optimizer, which all that train are given (`core/classes/modelPT.py`, `setup_optimization`).
 */
function asksOnly(has: (path: string) => boolean): boolean {
  const generates = ['greedy', 'tokens_to_generate', 'max_new_tokens', 'add_BOS'].some((key) =>
    has(`inference.${key}`),
  );
  const quantizes = has('export') && (has('quantization.algorithm') || has('quantization.num_calib_size'));
  const trains = ['model.optim', 'model.data.train_ds', 'defaults'].some(has);
  const loads = !trains && TESTED.some((key) => has(`model.${key}`));
  const named = has('pred_file_path') || has('run.convert_name') || has('run.eval_name');
  return generates || quantizes || loads || named;
}

/** The block of the model: `model`, or the saved hyperparameters' `cfg`. */
function modelOf(root: MapNode): { readonly node: MapNode | undefined; readonly prefix: string } {
  const cfg = mapAt(root, 'cfg');
  if (cfg && !entryOf(root, 'trainer')) return { node: cfg, prefix: 'cfg' };
  return { node: mapAt(root, 'model'), prefix: 'model' };
}

function readTrainer(section: Section, draft: Draft): void {
  const devices = section.find('trainer.devices');
  const listed = devices?.node.kind === 'list' ? devices.node.items.length : undefined;
  const each = listed ?? integerOf(devices?.node);
  const stated = section.integer('trainer.num_nodes');
  const machines = section.integerOrDefault('trainer.num_nodes');
  section.take('trainer.num_nodes');
  // How many machines there are is mostly stated where the run is started: `+trainer.num_nodes=$NNODES`.
  if (devices && each !== undefined && each > 0 && stated === undefined)
    draft.infer(
      'hardware.gpus',
      each,
      say('on one machine: nothing says how many there are'),
      devices.node,
      devices.key,
      true,
    );
  else if (devices && each !== undefined && each > 0)
    section.state(
      'hardware.gpus',
      each * machines,
      devices,
      machines > 1 ? say('on each of {0} machines', machines) : undefined,
    );
  const steps = section.find('trainer.max_steps');
  const count = integerOf(steps?.node);
  if (steps && count !== undefined && count > 0) section.state('schedule.steps', count, steps);
  const batches = section.find('trainer.limit_val_batches');
  const limit = Number(textOf(batches?.node));
  if (batches && Number.isFinite(limit)) section.state('evaluation.enabled', limit > 0, batches);
}

function readModel(model: Section, section: Section, draft: Draft): void {
  model.take('make_vocab_size_divisible_by');
  const found = model.find('hidden_size');
  const read = nemoModel(model);
  if (found && read === 'vocabulary')
    reportVocabulary(draft, model.find('tokenizer') ?? found, 'override_vocab_size');
  else if (found && typeof read === 'object') model.state('model.config', read.config, found, read.note);
  else {
    const hub = model.find([
      'llm.pretrained_model',
      'pretrained_llm',
      'hf_model_name',
      'language_model.hf_model',
    ]);
    const id = textOf(hub?.node);
    const whole = !model.has(['speech_encoder', 'perception', 'modality_adapter']);
    if (whole && hub && id !== undefined && /^[\w.-]+\/[\w.-]+$/.test(id)) model.state('model.id', id, hub);
  }
  const engine = model.find('transformer_engine');
  const runsEngine = flagOf(engine?.node);
  if (engine && runsEngine !== undefined) model.state('kernels.transformerEngine', runsEngine, engine);
  else if (engine) model.leave(engine, ['kernels.transformerEngine', 'attention.implementation']);
  else model.assume('kernels.transformerEngine', own(false, say("NeMo's own layers")));
  const fused = model.find('get_attention_mask_from_fusion');
  if (fused && flagOf(fused.node) === false) model.state('batch.pairMask', true, fused);
  else model.assume('batch.pairMask', own(false));
  const flash = model.find('use_flash_attention');
  if (flash && flagOf(flash.node) === true) model.state('attention.implementation', 'flash2', flash);
  else if (model.flag('transformer_engine') === true || model.flag('mcore_gpt') === true)
    model.assume('attention.implementation', {
      ...own('flash2' as const, say('Transformer Engine chooses a fused kernel')),
    });
  else if (section.has('trainer.precision'))
    model.assume(
      'attention.implementation',
      own('eager' as const, say("NeMo's own attention keeps the scores")),
    );
}

const PRECISIONS: Readonly<Record<string, 'fp32' | 'bf16' | 'fp16'>> = {
  '32': 'fp32',
  '32-true': 'fp32',
  fp32: 'fp32',
  '16': 'fp16',
  '16-mixed': 'fp16',
  '16-true': 'fp16',
  fp16: 'fp16',
  bf16: 'bf16',
  'bf16-mixed': 'bf16',
  'bf16-true': 'bf16',
};

/**
 * With `megatron_amp_O2` weights in low precision with fp32 masters and main gradients, else autocast over fp32 weights
 * (`megatron_trainer_builder.py`, `_plugins`).
 */
function readPrecision(section: Section, model: Section): void {
  const found = section.find('trainer.precision') ?? model.find('precision');
  const type = PRECISIONS[textOf(found?.node)?.toLowerCase() ?? ''];
  const wide = model.find('megatron_amp_O2');
  const masters = flagOf(wide?.node) === true;
  readFp8(model);
  if (found && !type) section.leave(found, ['precision.compute', 'precision.weights']);
  if (!found || !type) return;
  section.state('precision.compute', type, found);
  if (type === 'fp32') {
    section.state('precision.scheme', 'megatron', found);
    section.state('precision.weights', 'fp32', found);
    return;
  }
  if (masters && wide) {
    model.state('precision.scheme', 'megatron', wide, say('low-precision weights, fp32 masters'));
    model.state('precision.weights', type, wide);
  } else {
    section.state(
      'precision.scheme',
      'autocast',
      found,
      say('autocast over fp32 weights: `megatron_amp_O2` is off'),
    );
    section.state('precision.weights', 'fp32', found);
  }
  const sync = model.find('optim.grad_sync_dtype');
  const narrow = weightsDtypeOf(textOf(sync?.node));
  if (masters && sync && narrow) model.state('precision.gradientAccumulation', narrow, sync);
  else if (masters && type === 'bf16')
    model.assume(
      'precision.gradientAccumulation',
      own('fp32' as const, say('gradients are accumulated in fp32')),
    );
}

function readOptimizer(model: Section, section: Section, draft: Draft): void {
  const found = model.find('optim.name') ?? section.find('optim.name');
  const name = textOf(found?.node);
  if (!found || name === undefined) return;
  const lower = name.toLowerCase();
  const classes: Readonly<Record<string, string>> = {
    adamw: 'AdamW',
    adam: 'Adam',
    sgd: 'SGD',
    adagrad: 'Adagrad',
    // The widths of mup scale the steps, not what is kept (`megatron/mup/optim.py`).
    muadam: 'Adam',
    muadamw: 'AdamW',
  };
  const values = optimizerIn(MEGATRON_OPTIMIZERS, lower) ?? torchOptimizer(classes[lower] ?? name);
  if (lower === 'adafactor' || lower === 'lion') model.state('optimizer.name', lower, found);
  else stateOptimizer(model, values, found);
  model.state('parallel.distributedOptimizer', /distributed/.test(lower), found);
  readSharding(model, draft);
}

/** Replicas, or shards by `NLPFSDPStrategy`, which keeps and reduces types of its own (NeMo 2.0, `nlp/parts/nlp_overrides.py`): not modelled. */
function readSharding(model: Section, draft: Draft): void {
  const fsdp = model.find('fsdp');
  if (fsdp && flagOf(fsdp.node) !== false) draft.leaveUncounted(fsdp.node, fsdp.key, ['parallel.data']);
  else
    model.assume('parallel.data', own('ddp' as const, say('replicas, whose states the optimizer may shard')));
}

/** NeMo's names of linear layers, in those of Megatron-Core and of Hugging Face. */
const TARGETS: Readonly<Record<string, readonly string[]>> = {
  attention_qkv: ['linear_qkv', 'q_proj', 'k_proj', 'v_proj'],
  attention_dense: ['linear_proj', 'o_proj'],
  mlp_fc1: ['linear_fc1', 'gate_proj', 'up_proj'],
  mlp_fc2: ['linear_fc2', 'down_proj'],
};
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  attention: ['attention_qkv', 'attention_dense'],
  mlp: ['mlp_fc1', 'mlp_fc2'],
  all: ['attention_qkv', 'attention_dense', 'mlp_fc1', 'mlp_fc2'],
};

/**
 * NeMo's own NF4: blocks of 64 whose scales are quantized once more, 256 at a time. It covers the layers that adapters are
 * stated for, all four where none are; the others keep 16 bits (`modules/common/megatron/adapters/qlora.py`, `qlora_load_model`).
 */
function readQlora(
  model: Section,
  draft: Draft,
  found: FoundKey,
  stated: readonly string[] | undefined,
): void {
  model.state('quantization.kind', 'nf4', found);
  model.assume('quantization.prepared', own(false, say('`prepare_model_for_kbit_training` is not called')));
  const source = fileIn(NEMO, 'nemo/collections/nlp/modules/common/megatron/adapters/qlora.py');
  model.assume('quantization.double', { value: true, note: say('{0} default', 'NeMo'), source });
  const covered = new Set(stated?.flatMap((word) => GROUPS[word] ?? [word]));
  const targets = model.find('peft.lora_tuning.target_modules');
  if (stated && targets && Object.keys(TARGETS).some((name) => !covered.has(name)))
    draft.bring('partial-quantization', targets.node, targets.key);
}

function readPeft(model: Section, draft: Draft): void {
  const found = model.find('peft.peft_scheme');
  const scheme = textOf(found?.node)?.toLowerCase();
  if (!found || scheme === undefined || scheme === 'none') return;
  const tuning = 'peft.lora_tuning';
  if (scheme === 'lora' || scheme === 'qlora') {
    model.state('method.kind', 'lora', found);
    const stated = textsOf(model.find(`${tuning}.target_modules`)?.node);
    if (scheme === 'qlora') readQlora(model, draft, found, stated);
    model.take(`${tuning}.adapter_dim`, `${tuning}.alpha`, `${tuning}.adapter_dropout`);
    const targets = model.find(`${tuning}.target_modules`);
    const words = (textsOf(targets?.node) ?? ['attention_qkv']).flatMap((word) => GROUPS[word] ?? [word]);
    const modules = words.flatMap(
      (word) => (Object.hasOwn(TARGETS, word) ? TARGETS[word] : undefined) ?? [word],
    );
    if (targets) model.state('lora.targets', modules, targets);
    else model.assume('lora.targets', own(modules, say('NeMo default: `attention_qkv`')));
  } else if (scheme === 'ptuning' || scheme === 'ia3') {
    model.state('method.kind', 'lora', found);
    model.state('lora.kind', scheme === 'ia3' ? 'ia3' : 'p-tuning', found);
    if (scheme === 'ptuning') model.take('peft.p_tuning.virtual_tokens');
  }
}

function readBatch(model: Section, section: Section): void {
  const splits = ['data.common', 'data.train_ds', 'data'];
  for (const key of ['micro_batch_size', 'global_batch_size'])
    if (!model.take(key)) section.take(...splits.map((block) => `${block}.${key}`));
  if (!model.take('seq_length'))
    section.take(...splits.map((block) => `${block}.max_seq_length`), 'data.seq_length');
  model.take('data.seq_length_dec', 'decoder_seq_length', 'data.train_ds.max_tgt_seq_length');
  const packed = 'data.train_ds.packed_sequence';
  if (model.has(packed)) model.take(packed);
  else if (!model.has('data.train_ds'))
    model.assume('batch.packed', own(true, say('documents are joined into full rows')));
}

function check(root: MapNode, section: Section, model: Section, context: ReadContext, draft: Draft): void {
  checkKeys(root, NEMO_TABLE, policy, draft);
  const accumulation = section.find('trainer.accumulate_grad_batches');
  const steps = integerOf(accumulation?.node);
  forbid(steps !== undefined && steps > 1 && model.has('global_batch_size'), accumulation?.node, draft, {
    code: 'accumulation',
    message: say('`accumulate_grad_batches` must be 1: NeMo takes the micro batches from the global batch.'),
    source: `${SOURCE}nemo/collections/nlp/models/language_modeling/megatron_base_model.py`,
  });
  // Inference configs fill sizes in from the checkpoint.
  if (model.integerOrDefault('tensor_model_parallel_size') < 1) return;
  checkMegatron(model, context, draft, {
    modern: false,
    complete: false,
    flags: false,
    shown: (name) => `\`${SPELLING[name]?.[0] ?? name}\``,
  });
}
