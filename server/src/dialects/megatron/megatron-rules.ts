import { isFilledLater } from '../../config/filled-later';
import type { ConfigNode } from '../../config/node';
import { flagOf, integerOf, textOf } from '../../config/scalar';
import { unevenGroups } from '../../run/derive';
import { fileIn, MEGATRON } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import { forbid } from '../refusal';
import type { Section } from '../section';
import { MEGATRON_TABLE } from './megatron-keys';

const SOURCE = fileIn(MEGATRON, 'megatron/training/arguments.py');
const CONFIG = fileIn(MEGATRON, 'megatron/core/transformer/transformer_config.py');

/** `TransformerConfig` checks what is recomputed since then; those before took it (tags 23.06 and core_v0.4.0). */
const CONFIG_CHECKS = { from: '0.4.0' };

/** `modern`: Megatron-LM itself; forks of older versions still take what it refuses by now. */
interface RuleOptions {
  readonly modern: boolean;
  /** All of the arguments are here; what is absent has Megatron's default. */
  readonly complete: boolean;
  /** Switches must be given: `--group-query-attention`. In a config object their values do. */
  readonly flags: boolean;
  /** How flags are shown: `--bf16`, `bf16`. */
  readonly shown: (name: string) => string;
}

/** What Megatron asserts of its arguments (`validate_args`, `TransformerConfig.__post_init__`). */
export function checkMegatron(
  section: Section,
  context: ReadContext,
  draft: Draft,
  options: RuleOptions,
): void {
  const args = section.by(MEGATRON_TABLE);
  checkSizes(args, context, draft, options);
  // DeepSpeed's pipeline engine balances whatever number of layers there are.
  if (options.modern) checkPipeline(args, draft, options);
  if (options.modern) checkRecomputation(args, draft, options);
  checkPrecision(args, draft, options);
  if (options.modern) checkOld(args, draft, options);
}

/** The sizes of a model and of what it is split over. */
interface Sizes {
  readonly node: (name: string) => ConfigNode | undefined;
  readonly size: (name: string) => number | undefined;
  /** Tensor- and context-parallel GPUs. */
  readonly tensor: number;
  readonly contextSize: number;
}

function checkSizes(args: Section, context: ReadContext, draft: Draft, options: RuleOptions): void {
  const node = (name: string) => args.find(name)?.node;
  const size = (name: string) => integerOf(node(name));
  const tensor = args.integerOrDefault('tensor_model_parallel_size');
  const contextSize = args.integerOrDefault('context_parallel_size');
  const sizes = { node, size, tensor, contextSize };
  checkHeads(args, sizes, draft, options);
  checkSequence(sizes, draft, options);
  checkExperts(args, draft);
  if (options.modern && options.complete) checkWorld(args, context, draft, sizes);
  checkIdle(args, sizes, draft, options);
}

/** Heads and query groups divide the hidden size, and are divided by tensor parallelism. */
function checkHeads(
  args: Section,
  { node, size, tensor }: Sizes,
  draft: Draft,
  { shown, flags }: RuleOptions,
): void {
  const hidden = size('hidden_size');
  const heads = size('num_attention_heads');
  forbid(
    hidden !== undefined && heads !== undefined && size('kv_channels') === undefined && hidden % heads !== 0,
    node('num_attention_heads'),
    draft,
    {
      code: 'hidden-not-divisible',
      message: say(
        'A hidden size of {0} is not a multiple of {1} heads, and {2} is not set.',
        String(hidden),
        String(heads),
        shown('kv_channels'),
      ),
      source: SOURCE,
    },
  );
  forbid(heads !== undefined && heads % tensor !== 0, node('num_attention_heads'), draft, {
    code: 'heads-not-divisible',
    message: say('{0} heads cannot be split over {1} tensor-parallel GPUs.', String(heads), tensor),
    source: CONFIG,
  });
  const grouped = args.flag('group_query_attention') === true || !flags;
  const groups = grouped ? size('num_query_groups') : undefined;
  forbid(
    groups !== undefined && groups % tensor !== 0 && tensor % groups !== 0,
    node('num_query_groups'),
    draft,
    {
      code: 'groups-not-divisible',
      message: say(
        '{0} query groups and a tensor-parallel size of {1}: one must be a multiple of the other.',
        String(groups),
        tensor,
      ),
      source: CONFIG,
    },
  );
}

