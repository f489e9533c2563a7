import type { Section } from '../section';

const OWN = 'megatron_lm_';

/** Megatron-LM through Accelerate. */
export function readMegatron(section: Section): void {
  const config = section.section('megatron_lm_config');
  config.take(`${OWN}tp_degree`, `${OWN}pp_degree`, `${OWN}num_micro_batches`);
  config.take(`${OWN}expert_model_parallel_size`, `${OWN}context_parallel_size`);
  config.take(`${OWN}expert_tensor_parallel_size`, `${OWN}decoder_last_pipeline_num_layers`);
  config.take(`${OWN}sequence_parallelism`, `${OWN}use_distributed_optimizer`);
  config.take(`${OWN}recompute_granularity`, `${OWN}recompute_activations`);
  const layers = config.integer(`${OWN}recompute_num_layers`);
  const every = config.find(`${OWN}recompute_num_layers`);
  if (every && layers !== undefined && config.text(`${OWN}recompute_granularity`) === 'full') {
    // `uniform` checkpoints every so many layers, `block` the first so many of each stage (`transformer_block.py`).
    const block = config.text(`${OWN}recompute_method`) === 'block';
    section.state(block ? 'activations.layers' : 'activations.checkpointEvery', layers, every);
  }
  config.take(`${OWN}optimizer_cpu_offload`);
}
