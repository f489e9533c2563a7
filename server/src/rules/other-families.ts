import {
  AUTOMODEL,
  fileIn,
  LITGPT,
  LLM_FOUNDRY,
  LUDWIG,
  NEMO,
  NEMO_RL,
  OPEN_INSTRUCT,
  OPENRLHF,
  TORCHTITAN,
  TORCHTUNE,
  TRLX,
  VERL,
} from '../sources/repositories';
import { refused } from './rule';

// Where the frameworks have it, at the release that is described.
const automodel = (path: string) => fileIn(AUTOMODEL, `nemo_automodel/components/training/${path}`);
const litgpt = (path: string) => fileIn(LITGPT, `litgpt/${path}`);
const llmFoundry = (path: string) => fileIn(LLM_FOUNDRY, `llmfoundry/utils/${path}`);
const ludwig = (path: string) => fileIn(LUDWIG, `ludwig/${path}`);
const nemo = (path: string) => fileIn(NEMO, `nemo/collections/nlp/models/language_modeling/${path}`);
const nemoRl = (path: string) => fileIn(NEMO_RL, `nemo_rl/models/${path}`);
const openrlhf = (path: string) => fileIn(OPENRLHF, `openrlhf/${path}`);
const openInstruct = (path: string) => fileIn(OPEN_INSTRUCT, `open_instruct/${path}`);
const torchtitan = (path: string) => fileIn(TORCHTITAN, `torchtitan/distributed/${path}`);
const torchtune = (path: string) => fileIn(TORCHTUNE, `recipes/${path}`);
const trlx = (path: string) => fileIn(TRLX, `trlx/trainer/${path}`);
const verl = (path: string) => fileIn(VERL, `verl/workers/${path}`);