/** A sequence is cut into equal parts, and has positions. */
function checkSequence({ node, size, contextSize }: Sizes, draft: Draft, { shown }: RuleOptions): void {
  const sequence = size('seq_length');
  forbid(
    sequence !== undefined && contextSize > 1 && sequence % (2 * contextSize) !== 0,
    node('seq_length'),
    draft,
    {
      code: 'sequence-not-divisible',
      message: say(
        'With a context-parallel size of {0}, {1} must be a multiple of {2}: {3} is not.',
        contextSize,
        shown('seq_length'),
        2 * contextSize,
        String(sequence),
      ),
      source: SOURCE,
    },
  );
  const positions = size('max_position_embeddings');
  forbid(
    sequence !== undefined && positions !== undefined && positions < sequence,
    node('max_position_embeddings'),
    draft,
    {
      code: 'too-few-positions',
      message: say(
        '{0} is {1}, less than the {2} tokens of a sample.',
        shown('max_position_embeddings'),
        String(positions),
        String(sequence),
      ),
      source: SOURCE,
    },
  );
}

function checkExperts(args: Section, draft: Draft): void {
  const node = (name: string) => args.find(name)?.node;
  const experts = integerOf(node('num_experts'));
  const expertParallel = args.integerOrDefault('expert_model_parallel_size');
  forbid(experts !== undefined && experts % expertParallel !== 0, node('expert_model_parallel_size'), draft, {
    code: 'experts-not-divisible',
    message: say(
      '{0} experts cannot be split over {1} expert-parallel GPUs.',
      String(experts),
      expertParallel,
    ),
    source: CONFIG,
  });
}

/** Sizes that have no effect. */
function checkIdle(
  args: Section,
  { size, tensor }: Sizes,
  draft: Draft,
  { shown, flags }: RuleOptions,
): void {
  const sequenceParallel = args.find('sequence_parallel');
  if (sequenceParallel && flagOf(sequenceParallel.node) === true && tensor === 1)
    draft.report(
      'no-effect',
      'information',
      say('Without tensor parallelism Megatron switches {0} off.', shown('sequence_parallel')),
      sequenceParallel.node.range,
      { source: SOURCE },
    );
  const dead = args.find('num_query_groups');
  if (
    flags &&
    dead &&
    !args.has('group_query_attention') &&
    integerOf(dead.node) !== size('num_attention_heads')
  )
    draft.report(
      'no-effect',
      'warning',
      say(
        '{0} counts only beside {1}: every head has keys and values of its own.',
        shown('num_query_groups'),
        shown('group_query_attention'),
      ),
      dead.node.range,
      { source: SOURCE },
    );
}

/**
 * GPUs that an encoder of its own has beside those of the decoder (`validate_args` of Megatron-Core 0.9 to 0.12: they add up, and the
 * encoder has the decoder's tensor-parallel size where none is given).
 */
function encoderGpus(args: Section): number {
  const stages = args.integer('encoder_pipeline_model_parallel_size') ?? 0;
  if (stages <= 0) return 0;
  const own = args.integer('encoder_tensor_model_parallel_size') ?? 0;
  const tensor = own > 0 ? own : args.integerOrDefault('tensor_model_parallel_size');
  return tensor * stages * args.integerOrDefault('context_parallel_size');
}

