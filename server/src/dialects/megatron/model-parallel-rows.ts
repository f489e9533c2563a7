import type { Row } from '../key-rows';

/** Sizes of tensor and pipeline parallelism, as Megatron and what is built on it spell and document them. */
export const MODEL_PARALLEL_ROWS: readonly Row[] = [
  [
    'tensor_model_parallel_size',
    'integer',
    'Tensor-parallel size.',
    { default: 1, fields: ['parallel.tensor'] },
  ],
  [
    'pipeline_model_parallel_size',
    'integer',
    'Pipeline-parallel size.',
    { default: 1, fields: ['parallel.pipeline'] },
  ],
];
