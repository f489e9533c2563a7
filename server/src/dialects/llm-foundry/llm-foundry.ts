import { isFilledLater } from '../../config/filled-later';
import { interpolated } from '../../config/interpolation';
import { entryOf, mapAt, nodeAt } from '../../config/lookup';
import type { ConfigDocument, ConfigNode, MapNode } from '../../config/node';
import { flagOf, integerOf, numberOf, textOf } from '../../config/scalar';
import type { FieldValue } from '../../run/fields';
import { COMPOSER, fileIn, LLM_FOUNDRY } from '../../sources/repositories';
import { say } from '../../wording/say';
import { readOverrides } from '../config-overrides';
import type { Dialect, ReadContext, Reading } from '../dialect';
import { Draft } from '../draft';
import { scriptPolicy } from '../hf/training-arguments-rules';
import { checkKeys, rejectMisfits } from '../key-check';
import { COMPOSER_OPTIMIZERS, classOptimizer, optimizerIn } from '../optimizer-names';
import { forbid } from '../refusal';
import { type DefaultValue, Section } from '../section';
import { stateOptimizer } from '../stated-optimizer';
import { checkWholeBatch } from '../whole-batch';
import { LLM_FOUNDRY_KEYS, LLM_FOUNDRY_TABLE } from './llm-foundry-keys';
import { foundryWords } from './llm-foundry-words';

const SOURCE = fileIn(LLM_FOUNDRY, 'llmfoundry/');
const policy = scriptPolicy('llm-foundry', true);

const COMPOSER_SYNC = fileIn(COMPOSER, 'composer/distributed/dist_strategy.py');

function own<V>(value: V): DefaultValue<V> {
  return { value, note: say('{0} default', 'llm-foundry'), source: `${SOURCE}utils/config_utils.py` };
}

/** llm-foundry's YAML, or a run of MosaicML that wraps one in `parameters`. */
export const llmFoundry: Dialect = {
  id: 'llm-foundry',
  name: 'llm-foundry',
  released: LLM_FOUNDRY_TABLE.released,
  optimizers: Object.keys(COMPOSER_OPTIMIZERS),
  words: foundryWords,
  keys: LLM_FOUNDRY_KEYS,
  wraps: 'parameters',
  markers: /\b(?:global_train_batch_size|device_train_microbatch_size|device_train_grad_accum)\b/,
  detect(root: ConfigNode): number {
    const own = trainingOf(root);
    if (!own || isAnothers(own)) return 0;
    const has = (key: string) => entryOf(own, key) !== undefined;
    const sized =
      has('global_train_batch_size') || has('device_train_microbatch_size') || has('device_train_batch_size');
    const typical = ['max_seq_len', 'train_loader', 'fsdp_config', 'max_duration'].filter(has);
    // Others have a global batch, a model and an optimizer, too.
    const shared =
      has('global_train_batch_size') && typical.length === 0 ? [] : ['model', 'optimizer'].filter(has);
    const beside = typical.length + shared.length;
    return sized && beside >= 2 ? 1 : sized && beside === 1 ? 0.7 : 0;
  },
  read(document: ConfigDocument, context: ReadContext): Reading {
    const draft = new Draft(document, context);
    const { root } = document;
    if (root?.kind !== 'map') return draft.reading();
    readCompute(new Section(root, draft, '', LLM_FOUNDRY_TABLE));
    const wrapped = mapAt(root, 'parameters') !== undefined && root !== trainingOf(root);
    const inner = interpolated(trainingOf(root) ?? root);
    if (inner?.kind !== 'map') return draft.reading();
    const section = new Section(inner, draft, wrapped ? 'parameters' : '', LLM_FOUNDRY_TABLE).withDefaultsOf(
      `${SOURCE}utils/config_utils.py`,
    );
    readLlmFoundry(section, inner, draft, context);
    rejectMisfits(inner, LLM_FOUNDRY_TABLE, draft);
    draft.rules(() => check(inner, section, context, draft));
    return draft.reading();
  },
};

/** Models that LLM Foundry builds (`models/utils`, registry): Composer trains others with much the same keys. */
const MODELS = /^(?:mpt|hf|mosaic_gpt|openai|fmapi|te_|eleuther|finetune|contrastive)/;

/**
 * Configs of others that Composer runs, with the same keys for batches: OLMo (`model.max_sequence_length`,
 * `fsdp.wrapping_strategy`, no `max_seq_len`), and images, BERT and diffusion of MosaicML's examples.
 */
