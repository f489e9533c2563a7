import { doubtful, memory, refused } from '../../rules/rule';
import { fileIn, MS_SWIFT, TRANSFORMERS } from '../../sources/repositories';

// Where the frameworks have it, at the release that is described.
const msSwift = (path: string) => fileIn(MS_SWIFT, `swift/${path}`);

/** Rules of ms-swift. */
export const MS_SWIFT_RULES = {
  'packing-without-flash': refused(
    'Packing needs flash attention.',
    'Set `attn_impl` to `flash_attn`.',
    msSwift('arguments/sft_args.py'),
  ),
  'device-map-deepspeed': refused(
    'transformers loads no model by `device_map` under ZeRO-3.',
    'Remove one of them.',
    fileIn(TRANSFORMERS, 'src/transformers/integrations/accelerate.py'),
  ),
  'packing-lazy': refused(
    '`packing` and `lazy_tokenize` exclude each other.',
    'Keep one.',
    msSwift('arguments/base_args/base_args.py'),
  ),
  'streaming-lazy': refused(
    '`streaming` and `lazy_tokenize` exclude each other.',
    'Keep one.',
    msSwift('arguments/base_args/base_args.py'),
  ),
  'bad-quantization-bits': refused(
    'bitsandbytes quantizes to 4 or 8 bits.',
    'Write 4 or 8.',
    msSwift('arguments/base_args/quant_args.py'),
  ),
  'missing-quantization-bits': refused(
    '`quant_method` needs `quant_bits`.',
    'State them.',
    msSwift('arguments/base_args/quant_args.py'),
  ),
  'needless-reference': refused(
    'A reference model is named where none is used.',
    'Remove it.',
    msSwift('arguments/rlhf_args.py'),
  ),
  'vllm-mode-without-vllm': refused(
    '`vllm_mode` needs `use_vllm`.',
    'Set it.',
    msSwift('arguments/rlhf_args.py'),
  ),
  'missing-vllm-mode': refused(
    '`use_vllm` needs `vllm_mode`.',
    'Write `colocate` or `server`.',
    msSwift('arguments/rlhf_args.py'),
  ),
  'uneven-without-pipeline': refused(
    'Uneven stages need more than one pipeline stage.',
    'Remove them.',
    msSwift('megatron/arguments/megatron_args.py'),
  ),
  'overlap-without-sequence-parallel': refused(
    '`tp_comm_overlap` needs `sequence_parallel`.',
    'Set it.',
    msSwift('megatron/arguments/megatron_args.py'),
  ),
  'grouped-padding-free': refused(
    '`group_by_length` excludes `padding_free`, which is on by default.',
    'Switch one of them off.',
    msSwift('megatron/arguments/megatron_args.py'),
  ),
  'too-few-checkpoints': refused(
    'Megatron in ms-swift keeps at least two checkpoints.',
    'Raise the limit.',
    msSwift('megatron/arguments/megatron_args.py'),
  ),
  'layers-spread': doubtful(
    'One process spreads the layers over all GPUs that it sees, and one of them works at a time.',
    'Set `NPROC_PER_NODE`.',
    msSwift('utils/env.py'),
    { severity: 'information' },
  ),
  'sharding-without-processes': refused(
    'One process that sees several GPUs spreads the model, which DeepSpeed and FSDP exclude.',
    'Set `NPROC_PER_NODE`.',
    msSwift('arguments/sft_args.py'),
  ),
  'further-tokens-left-out': memory(
    'Layers that predict further tokens are left out of the estimate.',
    'Nothing: the estimate is too low by their weights and logits.',
    msSwift('megatron/arguments/megatron_args.py'),
    { severity: 'information' },
  ),
};

declare module '../../rules/rule-id' {
  interface RuleNames extends Record<keyof typeof MS_SWIFT_RULES, true> {}
}