/** GPUs and samples must divide. */
function checkWorld(args: Section, context: ReadContext, draft: Draft, sizes: Sizes): void {
  const world = context.known['hardware.gpus'];
  if (typeof world !== 'number') return;
  const node = (name: string) => args.find(name)?.node;
  const pipeline = args.integerOrDefault('pipeline_model_parallel_size');
  const encoder = encoderGpus(args);
  const model = sizes.tensor * sizes.contextSize * pipeline + encoder;
  const at =
    node('tensor_model_parallel_size') ??
    node('pipeline_model_parallel_size') ??
    node('context_parallel_size');
  forbid(world % model !== 0, at, draft, {
    code: 'world-size',
    message: unevenGroups(world, model, {
      tensor: sizes.tensor,
      pipeline,
      context: sizes.contextSize,
      encoder,
    }),
    source: SOURCE,
  });
  const micro = args.integer('micro_batch_size');
  const global = args.integer('global_batch_size');
  if (micro === undefined || global === undefined || world % model !== 0) return;
  const step = micro * (world / model);
  const isRounded = args.has('rampup_batch_size') || args.flag('decrease_batch_size_if_needed') === true;
  forbid(global % step !== 0 && !isRounded, node('global_batch_size'), draft, {
    code: 'batch-not-divisible',
    message: say(
      'A global batch of {0} is not a multiple of {1} (micro batch {2} × {3} replicas).',
      String(global),
      String(step),
      String(micro),
      String(world / model),
    ),
    source: fileIn(MEGATRON, 'megatron/core/num_microbatches_calculator.py'),
  });
}

function checkPipeline(args: Section, draft: Draft, { shown }: RuleOptions): void {
  const node = (name: string) => args.find(name)?.node;
  const all = args.integerOrDefault('pipeline_model_parallel_size');
  // Until Megatron-Core 0.10 the embedding could have the first stage for itself.
  const stages = all > 1 && args.flag('standalone_embedding_stage') === true ? all - 1 : all;
  const layers = args.integer('num_layers');
  const uneven = [
    'decoder_first_pipeline_num_layers',
    'decoder_last_pipeline_num_layers',
    'num_layers_in_first_pipeline_stage',
    'num_layers_in_last_pipeline_stage',
    'pipeline_model_parallel_layout',
    'hybrid_layer_pattern',
    'hybrid_override_pattern',
    'num_virtual_stages_per_pipeline_rank',
    'decoder_num_layers',
  ].some((name) => args.has(name));
  const ends = ['account_for_embedding_in_pipeline_split', 'account_for_loss_in_pipeline_split'].filter(
    (name) => args.flag(name) === true,
  ).length;
  const total = layers === undefined ? undefined : layers + ends;
  const broken = total !== undefined && !uneven && stages > 1 && total % stages !== 0;
  const chunk = args.find('num_layers_per_virtual_pipeline_stage');
  forbid(broken, node('pipeline_model_parallel_size'), draft, {
    code: 'layers-not-divisible',
    message:
      ends > 0
        ? say(
            '{0} layers (embedding and loss counted) cannot be split over {1} pipeline stages.',
            String(total),
            stages,
          )
        : say('{0} layers cannot be split over {1} pipeline stages.', String(total), stages),
    source: SOURCE,
    // Before, what was left over was left out of the model without a word, unless stages were cut into chunks.
    ...(chunk ? {} : { releases: { from: '0.10.0' } }),
  });
  const size = integerOf(chunk?.node);
  forbid(
    size !== undefined && size > 0 && total !== undefined && !broken && (total / stages) % size !== 0,
    chunk?.node,
    draft,
    {
      code: 'layers-not-divisible',
      message: say(
        '{0} layers per stage are not a multiple of {1} layers per chunk.',
        String(total === undefined ? '' : total / stages),
        String(size),
      ),
      source: SOURCE,
    },
  );
  const both = chunk && args.find('num_virtual_stages_per_pipeline_rank');
  forbid(both !== undefined, both?.node, draft, {
    code: 'two-layouts',
    message: say(
      '{0} and {1} exclude each other.',
      shown('num_layers_per_virtual_pipeline_stage'),
      shown('num_virtual_stages_per_pipeline_rank'),
    ),
    source: SOURCE,
  });
}

