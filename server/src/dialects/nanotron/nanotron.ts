import { nodeAt } from '../../config/lookup';
import type { ConfigDocument, ConfigNode, MapNode } from '../../config/node';
import { flagOf, integerOf, plainOf, textOf } from '../../config/scalar';
import { fileIn, NANOTRON } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { Dialect, ReadContext, Reading } from '../dialect';
import { Draft } from '../draft';
import { scriptPolicy } from '../hf/training-arguments-rules';
import { weightsDtypeOf } from '../hf/weights-dtype';
import { checkKeys, rejectMisfits } from '../key-check';
import { forbid } from '../refusal';
import { type DefaultValue, Section } from '../section';
import { NANOTRON_KEYS, NANOTRON_TABLE } from './nanotron-keys';
import { nanotronWords } from './nanotron-words';

const SOURCE = fileIn(NANOTRON, 'src/nanotron/');
const policy = scriptPolicy('nanotron', true);

function own<V>(value: V): DefaultValue<V> {
  return { value, note: say('{0} default', 'nanotron'), source: `${SOURCE}config/parallelism_config.py` };
}

/** nanotron's YAML. */
export const nanotron: Dialect = {
  id: 'nanotron',
  name: 'nanotron',
  definitions: ['src/nanotron/config/config.py'],
  released: NANOTRON_TABLE.released,
  words: nanotronWords,
  keys: NANOTRON_KEYS,
  markers: /^parallelism\s*:/m,
  detect(root: ConfigNode): number {
    const has = (path: string) => nodeAt(root, path) !== undefined;
    if (!has('parallelism.dp') || !has('parallelism.tp')) return 0;
    return has('tokens.sequence_length') || has('model.model_config') || has('general.project') ? 1 : 0;
  },
  read(document: ConfigDocument, context: ReadContext): Reading {
    const draft = new Draft(document, context);
    const { root } = document;
    if (root?.kind !== 'map') return draft.reading();
    const section = new Section(root, draft, '', NANOTRON_TABLE).withDefaultsOf(
      `${SOURCE}config/parallelism_config.py`,
    );
    draft.assume('framework', 'nanotron', say('the file is a {0} config', 'nanotron'));
    draft.assume(
      'model.code',
      'megatron',
      say('nanotron splits its modules as Megatron does'),
      `${SOURCE}parallel/tensor_parallel/nn.py`,
    );
    readModel(section, draft);
    readParallelism(section, draft);
    readBatch(section);
    readOptimizer(section, draft);
    rejectMisfits(root, NANOTRON_TABLE, draft);
    draft.rules(() => check(root, section, draft));
    return draft.reading();
  },
};

/** Models by their marks in `model_config`. */
const KINDS: Readonly<Record<string, string>> = {
  is_llama_config: 'llama',
  is_qwen2_config: 'qwen2',
  is_qwen_config: 'qwen2',
  is_mamba_config: 'mamba',
  is_mixtral_config: 'mixtral',
};

/** The mark of the model that a config holds: `is_llama_config` and its like. */
const markOf = (config: MapNode) =>
  config.entries.find(({ key, value }) => /^is_\w+_config$/.test(key) && flagOf(value) === true);

/** Which kind of model that is; Llama where nothing is marked. */
const kindOf = (config: MapNode): string =>
  KINDS[markOf(config)?.key ?? ''] ?? (nodeAt(config, 'num_local_experts') ? 'mixtral' : 'llama');

function readModel(section: Section, draft: Draft): void {
  const found = section.find('model.model_config');
  const mark = found?.node.kind === 'map' ? markOf(found.node) : undefined;
  // Its sizes have names and defaults of their own (StarCoder 2 in nanotron's `config/models_config.py`).
  if (mark && !(mark.key in KINDS)) draft.refuseTask({ range: mark.keyRange }, mark.key);
  else if (found?.node.kind === 'map') {
    const config = plainOf(found.node) as Readonly<Record<string, unknown>>;
    const multiple = section.integerOrDefault('model.make_vocab_size_divisible_by');
    const tensor = section.integer('parallelism.tp') ?? 1;
    const vocabulary = Number(config.vocab_size);
    const padded = Math.ceil(vocabulary / (multiple * tensor)) * multiple * tensor;
    const mixture = moe(config);
    section.state(
      'model.config',
      {
        ...config,
        ...mixture?.config,
        model_type: mixture?.kind ?? kindOf(found.node),
        ...(Number.isFinite(padded) ? { vocab_size: padded } : {}),
      },
      found,
    );
  }
  const type = section.find('model.dtype');
  const dtype = weightsDtypeOf(textOf(type?.node));
  if (!type || !dtype) return;
  section.state('precision.weights', dtype, type);
  section.state('precision.compute', dtype, type);
}

