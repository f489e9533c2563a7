import { textsOf } from '../../config/scalar';
import type { FieldValue } from '../../run/fields';
import { fileIn, MEGATRON } from '../../sources/repositories';
import type { KeySpec } from '../dialect';
import { block, type Row } from '../key-rows';
import { above0 } from '../key-value';

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
const ROWS: readonly (readonly [source: string, rows: readonly Row[]])[] = [
  [
    PARALLEL,
    [
      [
        'tensor_model_parallel_size',
        'integer',
        'Tensor-parallel size.',
        { default: 1, sets: 'parallel.tensor', assumes: PARALLEL },
      ],
      [
        'pipeline_model_parallel_size',
        'integer',
        'Pipeline-parallel size.',
        { default: 1, sets: 'parallel.pipeline', assumes: PARALLEL },
      ],
      [
        'virtual_pipeline_model_parallel_size',
        'integer',
        'Layer chunks per stage.',
        { default: null, fields: CHUNKS },
      ],
      [
        'num_layers_per_virtual_pipeline_stage',
        'integer',
        'Layers of a chunk; several chunks per stage are interleaved.',
        { default: null, fields: CHUNKS },
      ],
      [
        'num_virtual_stages_per_pipeline_rank',
        'integer',
        'Layer chunks per stage.',
        { default: null, fields: CHUNKS },
      ],
      [
        'decoder_first_pipeline_num_layers',
        'integer',
        'Layers of the first stage.',
        { default: null, sets: 'parallel.firstStageLayers' },
      ],
      [
        'decoder_last_pipeline_num_layers',
        'integer',
        'Layers of the last stage.',
        { default: null, sets: 'parallel.lastStageLayers' },
      ],
      [
        'account_for_embedding_in_pipeline_split',
        'boolean',
        'The embedding counts as a layer of its stage.',
        { default: false, fields: ['parallel.embeddingLayers', 'parallel.headLayers'] },
      ],
      [
        'account_for_loss_in_pipeline_split',
        'boolean',
        'The head counts as a layer of its stage.',
        { default: false, fields: ['parallel.headLayers'] },
      ],
      [
        'context_parallel_size',
        'integer',
        'Context-parallel size.',
        { default: 1, sets: 'parallel.context', assumes: PARALLEL },
      ],
      [
        'cp_comm_type',
        'any',
        'How context-parallel ranks exchange keys and values.',
        {
          default: 'p2p',
          sets: 'parallel.contextMethod',
          // One word, or one for each layer, of which the first counts.
          means: (node) => CONTEXT_METHODS[textsOf(node)?.[0] ?? ''],
        },
      ],
      [
        'expert_model_parallel_size',
        'integer',
        'Expert-parallel size.',
        { default: 1, sets: 'parallel.expert', assumes: PARALLEL },
      ],
      [
        'expert_tensor_parallel_size',
        'integer',
        'Tensor-parallel size inside experts. Unset: that of the rest.',
        { default: null, sets: 'parallel.expertTensor' },
      ],
      [
        'moe_expert_capacity_factor',
        'number',
        'Tokens that an expert takes at most, as a multiple of its share.',
        { default: null, sets: 'parallel.capacityFactor', means: above0 },
      ],
      [
        'sequence_parallel',
        'boolean',
        'Norms and dropout work on a part of the sequence; without tensor parallelism it is switched off.',
        { default: false, sets: 'parallel.sequence', assumes: PARALLEL },
      ],
    ],
  ],
  [
    TRANSFORMER,
    [
      [
        'recompute_method',
        'string',
        '`uniform`: segments of equal length; `block`: the first layers of a stage.',
        {
          values: ['uniform', 'block'],
          default: null,
          fields: ['activations.checkpointEvery', 'activations.layers'],
        },
      ],
      [
        'recompute_num_layers',
        'integer',
        'Layers of a segment (`uniform`), or layers per stage (`block`).',
        { default: null, fields: ['activations.checkpointEvery', 'activations.layers'] },
      ],
      [
        'recompute_modules',
        'any',
        'Parts of a layer that selective recomputation computes again.',
        { default: 'core_attn', fields: ['activations.modules'] },
      ],
      [
        'distribute_saved_activations',
        'boolean',
        'Checkpoints are split over tensor-parallel ranks.',
        { default: false, sets: 'activations.distributed' },
      ],
      [
        'cross_entropy_loss_fusion',
        'boolean',
        'Fused cross-entropy over the split vocabulary.',
        { default: false, fields: ['loss.implementation'] },
      ],
      [
        'cross_entropy_fusion_impl',
        'string',
        "Who fuses the cross-entropy: `torch.compile`, or Transformer Engine's kernel.",
        { values: ['native', 'te'], default: 'native', fields: ['loss.implementation'] },
      ],
      [
        'fp8_format',
        'string',
        'fp8 products by Transformer Engine.',
        { values: ['e4m3', 'hybrid'], default: null, fields: ['precision.fp8'] },
      ],
      ['fp8_recipe', 'string', 'How fp8 is scaled.', { default: 'delayed', fields: ['precision.fp8'] }],
      [
        'mtp_num_layers',
        'integer',
        'Layers that predict further tokens.',
        { default: null, fields: ['model.config', 'features.unmodelled'] },
      ],
    ],
  ],
  [
    OPTIMIZER,
    [
      [
        'use_distributed_optimizer',
        'boolean',
        'Masters and states are sharded over data-parallel ranks.',
        { default: false, sets: 'parallel.distributedOptimizer', assumes: OPTIMIZER },
      ],
      [
        'use_precision_aware_optimizer',
        'boolean',
        'Masters, main gradients and states may have other types than fp32.',
        { default: false, fields: ['precision.masterWeights', 'precision.optimizerStates'] },
      ],
      [
        'main_grads_dtype',
        'string',
        'Type of the main gradients.',
        { values: ['fp32', 'bf16'], default: 'fp32', fields: ['precision.gradientAccumulation'] },
      ],
      [
        'main_params_dtype',
        'string',
        'Type of the masters.',
        { values: ['fp32', 'fp16'], default: 'fp32', fields: ['precision.masterWeights'] },
      ],
      [
        'exp_avg_dtype',
        'string',
        "Type of Adam's first moment.",
        {
          values: ['fp32', 'fp16', 'bf16', 'fp8'],
          default: 'fp32',
          fields: ['precision.optimizerStates'],
        },
      ],
      [
        'exp_avg_sq_dtype',
        'string',
        "Type of Adam's second moment.",
        {
          values: ['fp32', 'fp16', 'bf16', 'fp8'],
          default: 'fp32',
          fields: ['precision.optimizerStates'],
        },
      ],
      [
        'optimizer_cpu_offload',
        'boolean',
        'Masters and states lie in host memory.',
        { default: false, fields: ['offload.optimizer'] },
      ],
      [
        'optimizer_offload_fraction',
        'number',
        'Share of them that does.',
        { default: 1, sets: 'offload.optimizerRatio', assumes: OPTIMIZER },
      ],
    ],
  ],
];

/** All of them, each with the file of Megatron-Core that has it. */
export const MEGATRON_CORE_KEYS: readonly KeySpec[] = ROWS.flatMap(([source, rows]) =>
  block('', source, rows),
);

const BY_NAME = new Map(ROWS.flatMap(([, rows]) => rows.map((row) => [row[0], row] as const)));

/** Those of them that a tool takes as they are. */
export function megatronCoreRows(...names: readonly string[]): readonly Row[] {
  return names.map((name) => {
    const row = BY_NAME.get(name);
    if (!row) throw new Error(`no row of Megatron-Core is called ${name}`);
    return row;
  });
}
