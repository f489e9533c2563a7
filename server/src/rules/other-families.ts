import { refused } from './rule';

/** Rules of Other families. */
export const OTHER_FAMILIES_RULES = {
  accumulation: refused(
    'NeMo takes the micro batches from the global batch.',
    'Set `accumulate_grad_batches` to 1.',
  ),
  'two-backends': refused('Both backends of NeMo-RL are on.', 'Switch one off.'),
  'packing-with-dynamic-batches': refused(
    'Dynamic batching and sequence packing exclude each other.',
    'Keep one.',
  ),
  'dynamic-batches-with-stages': refused(
    'Dynamic batching works with one pipeline stage only.',
    'Switch it off.',
  ),
  'lora-in-first-worker': refused('LoRA needs the second worker of NeMo-RL.', 'Set `_v2: true`.'),
  'lora-kernels-with-tensor-parallel': refused(
    'The Triton kernels of LoRA do not work with tensor parallelism.',
    'Set `use_triton: false`.',
  ),
  'batch-size': refused('A batch size is not above 0.', 'Write one that is.'),
  'fp16-refused': refused('torchtune trains in bf16 or fp32, not in fp16.', 'Write one of them.'),
  'in-backward-accumulation': refused(
    '`optimizer_in_bwd` excludes gradient accumulation.',
    'Leave one of them.',
  ),
  'in-backward-clipping': refused('`optimizer_in_bwd` excludes `clip_grad_norm`.', 'Leave one of them.'),
  'missing-plan': refused('Tensor parallelism needs a `tensor_parallel_plan`.', 'State it.'),
  'fused-tensor-parallel': refused(
    'The fused optimizer does not work with tensor parallelism.',
    'Use another one.',
  ),
  'degree-out-of-range': refused(
    'A degree of parallelism is below 1.',
    'Write at least 1, or -1 where the rest is taken.',
  ),
  'parallel-sizes': refused('The degrees of parallelism do not multiply to the GPUs.', 'Change one of them.'),
  'foreign-argument': refused('litgpt does not take this argument here.', 'Leave it out.'),
  'quantized-mixed': refused(
    'Quantization does not work with mixed precision.',
    'Use `precision: bf16-true`.',
  ),
  'quantized-devices': refused('litgpt trains quantized models on one device only.', 'Use one device.'),
  'quantized-optimizer': refused('Quantized models are stepped by AdamW only.', 'Use it.'),
  'init-device': refused('`init_device` is none that LLM Foundry knows.', 'Write `meta`, `cpu` or `mixed`.'),
  'mixed-without-fsdp': refused('`init_device: mixed` needs `fsdp_config`.', 'State it.'),
  'four-bit-fp16': refused('OpenRLHF multiplies weights in 4 bits in bf16 only.', 'Use bf16.'),
  'ring-without-packing': refused('Ring attention needs packed samples.', 'Add `--ds.packing_samples`.'),
  'pack-too-short': refused('A packed row holds no prompt with its response.', 'Raise `pack_length`.'),
  'sequence-parallel-stage': refused(
    'Sequence parallelism needs ZeRO stage 3.',
    'Set `deepspeed_stage` to 3.',
  ),
  'penalty-without-reference': refused('Without the reference there is no KL penalty.', 'Set `beta` to 0.'),
  'two-micro-batches': refused('Two spellings of the micro batch are stated.', 'Keep one.'),
  'ulysses-with-padding': refused('Ulysses needs rows without padding.', 'Set `use_remove_padding`.'),
  'minibatch-does-not-divide': refused(
    '`minibatch_size` does not divide `batch_size`.',
    'Change one of them.',
  ),
  'adapter-without-finetune': refused(
    'An adapter is trained with `trainer.type: finetune` only.',
    'Change the type.',
  ),
  'quantized-without-lora': refused(
    'Ludwig fine-tunes quantized models with LoRA only.',
    'Set `adapter.type: lora`.',
  ),
  'merge-into-4bit': refused(
    'An adapter cannot be merged into a 4-bit model.',
    'Quantize to 8 bits, or do not merge.',
  ),
  'effective-batch': refused(
    '`effective_batch_size` is no multiple of what it is split into.',
    'Change one of them.',
  ),
  'input-feature': refused('A language model takes one input feature, of type `text`.', 'Write one.'),
  'output-feature': refused(
    'Fine-tuning a language model takes an output feature of type `text`.',
    'Write one.',
  ),
};