/** `moe_config` in the names of Hugging Face's Qwen experts: Qwen 2 has a shared one, Qwen 3 none. */
function moe(
  config: Readonly<Record<string, unknown>>,
): { readonly kind: string; readonly config: Readonly<Record<string, unknown>> } | undefined {
  const inner = config.moe_config;
  if (typeof inner !== 'object' || inner === null) return undefined;
  const value = (key: string) => (inner as Readonly<Record<string, unknown>>)[key];
  const shared = value('shared_expert_intermediate_size');
  const has = typeof shared === 'number' && shared > 0;
  return {
    kind: has ? 'qwen2_moe' : 'qwen3_moe',
    config: {
      num_experts: value('num_experts'),
      num_experts_per_tok: value('top_k') ?? 1,
      moe_intermediate_size: value('moe_intermediate_size') ?? config.intermediate_size,
      decoder_sparse_step: 1,
      ...(has ? { shared_expert_intermediate_size: shared } : {}),
    },
  };
}

function readParallelism(section: Section, draft: Draft): void {
  const parallel = section.section('parallelism');
  const size = (key: string) => parallel.integer(key) ?? 1;
  const data = parallel.find('dp');
  const context = parallel.integerOrDefault('context_parallel_size');
  const world = size('dp') * size('tp') * size('pp') * context;
  // A size that none can be is reported where it stands, and not again as the product.
  const sizes = [size('dp'), size('tp'), size('pp'), context];
  if (data && (size('dp') < 1 || sizes.every((each) => each > 0)))
    section.state('hardware.gpus', world, data, say('product of the sizes of parallelism'));
  parallel.take('tp', 'pp', 'context_parallel_size', 'expert_parallel_size');
  parallel.takeElse('pp_engine', {
    ...own('gpipe'),
    note: say('nanotron default: all forward passes come first'),
  });
  parallel.take('tp_mode', 'recompute_layer');
  // Each layer then keeps the gathered sequence, and not its rank's part (`tensor_parallel/functional.py`, `save_for_backward`).
  const gathers = parallel.find('tp_recompute_allgather');
  if (
    gathers &&
    flagOf(gathers.node) === false &&
    size('tp') > 1 &&
    parallel.text('tp_mode') === 'REDUCE_SCATTER'
  )
    draft.bring('kept-gathers', gathers.node, gathers.key);
  section.assume('activations.reentrant', { ...own(true), note: say('nanotron checkpoints with reentry') });
  draft.assume(
    'parallel.data',
    'ddp',
    say('replicas; states are sharded by `zero_stage: 1`'),
    `${SOURCE}optim/zero.py`,
  );
  section.section('model').take('ddp_bucket_cap_mb');
  section.assume('loss.implementation', {
    ...own('vocab-parallel' as const),
    note: say('the loss works on split logits'),
  });
}

function readBatch(section: Section): void {
  const tokens = section.section('tokens');
  tokens.take('micro_batch_size', 'batch_accumulation_per_replica', 'sequence_length', 'train_steps');
  const every = tokens.find('val_check_interval');
  const interval = integerOf(every?.node);
  if (every && interval !== undefined) tokens.state('evaluation.enabled', interval > 0, every);
  section.assume('batch.packed', { ...own(true), note: say('rows are always full') });
}

/**
 * Weights in low precision with fp32 masters and, with `accumulate_grad_in_fp32`, fp32 gradients
 * (`optim/gradient_accumulator.py`); stage 1 shards states and masters.
 */
function readOptimizer(section: Section, draft: Draft): void {
  const optimizer = section.section('optimizer');
  const stage = optimizer.find('zero_stage');
  const low = weightsDtypeOf(section.text('model.dtype')) !== 'fp32' && section.has('model.dtype');
  const accumulate = optimizer.find('accumulate_grad_in_fp32');
  draft.assume(
    'precision.scheme',
    low ? 'megatron' : 'native',
    say('fp32 masters beside the weights'),
    `${SOURCE}optim/gradient_accumulator.py`,
  );
  if (accumulate)
    section.state(
      'precision.gradientAccumulation',
      flagOf(accumulate.node) === false && low ? 'bf16' : 'fp32',
      accumulate,
    );
  if (stage) section.state('parallel.distributedOptimizer', integerOf(stage.node) === 1, stage);
  optimizer.takeElse('optimizer_factory.name', own('adamw'));
  optimizer.take('optimizer_factory.torch_adam_is_fused');
}

function check(root: MapNode, section: Section, draft: Draft): void {
  checkKeys(root, NANOTRON_TABLE, policy, draft);
  const heads = section.find('model.model_config.num_attention_heads');
  const kv = section.find('model.model_config.num_key_value_heads');
  const tensor = section.integer('parallelism.tp') ?? 1;
  const [h, k] = [integerOf(heads?.node), integerOf(kv?.node)];
  const source = `${SOURCE}config/config.py`;
  forbid(h !== undefined && h % tensor !== 0, heads?.node, draft, {
    code: 'heads-not-divisible',
    message: say('{0} heads cannot be split over {1} tensor-parallel GPUs.', String(h), tensor),
    source,
  });
  forbid(k !== undefined && k < tensor, kv?.node, draft, {
    code: 'too-few-kv-heads',
    message: say('{0} key-value heads are fewer than {1} tensor-parallel GPUs.', String(k), tensor),
    source,
  });
  forbid(h !== undefined && k !== undefined && h % k !== 0, kv?.node, draft, {
    code: 'kv-heads-not-divisible',
    message: say('{0} heads are not a multiple of {1} key-value heads.', String(h), String(k)),
    source,
  });
}
