import RELEASES from '../../../data/framework-keys/megatron.jsonl' with { type: 'text' };
import { textsOf } from '../../config/scalar';
import type { FieldValue } from '../../run/fields';
import { fileIn, MEGATRON } from '../../sources/repositories';
import type { KeySpec } from '../dialect';
import { FrameworkKeys, ReleasedKeys } from '../framework-keys';
import { movedRow, type ReleasedRow, releasedBlock } from '../key-rows';
import { above0 } from '../key-value';

/** What the releases of Megatron-LM have of its arguments, which tools around it take by the same names. */
export const MEGATRON_RELEASES = new ReleasedKeys([
  new FrameworkKeys(() => RELEASES),
  'arguments',
  'TransformerConfig',
  'MLATransformerConfig',
]);

const CORE = fileIn(MEGATRON, 'megatron/core/');
const PARALLEL = `${CORE}model_parallel_config.py`;
const TRANSFORMER = `${CORE}transformer/transformer_config.py`;
const OPTIMIZER = `${CORE}optimizer/optimizer_config.py`;

const CONTEXT_METHODS: Readonly<Record<string, FieldValue<'parallel.contextMethod'>>> = {
  p2p: 'ring',
  all_gather: 'all-gather',
  allgather: 'all-gather',
  a2a: 'all-to-all',
};

const CHUNKS = ['parallel.virtualStages', 'parallel.pipelineSchedule'] as const;

/**
 * Sizes of tensor and pipeline parallelism, and the other arguments of Megatron-Core that tools around it take by the same
 * names: fields of its `ModelParallelConfig`, `TransformerConfig` and `OptimizerConfig`.
 */