function isAnothers(root: MapNode): boolean {
  const name = textOf(nodeAt(root, ['model', 'name']));
  if (name !== undefined && !MODELS.test(name) && !isFilledLater(name)) return true;
  const olmo = [
    'model.max_sequence_length',
    'model.embedding_size',
    'fsdp.wrapping_strategy',
    'tokenizer.identifier',
  ];
  return olmo.some((path) => nodeAt(root, path.split('.')) !== undefined) && !entryOf(root, 'train_loader');
}

/** The block that trains: the file itself, or `parameters` of a MosaicML run. */
function trainingOf(root: ConfigNode | null): MapNode | undefined {
  if (root?.kind !== 'map') return undefined;
  return mapAt(root, 'parameters') ?? root;
}

/** MosaicML's `compute` names the GPUs. */
function readCompute(section: Section): void {
  section.take('compute.gpu_type', 'compute.gpus');
}

function readLlmFoundry(section: Section, root: MapNode, draft: Draft, context: ReadContext): void {
  draft.assume('framework', 'llm-foundry', say('the file is an {0} config', 'llm-foundry'));
  readModel(section, draft);
  section.take('global_train_batch_size');
  readMicro(section, draft, context);
  // Samples are as long as the loader makes them; what the model could take is beside it.
  const length = section.find('train_loader.dataset.max_seq_len');
  const tokens = integerOf(length?.node);
  if (length && tokens !== undefined && tokens !== section.integer('max_seq_len'))
    section.state('batch.sequence', tokens, length);
  section.take('max_seq_len');
  section.stateInteger('batch.sequence', 'variables.max_seq_len');
  readSteps(section);
  const packing = section.find('train_loader.dataset.packing_ratio');
  const ratio = numberOf(packing?.node);
  const loader = section.find('train_loader.name');
  const text = /^text|^c4/.test(textOf(loader?.node) ?? '');
  // Others are of the project's own registry.
  if (loader && !text && !/^finetuning|^contrastive/.test(textOf(loader.node) ?? ''))
    section.leave(loader, ['batch.packed']);
  if (packing && (ratio === undefined || ratio > 1)) section.state('batch.packed', true, packing);
  else
    section.assume('batch.packed', {
      ...own(text),
      note: text ? say('texts are joined into full rows') : say('samples are padded'),
    });
  readFsdp(section, draft);
  readPrecision(section, draft);
  readOptimizer(section, root);
  section.stateInteger('parallel.tensor', [
    'tp_config.tensor_parallel_degree',
    'fsdp_config.tp_config.tensor_parallel_degree',
  ]);
  const evaluation = section.find(['eval_loader', 'eval_interval']);
  if (evaluation) section.state('evaluation.enabled', true, evaluation);
  section.take('device_eval_batch_size');
  section.take('expandable_segments');
}

function readModel(section: Section, draft: Draft): void {
  const hub = section.find('model.pretrained_model_name_or_path');
  const width = section.find('model.d_model');
  if (hub) {
    section.take('model.pretrained_model_name_or_path', 'model.config_overrides.output_router_logits');
    readOverrides(section, draft, ['model.config_overrides']);
  } else if (width || /^mpt|^mosaic_gpt/.test(section.text('model.name') ?? '')) readMpt(section);
  const attention = section.find(['model.attn_config.attn_impl', 'model.attn_impl']);
  section.stateMeaning(
    'attention.implementation',
    ['model.attn_config.attn_impl', 'model.attn_impl'],
    ({ node }) => (/flash|triton/.test(textOf(node) ?? '') ? 'flash2' : 'eager'),
  );
  const flash = section.find('model.use_flash_attention_2');
  if (flash && flagOf(flash.node) === true) section.state('attention.implementation', 'flash2', flash);
  else if (!attention && !hub)
    section.assume('attention.implementation', own('flash2' as const), 'model.attn_config.attn_impl');
  const peft = section.section('model.peft_config');
  const type = section.find(['model.peft_config', 'lora.args']);
  if (!type) {
    section.assume('method.kind', own('full' as const));
    return;
  }
  section.state('method.kind', 'lora', type);
  peft.take('r', 'lora_alpha', 'lora_dropout', 'target_modules');
}

