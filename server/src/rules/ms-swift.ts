import { doubtful, memory, refused } from './rule';

/** Rules of ms-swift. */
export const MS_SWIFT_RULES = {
  'packing-without-flash': refused('Packing needs flash attention.', 'Set `attn_impl` to `flash_attn`.'),
  'device-map-deepspeed': refused('DeepSpeed does not work with `device_map`.', 'Remove one of them.'),
  'packing-lazy': refused('`packing` and `lazy_tokenize` exclude each other.', 'Keep one.'),
  'streaming-lazy': refused('`streaming` and `lazy_tokenize` exclude each other.', 'Keep one.'),
  'bad-quantization-bits': refused('bitsandbytes quantizes to 4 or 8 bits.', 'Write 4 or 8.'),
  'missing-quantization-bits': refused('`quant_method` needs `quant_bits`.', 'State them.'),
  'needless-reference': refused('A reference model is named where none is used.', 'Remove it.'),
  'vllm-mode-without-vllm': refused('`vllm_mode` needs `use_vllm`.', 'Set it.'),
  'missing-vllm-mode': refused('`use_vllm` needs `vllm_mode`.', 'Write `colocate` or `server`.'),
  'uneven-without-pipeline': refused('Uneven stages need more than one pipeline stage.', 'Remove them.'),
  'overlap-without-sequence-parallel': refused('`tp_comm_overlap` needs `sequence_parallel`.', 'Set it.'),
  'grouped-padding-free': refused(
    '`group_by_length` excludes `padding_free`, which is on by default.',
    'Switch one of them off.',
  ),
  'too-few-checkpoints': refused('Megatron in ms-swift keeps at least two checkpoints.', 'Raise the limit.'),
  'layers-spread': doubtful(
    'One process spreads the layers over all GPUs that it sees, and one of them works at a time.',
    'Set `NPROC_PER_NODE`.',
    { severity: 'information' },
  ),
  'sharding-without-processes': refused(
    'One process that sees several GPUs spreads the model, which DeepSpeed and FSDP exclude.',
    'Set `NPROC_PER_NODE`.',
  ),
  'further-tokens-left-out': memory(
    'Layers that predict further tokens are left out of the estimate.',
    'Nothing: the estimate is too low by their weights and logits.',
    { severity: 'information' },
  ),
};