const MODULES = new Set([
  'core_attn',
  'moe_act',
  'layernorm',
  'mla_up_proj',
  'mlp',
  'moe',
  'shared_experts',
  'gdn_norm_out',
  'gdp_in_proj',
  'gdp_qkv',
  'mhc',
]);

function checkRecomputation(args: Section, draft: Draft, { shown, complete }: RuleOptions): void {
  const granularity = args.text('recompute_granularity')?.toLowerCase();
  const method = args.find('recompute_method');
  const at = args.find('recompute_granularity')?.node;
  const number = args.find('recompute_num_layers');
  forbid(granularity === 'selective' && method !== undefined, method?.node, draft, {
    code: 'selective-with-method',
    message: say('Selective recomputation takes no {0}.', shown('recompute_method')),
    source: SOURCE,
  });
  forbid(granularity === 'selective' && number !== undefined, number?.node, draft, {
    code: 'selective-with-layers',
    message: say('Selective recomputation takes no {0}.', shown('recompute_num_layers')),
    source: CONFIG,
    releases: CONFIG_CHECKS,
  });
  forbid(granularity === 'full' && method === undefined && complete, at, draft, {
    code: 'full-without-method',
    message:
      number === undefined
        ? say(
            'Full recomputation needs {0} (`uniform` or `block`) and {1}.',
            shown('recompute_method'),
            shown('recompute_num_layers'),
          )
        : say('Full recomputation needs {0} (`uniform` or `block`).', shown('recompute_method')),
    source: CONFIG,
  });
  // One layer at a time was the default until the middle of 2023 (`megatron/arguments.py`).
  if (granularity === 'full' && method !== undefined && number === undefined && complete && at)
    draft.report(
      'full-without-layers',
      'warning',
      say(
        'Full recomputation needs {0} since the Megatron-LM of mid-2023; before, it was 1.',
        shown('recompute_num_layers'),
      ),
      at.range,
      { source: CONFIG },
    );
  const distributed = args.find('distribute_saved_activations');
  const on = flagOf(distributed?.node) === true;
  forbid(on && args.integerOrDefault('tensor_model_parallel_size') === 1, distributed?.node, draft, {
    code: 'distributed-activations',
    message: say('Checkpoints can be distributed over tensor-parallel GPUs only, and there is one.'),
    source: SOURCE,
  });
  forbid(on && granularity !== undefined && granularity !== 'full', distributed?.node, draft, {
    code: 'distributed-activations',
    message: say('Checkpoints are distributed with full recomputation only.'),
    source: SOURCE,
  });
  forbid(
    on && args.flag('sequence_parallel') === true && args.integerOrDefault('tensor_model_parallel_size') > 1,
    distributed?.node,
    draft,
    {
      code: 'distributed-activations',
      message: say('With sequence parallelism checkpoints are split already: they cannot be distributed.'),
      source: CONFIG,
      releases: CONFIG_CHECKS,
    },
  );
  const modules = args.find('recompute_modules');
  const unknown = (args.texts('recompute_modules') ?? [])
    // Lists of YAML files reach the command line with their brackets.
    .flatMap((word) => word.split(/[\s[\]]+/))
    .filter((word) => word !== '' && !isFilledLater(word) && !MODULES.has(word));
  forbid(granularity === 'selective' && unknown.length > 0, modules?.node, draft, {
    code: 'unknown-module',
    message: say(
      'Megatron cannot recompute {0}: it knows {1}.',
      unknown.map((word) => `\`${word}\``).join(', '),
      [...MODULES].join(', '),
    ),
    source: CONFIG,
    releases: {},
  });
}