/** MPT spelled out, with the defaults of its config (`models/mpt/configuration_mpt.py`). */
function readMpt(section: Section): void {
  const size = (key: string) => section.integerOrDefault(`model.${key}`);
  const found = section.find(['model.d_model', 'model.name']);
  if (!found) return;
  const attention = section.section('model.attn_config');
  const alibi = section.flagOrDefault(['model.attn_config.alibi', 'model.alibi']);
  const optional = <V>(name: string, value: V | undefined) => (value === undefined ? {} : { [name]: value });
  section.state(
    'model.config',
    {
      model_type: 'mpt',
      // Its own code runs the model, not that of transformers.
      llm_foundry: true,
      d_model: size('d_model'),
      n_heads: size('n_heads'),
      n_layers: size('n_layers'),
      expansion_ratio: section.numberOrDefault(['model.expansion_ratio', 'model.mlp_ratio']),
      vocab_size: size('vocab_size'),
      max_seq_len: section.integer(['model.max_seq_len', 'max_seq_len']) ?? 2048,
      no_bias: section.flag('model.no_bias') ?? false,
      ...optional('tie_word_embeddings', section.flag('model.tie_word_embeddings')),
      ...optional('learned_pos_emb', section.flag('model.learned_pos_emb')),
      ...optional('resid_pdrop', section.number('model.resid_pdrop')),
      ...optional('emb_pdrop', section.number('model.emb_pdrop')),
      attn_config: {
        alibi,
        ...optional('rope', attention.flag('rope')),
        ...optional('attn_type', attention.text('attn_type')),
        ...optional('kv_n_heads', attention.integer('kv_n_heads')),
        ...optional('clip_qkv', attention.number('clip_qkv')),
        ...optional('attn_pdrop', attention.number('attn_pdrop')),
      },
      ffn_config: { ...optional('ffn_type', section.text('model.ffn_config.ffn_type')) },
    },
    found,
  );
  // `ComposerMPTCausalLM`: flash-attn's kernel keeps the logits in their own type and one number a row.
  section.stateMeaning(
    'loss.implementation',
    'model.loss_fn',
    ({ node }) => LOSS_OF.get(textOf(node) ?? ''),
    { ...own('compiled' as const), note: say('{0} default', 'llm-foundry') },
  );
}

/** What `loss_fn` of MPT takes (`modeling_mpt.py`, `ComposerMPTCausalLM`). */
const LOSS_OF: ReadonlyMap<string, 'native' | 'compiled'> = new Map([
  ['torch_crossentropy', 'native'],
  ['fused_crossentropy', 'compiled'],
]);

/** A micro batch as stated; `auto` is what Composer finds by trying, so it is at most the share of a GPU. */
function readMicro(section: Section, draft: Draft, context: ReadContext): void {
  const found = section.find('device_train_microbatch_size');
  const stated = numberOf(found?.node);
  if (found && stated !== undefined) {
    // A share of a packed sample counts as one; what no batch can be goes on as it is, and is reported.
    section.state('batch.micro', stated > 0 ? Math.max(1, Math.floor(stated)) : stated, found);
    return;
  }
  const gpus = context.known['hardware.gpus'];
  const global = section.integer('global_train_batch_size');
  const grad = section.integer('device_train_grad_accum') ?? section.integer('grad_accum') ?? 1;
  if (typeof gpus !== 'number' || global === undefined) return;
  const share = Math.max(1, Math.floor(global / gpus / grad));
  const note =
    grad > 1
      ? say('{0} samples over {1} GPUs in {2} micro batches', String(global), String(gpus), String(grad))
      : say('`auto`: at most the {0} samples of a GPU, less where they do not fit', String(share));
  draft.infer('batch.micro', share, note, found?.node, found?.key);
  if (found && grad <= 1) section.state('batch.adaptive', true, found);
}

/** `63900ba` batches, `1ep`, `300e9tok` tokens. */
function readSteps(section: Section): void {
  const found = section.find('max_duration');
  const match = /^([\d.e_]+)\s*(ba|tok)$/.exec(textOf(found?.node) ?? '');
  const amount = Number((match?.[1] ?? '').replaceAll('_', ''));
  if (!found || !match || !Number.isSafeInteger(amount)) return;
  if (match[2] === 'ba') section.state('schedule.steps', amount, found);
  else section.state('schedule.tokens', amount, found);
}

const STRATEGIES: Readonly<Record<string, FieldValue<'fsdp.strategy'>>> = {
  FULL_SHARD: 'full',
  SHARD_GRAD_OP: 'grad-op',
  NO_SHARD: 'none',
  HYBRID_SHARD: 'hybrid',
  _HYBRID_SHARD_ZERO2: 'hybrid-grad-op',
};

