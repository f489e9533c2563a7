import { refused } from '../../rules/rule';
import { AXOLOTL, fileIn } from '../../sources/repositories';

// Where the frameworks have it, at the release that is described.
const axolotl = (path: string) => fileIn(AXOLOTL, `src/axolotl/utils/schemas/${path}`);

/** Rules of Axolotl. */
export const AXOLOTL_RULES = {
  'quantized-without-adapter': refused(
    'Weights in 8 or 4 bits cannot be trained themselves.',
    'Add an adapter.',
    axolotl('peft.py'),
  ),
  'qlora-without-4bit': refused(
    '`adapter: qlora` needs `load_in_4bit: true`.',
    'Set it.',
    axolotl('peft.py'),
  ),
  'qlora-8bit': refused(
    '`adapter: qlora` excludes `load_in_8bit`.',
    'Remove `load_in_8bit`.',
    axolotl('peft.py'),
  ),
  'two-batch-sizes': refused(
    '`gradient_accumulation_steps` and `batch_size` are both set.',
    'Keep one: the other follows.',
    axolotl('validation.py'),
  ),
  'missing-batch-size': refused(
    '`batch_size` alone is not enough.',
    'Set `micro_batch_size` too.',
    axolotl('validation.py'),
  ),
  'packing-preference': refused(
    '`sample_packing` does not work with `rl`.',
    'Switch it off.',
    axolotl('validation.py'),
  ),
  'packing-twice': refused(
    '`batch_flattening` excludes `sample_packing`.',
    'Keep one.',
    axolotl('validation.py'),
  ),
  'optimizer-fsdp2': refused(
    'The optimizer does not work with FSDP 2.',
    'Use `adamw_torch_8bit`.',
    axolotl('validation.py'),
  ),
  'optimizer-fsdp-offload': refused(
    '8-bit optimizers do not work with parameters that FSDP 1 offloads.',
    'Use another optimizer.',
    axolotl('validation.py'),
  ),
  'muon-deepspeed': refused('Muon does not work with DeepSpeed.', 'Use FSDP 2.', axolotl('validation.py')),
  'muon-fsdp1': refused('Muon needs FSDP 2.', 'Set `fsdp_version: 2`.', axolotl('validation.py')),
  'q-galore-adapter': refused(
    'Q-GaLore trains whole weights.',
    'Remove `adapter`.',
    axolotl('validation.py'),
  ),
  'q-galore-deepspeed': refused(
    'Q-GaLore does not work with DeepSpeed.',
    'Use another optimizer or another sharding.',
    axolotl('validation.py'),
  ),
  'selective-without-checkpointing': refused(
    '`selective_checkpointing` needs `gradient_checkpointing`.',
    'Set it.',
    axolotl('validation.py'),
  ),
  'quantized-preference-fsdp2': refused(
    'FSDP 2 does not work with quantized weights in preference training.',
    'Use DeepSpeed or FSDP 1.',
    axolotl('validation.py'),
  ),
  'efficient-loading-4bit': refused(
    'FSDP 2 cannot load 4-bit weights with `cpu_ram_efficient_loading`.',
    'Set it to false.',
    axolotl('validation.py'),
  ),
  'kto-columns': refused(
    '`rl: kto` needs `remove_unused_columns: false`.',
    'Set it.',
    axolotl('validation.py'),
  ),
  'lora-kernel-8bit': refused(
    'The LoRA kernels do not work with 8-bit weights.',
    'Switch them off.',
    axolotl('validation.py'),
  ),
  'lora-kernel-remote-code': refused(
    'The LoRA kernels do not work with `trust_remote_code`.',
    'Switch one of them off.',
    axolotl('validation.py'),
  ),
  'quantized-experts': refused(
    '`quantize_moe_experts` needs an adapter over quantized weights.',
    'Add one.',
    axolotl('config.py'),
  ),
  'parameters-dropout': refused(
    'Adapters on parameters have no dropout.',
    'Set `lora_dropout: 0`.',
    axolotl('peft.py'),
  ),
  'offload-without-checkpointing': refused(
    'Offloading activations needs checkpointing.',
    'Switch it on.',
    axolotl('validation.py'),
  ),
  'deepcompile-without-deepspeed': refused(
    '`deepcompile` needs DeepSpeed.',
    'Name a DeepSpeed file.',
    axolotl('validation.py'),
  ),
  'two-memory-limits': refused(
    '`max_memory` and `gpu_memory_limit` exclude each other.',
    'Keep one.',
    axolotl('validation.py'),
  ),
  'missing-steps': refused(
    'A streamed data set has no length.',
    'Set `max_steps`.',
    axolotl('validation.py'),
  ),
  'tensor-parallel-liger': refused(
    "Liger's loss and its RMSNorm do not work with tensor parallelism.",
    'Switch them off.',
    fileIn(AXOLOTL, 'src/axolotl/integrations/liger/args.py'),
  ),
  'tensor-parallel-8bit': refused(
    'The optimizer does not work with tensor parallelism.',
    'Use `adamw_torch_8bit`.',
    axolotl('validation.py'),
  ),
  'tensor-parallel-tied': refused(
    'Tensor parallelism does not work with tied embeddings.',
    'Shard by FSDP or ZeRO.',
    fileIn(AXOLOTL, 'src/axolotl/loaders/utils.py'),
  ),
  'context-parallel-attention': refused(
    'Context parallelism needs FlashAttention 2.',
    'Set `attn_implementation: flash_attention_2`.',
    axolotl('validation.py'),
  ),
  'context-parallel-packing': refused(
    'Context parallelism over packed samples needs a micro batch of 1.',
    'Set `micro_batch_size: 1`.',
    axolotl('validation.py'),
  ),
  'context-parallel-liger': refused(
    "GRPO with Liger's loss does not work with context parallelism.",
    'Switch one of them off.',
    axolotl('validation.py'),
  ),
  'two-losses': refused('Several losses are switched on.', 'Keep one.', axolotl('validation.py')),
};

declare module '../../rules/rule-id' {
  interface RuleNames extends Record<keyof typeof AXOLOTL_RULES, true> {}
}
