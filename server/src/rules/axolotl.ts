import { refused } from './rule';

/** Rules of Axolotl. */
export const AXOLOTL_RULES = {
  'quantized-without-adapter': refused(
    'Weights in 8 or 4 bits cannot be trained themselves.',
    'Add an adapter.',
  ),
  'qlora-without-4bit': refused('`adapter: qlora` needs `load_in_4bit: true`.', 'Set it.'),
  'qlora-8bit': refused('`adapter: qlora` excludes `load_in_8bit`.', 'Remove `load_in_8bit`.'),
  'two-batch-sizes': refused(
    '`gradient_accumulation_steps` and `batch_size` are both stated.',
    'Keep one: the other follows.',
  ),
  'missing-batch-size': refused('`batch_size` alone is not enough.', 'Set `micro_batch_size` too.'),
  'packing-preference': refused('`sample_packing` does not work with `rl`.', 'Switch it off.'),
  'packing-twice': refused('`batch_flattening` excludes `sample_packing`.', 'Keep one.'),
  'optimizer-fsdp2': refused('The optimizer does not work with FSDP 2.', 'Use `adamw_torch_8bit`.'),
  'optimizer-fsdp-offload': refused(
    '8-bit optimizers do not work with parameters that FSDP 1 offloads.',
    'Use another optimizer.',
  ),
  'muon-deepspeed': refused('Muon does not work with DeepSpeed.', 'Use FSDP 2.'),
  'muon-fsdp1': refused('Muon needs FSDP 2.', 'Set `fsdp_version: 2`.'),
  'q-galore-adapter': refused('Q-GaLore trains whole weights.', 'Remove `adapter`.'),
  'q-galore-deepspeed': refused(
    'Q-GaLore does not work with DeepSpeed.',
    'Use another optimizer or another sharding.',
  ),
  'selective-without-checkpointing': refused(
    '`selective_checkpointing` needs `gradient_checkpointing`.',
    'Set it.',
  ),
  'quantized-preference-fsdp2': refused(
    'FSDP 2 does not work with quantized weights in preference training.',
    'Use DeepSpeed or FSDP 1.',
  ),
  'efficient-loading-4bit': refused(
    'FSDP 2 cannot load 4-bit weights with `cpu_ram_efficient_loading`.',
    'Set it to false.',
  ),
  'kto-columns': refused('`rl: kto` needs `remove_unused_columns: false`.', 'Set it.'),
  'lora-kernel-8bit': refused('The LoRA kernels do not work with 8-bit weights.', 'Switch them off.'),
  'lora-kernel-remote-code': refused(
    'The LoRA kernels do not work with `trust_remote_code`.',
    'Switch one of them off.',
  ),
  'quantized-experts': refused('`quantize_moe_experts` needs an adapter over quantized weights.', 'Add one.'),
  'parameters-dropout': refused('Adapters on parameters have no dropout.', 'Set `lora_dropout: 0`.'),
  'offload-without-checkpointing': refused('Offloading activations needs checkpointing.', 'Switch it on.'),
  'deepcompile-without-deepspeed': refused('`deepcompile` needs DeepSpeed.', 'Name a DeepSpeed file.'),
  'two-memory-limits': refused('`max_memory` and `gpu_memory_limit` exclude each other.', 'Keep one.'),
  'missing-steps': refused('A streamed data set has no length.', 'Set `max_steps`.'),
  'two-losses': refused('Several losses are switched on.', 'Keep one.'),
};