function checkPrecision(args: Section, draft: Draft, { shown }: RuleOptions): void {
  const on = (name: string) => args.flag(name) === true;
  const node = (name: string) => args.find(name)?.node;
  forbid(on('fp16') && on('bf16'), node('fp16'), draft, {
    code: 'two-precisions',
    message: say('{0} and {1} exclude each other.', shown('fp16'), shown('bf16')),
    source: SOURCE,
  });
  forbid(args.has('fp4_format') && args.has('fp8_format'), node('fp4_format'), draft, {
    code: 'two-precisions',
    message: say('{0} and {1} exclude each other.', shown('fp4_format'), shown('fp8_format')),
    source: SOURCE,
  });
  forbid(
    on('fp32_residual_connection') && !on('fp16') && !on('bf16'),
    node('fp32_residual_connection'),
    draft,
    {
      code: 'residual-precision',
      message: say('A residual connection in fp32 needs fp16 or bf16.'),
      source: SOURCE,
    },
  );
  const overlap = node('overlap_param_gather');
  const sharded =
    on('use_distributed_optimizer') ||
    on('use_megatron_fsdp') ||
    on('use_custom_fsdp') ||
    args.text('optimizer') === 'dist_muon';
  forbid(on('overlap_param_gather') && !sharded, overlap, draft, {
    code: 'overlap-without-shards',
    message: say('{0} needs {1}.', shown('overlap_param_gather'), shown('use_distributed_optimizer')),
    source: SOURCE,
  });
  forbid(on('overlap_param_gather') && sharded && !on('overlap_grad_reduce'), overlap, draft, {
    code: 'overlap-without-reduction',
    message: say('{0} needs {1}.', shown('overlap_param_gather'), shown('overlap_grad_reduce')),
    source: SOURCE,
    releases: { from: '0.5.0' },
  });
  if (!on('use_torch_fsdp2')) return;
  const torch = node('use_torch_fsdp2');
  const reasons: readonly (readonly [boolean, string])[] = [
    [args.integerOrDefault('pipeline_model_parallel_size') > 1, say('pipeline parallelism')],
    [args.integerOrDefault('expert_model_parallel_size') > 1, say('expert parallelism')],
    [on('use_distributed_optimizer'), say("Megatron's distributed optimizer")],
  ];
  // Added later: releases before them run both.
  const later: typeof reasons = [
    [!on('untie_embeddings_and_output_weights'), say('a head that is tied to the embedding')],
    [on('fp16'), 'fp16'],
  ];
  const broken = reasons.some(([stands]) => stands);
  const against = [...reasons, ...later].filter(([stands]) => stands).map(([, reason]) => reason);
  forbid(against.length > 0, torch, draft, {
    code: 'torch-fsdp',
    message: say("Megatron does not run torch's FSDP 2 with {0}.", against.join(', ')),
    source: SOURCE,
    ...(broken ? {} : { releases: {} }),
  });
}

/** Flags that Megatron-LM stops on. */
function checkOld(args: Section, draft: Draft, { shown }: RuleOptions): void {
  const renamed = [
    ['batch_size', 'micro_batch_size'],
    ['warmup', 'lr_warmup_fraction'],
    ['model_parallel_size', 'tensor_model_parallel_size'],
    ['checkpoint_activations', 'recompute_activations'],
  ] as const;
  for (const [old, name] of renamed) {
    const found = args.find(old);
    // The name is to blame, whatever it is set to.
    const key = found && { ...found.node, range: found.keyRange ?? found.node.range };
    forbid(found !== undefined && textOf(found.node) !== 'false', key, draft, {
      code: 'removed-flag',
      message: say('Megatron-LM stops on {0}: use {1}.', shown(old), shown(name)),
      source: SOURCE,
      releases: {},
      data: { replacement: shown(name).replaceAll('`', '') },
    });
  }
  const schedule = args.find('step_batch_size_schedule');
  forbid(schedule !== undefined && args.has('global_batch_size'), schedule?.node, draft, {
    code: 'two-batches',
    message: say(
      '{0} and {1} exclude each other.',
      shown('step_batch_size_schedule'),
      shown('global_batch_size'),
    ),
    source: SOURCE,
  });
  const samples = args.find('train_samples');
  forbid(samples !== undefined && args.has('train_iters'), samples?.node, draft, {
    code: 'two-lengths',
    message: say('{0} and {1} exclude each other.', shown('train_samples'), shown('train_iters')),
    source: SOURCE,
  });
}