const ROWS: readonly (readonly [source: string, rows: readonly ReleasedRow[]])[] = [
  [
    PARALLEL,
    [
      [
        'tensor_model_parallel_size',
        'Tensor-parallel size.',
        { sets: 'parallel.tensor', least: 1, assumes: PARALLEL },
      ],
      [
        'pipeline_model_parallel_size',
        'Pipeline-parallel size.',
        { sets: 'parallel.pipeline', least: 1, assumes: PARALLEL },
      ],
      ['virtual_pipeline_model_parallel_size', 'Layer chunks per stage.', { fields: CHUNKS }],
      [
        'num_layers_per_virtual_pipeline_stage',
        'Layers of a chunk; several chunks per stage are interleaved.',
        { fields: CHUNKS },
      ],
      ['num_virtual_stages_per_pipeline_rank', 'Layer chunks per stage.', { fields: CHUNKS }],
      [
        'decoder_first_pipeline_num_layers',
        'Layers of the first stage.',
        { sets: 'parallel.firstStageLayers' },
      ],
      ['decoder_last_pipeline_num_layers', 'Layers of the last stage.', { sets: 'parallel.lastStageLayers' }],
      [
        'account_for_embedding_in_pipeline_split',
        'The embedding counts as a layer of its stage.',
        { fields: ['parallel.embeddingLayers', 'parallel.headLayers'] },
      ],
      [
        'account_for_loss_in_pipeline_split',
        'The head counts as a layer of its stage.',
        { fields: ['parallel.headLayers'] },
      ],
      [
        'context_parallel_size',
        'Context-parallel size.',
        { sets: 'parallel.context', least: 1, assumes: PARALLEL },
      ],
      [
        'cp_comm_type',
        'How context-parallel ranks exchange keys and values.',
        {
          type: 'any',
          default: 'p2p',
          sets: 'parallel.contextMethod',
          // One word, or one for each layer, of which the first counts.
          means: (node) => CONTEXT_METHODS[textsOf(node)?.[0] ?? ''],
        },
      ],
      [
        'expert_model_parallel_size',
        'Expert-parallel size.',
        { sets: 'parallel.expert', least: 1, assumes: PARALLEL },
      ],
      [
        'expert_tensor_parallel_size',
        'Tensor-parallel size inside experts. Unset: that of the rest.',
        { sets: 'parallel.expertTensor', least: 1 },
      ],
      [
        'moe_expert_capacity_factor',
        'Tokens that an expert takes at most, as a multiple of its share.',
        { sets: 'parallel.capacityFactor', means: above0 },
      ],
      [
        'sequence_parallel',
        'Norms and dropout work on a part of the sequence; without tensor parallelism it is switched off.',
        { sets: 'parallel.sequence', assumes: PARALLEL },
      ],
      [
        'tp_comm_overlap',
        "Transfers of tensor parallelism overlap products, in buffers of Transformer Engine's own.",
        { sets: 'parallel.userBuffers' },
      ],
    ],
  ],
  [
    TRANSFORMER,
    [
      [
        'recompute_method',
        '`uniform`: segments of equal length; `block`: the first layers of a stage.',
        {
          values: ['uniform', 'block'],
          fields: ['activations.checkpointEvery', 'activations.layers'],
        },
      ],
      [
        'recompute_num_layers',
        'Layers of a segment (`uniform`), or layers per stage (`block`).',
        { fields: ['activations.checkpointEvery', 'activations.layers'] },
      ],
      [
        'recompute_modules',
        'Parts of a layer that selective recomputation computes again.',
        { type: 'any', default: 'core_attn', fields: ['activations.modules'] },
      ],
      [
        'distribute_saved_activations',
        'Checkpoints are split over tensor-parallel ranks.',
        { sets: 'activations.distributed' },
      ],
      [
        'cross_entropy_loss_fusion',
        'Fused cross-entropy over the split vocabulary.',
        { fields: ['loss.implementation'] },
      ],
      [
        'cross_entropy_fusion_impl',
        "Who fuses the cross-entropy: `torch.compile`, or Transformer Engine's kernel.",
        { values: ['native', 'te'], fields: ['loss.implementation'] },
      ],
      [
        'fp8_format',
        'fp8 products by Transformer Engine.',
        { values: ['e4m3', 'hybrid'], fields: ['precision.fp8'] },
      ],
      ['fp8_recipe', 'How fp8 is scaled.', { fields: ['precision.fp8'] }],
      [
        'mtp_num_layers',
        'Layers that predict further tokens.',
        { fields: ['model.config', 'features.unmodelled'] },
      ],
      [
        'mtp_use_repeated_layer',
        'One layer predicts all further tokens, one after the other.',
        { fields: ['model.config'] },
      ],
    ],
  ],
  [
    OPTIMIZER,
    [
      [
        'use_distributed_optimizer',
        'Masters and states are sharded over data-parallel ranks.',
        { sets: 'parallel.distributedOptimizer', assumes: OPTIMIZER },
      ],
      [
        'use_precision_aware_optimizer',
        'Masters, main gradients and states may have other types than fp32.',
        { fields: ['optimizer.precisionAware', 'precision.masterWeights', 'precision.optimizerStates'] },
      ],
      [
        'main_grads_dtype',
        'Type of the main gradients.',
        { values: ['fp32', 'bf16'], fields: ['precision.gradientAccumulation'] },
      ],
      [
        'main_params_dtype',
        'Type of the masters.',
        { values: ['fp32', 'fp16'], fields: ['precision.masterWeights'] },
      ],
      [
        'exp_avg_dtype',
        "Type of Adam's first moment.",
        {
          values: ['fp32', 'fp16', 'bf16', 'fp8'],
          fields: ['precision.optimizerStates'],
        },
      ],
      [
        'exp_avg_sq_dtype',
        "Type of Adam's second moment.",
        {
          values: ['fp32', 'fp16', 'bf16', 'fp8'],
          fields: ['precision.optimizerStates'],
        },
      ],
      ['optimizer_cpu_offload', 'Masters and states lie in host memory.', { fields: ['offload.optimizer'] }],
      [
        'optimizer_offload_fraction',
        'Share of them that does.',
        { sets: 'offload.optimizerRatio', assumes: OPTIMIZER },
      ],
    ],
  ],
];

/** All of them, each with the file of Megatron-Core that has it; type and default are those of its newest release. */
export const MEGATRON_CORE_KEYS: readonly KeySpec[] = ROWS.flatMap(([source, rows]) =>
  releasedBlock('', source, MEGATRON_RELEASES, rows),
);

const BY_NAME = new Map(MEGATRON_CORE_KEYS.map((row) => [row.path, row]));

/** Sizes of parallelism that every tool around Megatron-Core takes by its names. */
export const PARALLEL_SIZES = [
  'tensor_model_parallel_size',
  'pipeline_model_parallel_size',
  'virtual_pipeline_model_parallel_size',
  'context_parallel_size',
  'expert_model_parallel_size',
] as const;

/** Those of them that a tool takes as they are, in one of its blocks, which `source` documents. */
export function megatronCoreKeys(
  parent: string,
  source: string,
  ...names: readonly string[]
): readonly KeySpec[] {
  return names.map((name) => {
    const row = BY_NAME.get(name);
    if (!row) throw new Error(`no row of Megatron-Core is called ${name}`);
    return movedRow(parent === '' ? name : `${parent}.${name}`, row, { source });
  });
}