/** Rules of Other families. */
export const OTHER_FAMILIES_RULES = {
  accumulation: refused(
    'NeMo takes the micro batches from the global batch.',
    'Set `accumulate_grad_batches` to 1.',
    nemo('megatron_base_model.py'),
  ),
  'two-backends': refused(
    'Both backends of NeMo-RL are on.',
    'Switch one off.',
    nemoRl('policy/lm_policy.py'),
  ),
  'packing-with-dynamic-batches': refused(
    'Dynamic batching and sequence packing exclude each other.',
    'Keep one.',
    nemoRl('policy/lm_policy.py'),
  ),
  'dynamic-batches-with-stages': refused(
    'Dynamic batching works with one pipeline stage only.',
    'Switch it off.',
    nemoRl('policy/lm_policy.py'),
  ),
  'lora-in-first-worker': refused(
    'LoRA needs the second worker of NeMo-RL.',
    'Set `_v2: true`.',
    nemoRl('policy/lm_policy.py'),
  ),
  'lora-kernels-with-tensor-parallel': refused(
    'The Triton kernels of LoRA do not work with tensor parallelism.',
    'Set `use_triton: false`.',
    nemoRl('automodel/setup.py'),
  ),
  'batch-size': refused('A batch size is not above 0.', 'Write one that is.', automodel('step_scheduler.py')),
  'fp16-refused': refused(
    'torchtune trains in bf16 or fp32, not in fp16.',
    'Write one of them.',
    torchtune('full_finetune_distributed.py'),
  ),
  'in-backward-accumulation': refused(
    '`optimizer_in_bwd` excludes gradient accumulation.',
    'Leave one of them.',
    torchtune('full_finetune_distributed.py'),
  ),
  'in-backward-clipping': refused(
    '`optimizer_in_bwd` excludes `clip_grad_norm`.',
    'Leave one of them.',
    torchtune('full_finetune_distributed.py'),
  ),
  'missing-plan': refused(
    'Tensor parallelism needs a `tensor_parallel_plan`.',
    'State it.',
    torchtune('full_finetune_distributed.py'),
  ),
  'fused-tensor-parallel': refused(
    'The fused optimizer does not work with tensor parallelism.',
    'Use another one.',
    torchtune('full_finetune_distributed.py'),
  ),
  'degree-out-of-range': refused(
    'A degree of parallelism is below 1.',
    'Write at least 1, or -1 where the rest is taken.',
    torchtitan('parallel_dims.py'),
  ),
  'parallel-sizes': refused(
    'The degrees of parallelism do not multiply to the GPUs.',
    'Change one of them.',
    torchtitan('parallel_dims.py'),
  ),
  'foreign-argument': refused(
    'litgpt does not take this argument here.',
    'Leave it out.',
    litgpt('finetune/full.py'),
  ),
  'quantized-mixed': refused(
    'Quantization does not work with mixed precision.',
    'Use `precision: bf16-true`.',
    litgpt('finetune/lora.py'),
  ),
  'quantized-devices': refused(
    'litgpt trains quantized models on one device only.',
    'Use one device.',
    litgpt('finetune/lora.py'),
  ),
  'quantized-optimizer': refused(
    'Quantized models are stepped by AdamW only.',
    'Use it.',
    litgpt('utils.py'),
  ),
  'init-device': refused(
    '`init_device` is none that LLM Foundry knows.',
    'Write `meta`, `cpu` or `mixed`.',
    llmFoundry('config_utils.py'),
  ),
  'mixed-without-fsdp': refused(
    '`init_device: mixed` needs `fsdp_config`.',
    'State it.',
    llmFoundry('config_utils.py'),
  ),
  'four-bit-fp16': refused(
    'OpenRLHF multiplies weights in 4 bits in bf16 only.',
    'Use bf16.',
    openrlhf('models/actor.py'),
  ),
  'ring-without-packing': refused(
    'Ring attention needs packed samples.',
    'Add `--ds.packing_samples`.',
    openrlhf('cli/train_sft.py'),
  ),
  'pack-too-short': refused(
    'A packed row holds no prompt with its response.',
    'Raise `pack_length`.',
    openInstruct('data_loader.py'),
  ),
  'sequence-parallel-stage': refused(
    'Sequence parallelism needs ZeRO stage 3.',
    'Set `deepspeed_stage` to 3.',
    openInstruct('grpo_utils.py'),
  ),
  'penalty-without-reference': refused(
    'Without the reference there is no KL penalty.',
    'Set `beta` to 0.',
    openInstruct('grpo_utils.py'),
  ),
  'two-micro-batches': refused(
    'Two spellings of the micro batch are stated.',
    'Keep one.',
    verl('config/actor.py'),
  ),
  'ulysses-with-padding': refused(
    'Ulysses needs rows without padding.',
    'Set `use_remove_padding`.',
    verl('engine/fsdp/transformer_impl.py'),
  ),
  'minibatch-does-not-divide': refused(
    '`minibatch_size` does not divide `batch_size`.',
    'Change one of them.',
    trlx('accelerate_base_trainer.py'),
  ),
  'adapter-without-finetune': refused(
    'An adapter is trained with `trainer.type: finetune` only.',
    'Change the type.',
    ludwig('config_validation/checks.py'),
  ),
  'quantized-without-lora': refused(
    'Ludwig fine-tunes quantized models with LoRA only.',
    'Set `adapter.type: lora`.',
    ludwig('config_validation/checks.py'),
  ),
  'merge-into-4bit': refused(
    'An adapter cannot be merged into a 4-bit model.',
    'Quantize to 8 bits, or do not merge.',
    ludwig('config_validation/checks.py'),
  ),
  'effective-batch': refused(
    '`effective_batch_size` is not a multiple of what it is split into.',
    'Change one of them.',
    ludwig('schema/trainer.py'),
  ),
  'input-feature': refused(
    'A language model takes one input feature, of type `text`.',
    'Write one.',
    ludwig('config_validation/checks.py'),
  ),
  'output-feature': refused(
    'Fine-tuning a language model takes an output feature of type `text`.',
    'Write one.',
    ludwig('config_validation/checks.py'),
  ),
};
