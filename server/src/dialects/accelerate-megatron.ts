import { nodeAt } from '../config/lookup';
import type { MapNode } from '../config/node';
import { flagOf, integerOf, textOf } from '../config/scalar';
import type { FieldPath } from '../run/fields';
import type { Draft } from './draft';

const SIZES: readonly [key: string, field: FieldPath][] = [
  ['megatron_lm_tp_degree', 'parallel.tensor'],
  ['megatron_lm_pp_degree', 'parallel.pipeline'],
  ['megatron_lm_num_micro_batches', 'batch.accumulation'],
  ['megatron_lm_expert_model_parallel_size', 'parallel.expert'],
  ['megatron_lm_context_parallel_size', 'parallel.context'],
  ['megatron_lm_expert_tensor_parallel_size', 'parallel.expertTensor'],
  ['megatron_lm_decoder_last_pipeline_num_layers', 'parallel.lastStageLayers'],
];

/** Megatron-LM through Accelerate. */
export function readMegatron(root: MapNode, draft: Draft): void {
  const at = (key: string) => ({
    key: `megatron_lm_config.${key}`,
    node: nodeAt(root, ['megatron_lm_config', key]),
  });
  for (const [name, field] of SIZES) {
    const { key, node } = at(name);
    const size = integerOf(node);
    if (node && size !== undefined) draft.state(field, size, node, key);
  }
  const flags: readonly [string, 'parallel.sequence' | 'parallel.distributedOptimizer'][] = [
    ['megatron_lm_sequence_parallelism', 'parallel.sequence'],
    ['megatron_lm_use_distributed_optimizer', 'parallel.distributedOptimizer'],
  ];
  for (const [name, field] of flags) {
    const { key, node } = at(name);
    const value = flagOf(node);
    if (node && value !== undefined) draft.state(field, value, node, key);
  }
  const granularity = at('megatron_lm_recompute_granularity');
  const recompute = at('megatron_lm_recompute_activations');
  const kind = textOf(granularity.node);
  if (granularity.node && (kind === 'full' || kind === 'selective')) {
    draft.state('activations.checkpointing', kind, granularity.node, granularity.key);
  } else if (recompute.node && flagOf(recompute.node) !== undefined) {
    const value = flagOf(recompute.node) ? 'selective' : 'none';
    draft.state('activations.checkpointing', value, recompute.node, recompute.key);
  }
  const every = at('megatron_lm_recompute_num_layers');
  const layers = integerOf(every.node);
  if (every.node && kind === 'full' && layers !== undefined) {
    // `uniform` checkpoints every so many layers, `block` the first so many of each stage (`transformer_block.py`).
    const block = textOf(at('megatron_lm_recompute_method').node) === 'block';
    const field = block ? 'activations.layers' : 'activations.checkpointEvery';
    draft.state(field, layers, every.node, every.key);
  }
  const offload = at('megatron_lm_optimizer_cpu_offload');
  if (offload.node && flagOf(offload.node) === true) {
    draft.state('offload.optimizer', 'cpu', offload.node, offload.key);
  }
}
