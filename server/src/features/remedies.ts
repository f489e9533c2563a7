import { entryAt } from '../config/lookup';
import type { ConfigNode } from '../config/node';
import type { Written } from '../dialects/words';
import type { RuleId } from '../rules/rule-id';
import type { Problem } from '../text/problem';

/**
 * One way to put a problem right: keys with the values that they take, undefined where a key goes. A key stands in the block of the key
 * that the problem is at, or at the root where it begins with `/`; `.` is the key of the problem itself. Names have underscores, and are written
 * with dashes where the key of the problem is.
 */
export type Remedy = Readonly<Record<string, Written>>;

const DROP: Remedy = { '.': undefined };
const OFF: Remedy = { '.': false };

/** Ways to put right what each rule reports, where the rule names them. Of several, which one is meant only the person knows. */
export const REMEDIES: Readonly<Partial<Record<RuleId, readonly Remedy[]>>> = {
  // What the framework does not read, or refuses to find at all.
  'unknown-key': [DROP],
  'dead-key': [DROP],
  'ignored-key': [DROP],
  'removed-key': [DROP],
  'foreign-argument': [DROP],
  'old-and-new-key': [DROP],
  'legacy-stage1': [DROP],
  'needless-reference': [DROP],
  'lora-only': [DROP],
  'gradient-type': [DROP],
  'two-memory-limits': [DROP, { '/max_memory': undefined }],
  'two-batch-sizes': [DROP, { gradient_accumulation_steps: undefined }, { '/batch_size': undefined }],
  'two-generation-sizes': [{ generation_batch_size: undefined }, { steps_per_generation: undefined }],
  // DeepSpeed.
  'two-precisions': [{ '/fp16.enabled': false }, { '/bf16.enabled': false }],
  'amp-combination': [{ '/amp.enabled': false }],
  'masters-needed': [{ bf16_master_weights_and_grads: true }],
  'untested-optimizer': [{ '/zero_allow_untested_optimizer': true }],
  'lamb-loss-scale': [{ '/fp16.loss_scale': 0 }],
  'prescale-stage3': [OFF],
  'predivide-stage3': [{ '.': 1 }],
  // Accelerate and the Trainer.
  'sync-module-states': [{ fsdp_sync_module_states: true }],
  'state-dict-type': [{ '.': 'SHARDED_STATE_DICT' }],
  'checkpointing-needed': [{ fsdp_activation_checkpointing: true }],
  'fsdp2-needed': [{ fsdp_version: 2 }],
  'two-quantizations': [{ load_in_8bit: undefined }, { load_in_4bit: undefined }],
  'auto-batch-generation': [OFF],
  'model-saved-alone': [OFF],
  'checkpointing-twice': [{ '/gradient_checkpointing': false }],
  // Axolotl.
  'qlora-without-4bit': [{ '/load_in_4bit': true }],
  'qlora-8bit': [DROP],
  'packing-preference': [OFF],
  'packing-twice': [{ '/batch_flattening': undefined }, { '/sample_packing': false }],
  'optimizer-fsdp2': [{ '/optimizer': 'adamw_torch_8bit' }],
  'tensor-parallel-liger': [OFF],
  'tensor-parallel-8bit': [{ '/optimizer': 'adamw_torch_8bit' }],
  'context-parallel-attention': [{ '/attn_implementation': 'flash_attention_2' }],
  'context-parallel-packing': [{ '/micro_batch_size': 1 }],
  'context-parallel-liger': [DROP],
  'muon-fsdp1': [{ '/fsdp_version': 2 }],
  'selective-without-checkpointing': [{ '/gradient_checkpointing': true }],
  'offload-without-checkpointing': [{ '/gradient_checkpointing': true }],
  'kto-columns': [{ '/remove_unused_columns': false }],
  'lora-kernel-8bit': [OFF],
  'parameters-dropout': [{ '/lora_dropout': 0 }],
  // LLaMA-Factory.
  'pure-bf16-zero3': [{ '/pure_bf16': undefined, '/bf16': true }],
  'layerwise-distributed': [OFF],
  'neat-packing-stage': [OFF],
  'label-smoothing-loss': [{ '/dpo_label_smoothing': 0 }],
  'low-rank-optimizer-lora': [{ '/finetuning_type': 'full' }],
  'adapter-without-lora': [{ '/finetuning_type': 'lora' }, DROP],
  // ms-swift.
  'packing-without-flash': [{ attn_impl: 'flash_attn' }],
  'packing-lazy': [{ lazy_tokenize: false }, { packing: false }],
  'streaming-lazy': [{ lazy_tokenize: false }, { streaming: false }],
  'vllm-mode-without-vllm': [{ use_vllm: true }, DROP],
  'missing-vllm-mode': [{ vllm_mode: 'colocate' }, { vllm_mode: 'server' }],
  // Others.
  'quantized-mixed': [{ '/precision': 'bf16-true' }],
  'in-backward-accumulation': [{ '/optimizer_in_bwd': false }, { '/gradient_accumulation_steps': 1 }],
  'in-backward-clipping': [{ '/optimizer_in_bwd': false }, { '/clip_grad_norm': undefined }],
  'fp16-refused': [{ '/dtype': 'bf16' }, { '/dtype': 'fp32' }],
  accumulation: [{ '.': 1 }],
  'row-parallel-head': [{ '.': 'column' }],
  'lora-in-first-worker': [{ '/policy.dtensor_cfg._v2': true }],
  'lora-kernels-with-tensor-parallel': [OFF],
  'sequence-parallel-stage': [{ deepspeed_stage: 3 }],
  'penalty-without-reference': [{ beta: 0 }, { '.': true }],
  'ulysses-with-padding': [
    { '/actor_rollout_ref.model.use_remove_padding': true },
    { '/model.use_remove_padding': true },
  ],
  // Megatron and what runs on it.
  'no-effect': [{ group_query_attention: true }, DROP],
  'uneven-without-pipeline': [DROP],
  'overlap-without-sequence-parallel': [{ sequence_parallel: true }, OFF],
  'overlap-without-reduction': [{ overlap_grad_reduce: true }, OFF],
  'selective-with-method': [DROP],
  'selective-with-layers': [DROP],
  'full-without-method': [
    { recompute_method: 'uniform' },
    { recompute_method: 'block' },
    { recompute_method: 'uniform', recompute_num_layers: 1 },
  ],
  'distributed-activations': [DROP],
};

/** Spellings of one key, of which the one that stands is set. */
const EFFICIENT_LOADING = ['cpu_ram_efficient_loading', 'fsdp_cpu_ram_efficient_loading'];

/** What the rule of a problem names, and what the problem and the keys that stand state. */
export function remediesOf({ code, data = {} }: Problem, root: ConfigNode | null): readonly Remedy[] {
  const { product } = data;
  if (code === 'batch-triangle' && typeof product === 'number') return [{ train_batch_size: product }];
  if (code === 'dead-key' && Array.isArray(data.besides))
    return [{ ...DROP, ...Object.fromEntries(data.besides.map((key) => [String(key), undefined])) }];
  // As an argument of the optimizer it is refused under either name.
  if (code === 'max-grad-norm' && typeof data.value === 'number')
    return [{ '/gradient_clipping': data.value, '.': undefined }];
  if (code === 'engine-share') return typeof data.share === 'number' ? [{ '.': data.share }] : [];
  if (code === 'efficient-loading-4bit') {
    const stands = EFFICIENT_LOADING.find((key) => entryAt(root, ['fsdp_config', key]));
    return stands === undefined ? [] : [{ [`/fsdp_config.${stands}`]: false }];
  }
  return REMEDIES[code as RuleId] ?? [];
}