function readFsdp(section: Section, draft: Draft): void {
  const found = section.find('fsdp_config');
  const fsdp = section.section('fsdp_config');
  if (found?.node.kind !== 'map') {
    draft.assume(
      'parallel.data',
      'ddp',
      say('without `fsdp_config` every GPU holds the whole model'),
      SOURCE,
    );
    section.assume('activations.checkpointing', own('none' as const));
    return;
  }
  section.state('parallel.data', 'fsdp1', found);
  fsdp.stateMeaning(
    'fsdp.strategy',
    'sharding_strategy',
    ({ node }) => STRATEGIES[textOf(node)?.toUpperCase() ?? ''],
    { ...own('full' as const), note: say('{0} default', 'Composer') },
  );
  section.assume('fsdp.wrap', { ...own('layer' as const), note: say('Composer wraps each block') });
  // `distributed/dist_strategy.py`, `ddp_sync_context`: no `no_sync` but under DDP.
  section.assume('fsdp.syncEachBatch', {
    value: true,
    note: say('every micro batch reduces its gradients'),
    source: COMPOSER_SYNC,
  });
  fsdp.take('activation_checkpointing', 'activation_checkpointing_reentrant', 'activation_cpu_offload');
  const offload = fsdp.find('cpu_offload');
  if (offload && flagOf(offload.node) === true) {
    fsdp.state('offload.parameters', 'cpu', offload);
    fsdp.state('offload.optimizer', 'cpu', offload);
  }
}

/** Composer computes by autocast over fp32 weights; under FSDP the shards are fp32 and gathered in the low type. */
function readPrecision(section: Section, draft: Draft): void {
  const found = section.find('precision');
  const word = textOf(found?.node)?.toLowerCase() ?? 'amp_bf16';
  const type = /bf16/.test(word) ? 'bf16' : /fp16/.test(word) ? 'fp16' : /fp8/.test(word) ? 'bf16' : 'fp32';
  const sharded = section.find('fsdp_config')?.node.kind === 'map';
  const scheme = type === 'fp32' ? 'native' : sharded ? 'fsdp' : 'autocast';
  if (found) {
    section.state('precision.compute', type, found);
    section.state('precision.scheme', scheme, found);
  } else {
    draft.assume(
      'precision.compute',
      type,
      say('llm-foundry default: amp_bf16'),
      `${SOURCE}utils/config_utils.py`,
      'precision',
    );
    draft.assume(
      'precision.scheme',
      scheme,
      say('llm-foundry default: amp_bf16'),
      `${SOURCE}utils/config_utils.py`,
      'precision',
    );
  }
  draft.assume('precision.weights', 'fp32', say('master weights are fp32'), SOURCE);
  if (!sharded) return;
  draft.assume('precision.masterWeights', 'fp32', say('shards are fp32'), SOURCE);
  // PURE reduces in the low type, DEFAULT in fp32 (composer `utils/parallelism.py`).
  const mixed = section.find('fsdp_config.mixed_precision');
  const pure = /^PURE$/i.test(textOf(mixed?.node) ?? '');
  if (mixed) section.state('precision.reduce', pure && type !== 'fp32' ? type : 'fp32', mixed);
}

function readOptimizer(section: Section, root: MapNode): void {
  const found = section.find('optimizer.name');
  const name = textOf(found?.node);
  if (!found || name === undefined || !entryOf(root, 'optimizer')) return;
  const plain: Readonly<Record<string, string>> = { adamw: 'AdamW', adam: 'Adam', sgd: 'SGD' };
  const values =
    optimizerIn(COMPOSER_OPTIMIZERS, name) ??
    classOptimizer(`torch.optim.${plain[name.toLowerCase()] ?? name}`);
  stateOptimizer(section, values, found);
}

function check(root: MapNode, section: Section, context: ReadContext, draft: Draft): void {
  checkKeys(root, LLM_FOUNDRY_TABLE, policy, draft);
  const source = `${SOURCE}utils/config_utils.py`;
  checkWholeBatch(section, context, draft, source);
  const device = section.find('model.init_device');
  const word = textOf(device?.node);
  forbid(word !== undefined && !/^(meta|cpu|mixed)$/.test(word), device?.node, draft, {
    code: 'init-device',
    message: say('`init_device` is `meta`, `cpu` or `mixed`.'),
    source,
    releases: {},
  });
  forbid(word === 'mixed' && !section.has('fsdp_config'), device?.node, draft, {
    code: 'mixed-without-fsdp',
    message: say('`init_device: mixed` needs `fsdp_config`.'),
    source,
  });
}
