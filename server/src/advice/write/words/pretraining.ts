import { COMPOSER_OPTIMIZERS, MEGATRON_OPTIMIZERS } from '../../../dialects/optimizer-names';
import { oneOf, type Words, without, word } from '../words';
import { spellingIn } from './optimizer-spelling';

/** Class paths as torchtune and Lightning name them. */
const CLASS_PATHS: Readonly<Record<string, string>> = {
  adamw: 'torch.optim.AdamW',
  'adamw-8bit': 'bitsandbytes.optim.AdamW8bit',
  'paged-adamw-8bit': 'bitsandbytes.optim.PagedAdamW8bit',
  'paged-adamw': 'bitsandbytes.optim.PagedAdamW',
  'ao-adamw-8bit': 'torchao.optim.AdamW8bit',
  adafactor: 'transformers.optimization.Adafactor',
  sgd: 'torch.optim.SGD',
};

/** torchtune. A LoRA builder is another recipe with other keys: it is not written. */
export const torchtuneWords: Words = {
  'activations.checkpointing': (value, wish) =>
    value === 'full' || value === 'none'
      ? [...without(wish, 'ac_mode', 'ac_option'), word('enable_activation_checkpointing', value === 'full')]
      : undefined,
  'activations.offload': (value) => [word('enable_activation_offloading', value)],
  'optimizer.name': (value, wish) => {
    const path = CLASS_PATHS[value];
    // Classes of bitsandbytes take no `fused`.
    const fused = path?.startsWith('torch.') ? [] : without(wish, 'optimizer.fused');
    return path === undefined ? undefined : [word('optimizer._component_', path), ...fused];
  },
  'loss.implementation': (value) =>
    value === 'chunked'
      ? [word('loss._component_', 'torchtune.modules.loss.CEWithChunkedOutputLoss')]
      : value === 'linear-chunked'
        ? [word('loss._component_', 'torchtune.modules.loss.LinearCrossEntropyLoss')]
        : undefined,
  'offload.parameters': (value) => [word('fsdp_cpu_offload', value === 'cpu')],
  'offload.optimizer': (value) => [word('fsdp_cpu_offload', value === 'cpu')],
  'fsdp.strategy': (value) =>
    value === 'full' || value === 'grad-op'
      ? [word('fsdp_reshard_after_forward', value === 'full')]
      : undefined,
};

/** torchtitan's TOML. */
export const torchtitanWords: Words = {
  'activations.checkpointing': (value, wish) => {
    const mode = value === 'elementwise' ? undefined : value;
    if (mode === undefined) return undefined;
    const option = mode === 'selective' ? [word('activation_checkpoint.selective_ac_option', 'op')] : [];
    return [
      word('activation_checkpoint.mode', mode),
      ...(mode === 'selective' && wish.text('activation_checkpoint.selective_ac_option') ? [] : option),
    ];
  },
  'offload.parameters': (value) => [word('training.enable_cpu_offload', value === 'cpu')],
  'offload.optimizer': (value) => [word('training.enable_cpu_offload', value === 'cpu')],
  'fsdp.strategy': (value, { text }) => {
    const block =
      text('experimental.fsdp_reshard_after_forward') === undefined ? 'parallelism' : 'experimental';
    return value === 'full' || value === 'grad-op'
      ? [word(`${block}.fsdp_reshard_after_forward`, value === 'full' ? 'always' : 'never')]
      : undefined;
  },
  'parallel.tensor': (value, { text }) => [word(titanDegree('tensor_parallel_degree', text), value)],
  'parallel.context': (value, { text }) => [word(titanDegree('context_parallel_degree', text), value)],
};

/** Degrees moved from `training` and `experimental` to `parallelism` over the versions. */
function titanDegree(name: string, text: (key: string) => string | undefined): string {
  const block = ['parallelism', 'training', 'experimental'].find((at) => text(`${at}.${name}`) !== undefined);
  return `${block ?? 'parallelism'}.${name}`;
}

/** litgpt. */
export const litgptWords: Words = {
  'optimizer.name': (value, { text }) => {
    const path = CLASS_PATHS[value];
    if (path === undefined || (!path.startsWith('torch.') && !path.startsWith('bitsandbytes.')))
      return undefined;
    return [word(text('optimizer.class_path') === undefined ? 'optimizer' : 'optimizer.class_path', path)];
  },
  'quantization.kind': oneOf<string>('quantize', {
    nf4: 'bnb.nf4',
    fp4: 'bnb.fp4',
    int8: 'bnb.int8-training',
  }),
};

/** nanotron. */
export const nanotronWords: Words = {
  'activations.checkpointing': (value) =>
    value === 'full' || value === 'none'
      ? [word('parallelism.recompute_layer', value === 'full')]
      : undefined,
  'zero.stage': (value) => (value <= 1 ? [word('optimizer.zero_stage', value)] : undefined),
};

/** MosaicML's LLM Foundry. */
export const foundryWords: Words = {
  'activations.checkpointing': (value) =>
    value === 'full' || value === 'none'
      ? [word('fsdp_config.activation_checkpointing', value === 'full')]
      : undefined,
  'fsdp.strategy': oneOf<string>('fsdp_config.sharding_strategy', {
    full: 'FULL_SHARD',
    'grad-op': 'SHARD_GRAD_OP',
    none: 'NO_SHARD',
    hybrid: 'HYBRID_SHARD',
  }),
  'offload.parameters': (value) => [word('fsdp_config.cpu_offload', value === 'cpu')],
  'offload.optimizer': () => [],
  'attention.implementation': (value, { text }) =>
    text('model.name') === 'hf_causal_lm'
      ? value === 'flash2'
        ? [word('model.use_flash_attention_2', true)]
        : undefined
      : [
          word(
            text('model.attn_impl') === undefined ? 'model.attn_config.attn_impl' : 'model.attn_impl',
            value === 'flash2' ? 'flash' : 'torch',
          ),
        ],
  'optimizer.name': (value) => {
    const name = spellingIn(COMPOSER_OPTIMIZERS, value);
    return name === undefined ? undefined : [word('optimizer.name', name)];
  },
  'method.kind': (value, { changes, text }) =>
    value === 'lora' && text('model.name') === 'hf_causal_lm'
      ? [
          word('model.peft_config', {
            peft_type: 'LORA',
            task_type: 'CAUSAL_LM',
            r: changes['lora.rank'] ?? 16,
            lora_alpha: changes['lora.alpha'] ?? 32,
            lora_dropout: 0.0,
            target_modules: 'all-linear',
          }),
        ]
      : undefined,
  'lora.rank': (value, { changes }) => (changes['method.kind'] ? [] : [word('model.peft_config.r', value)]),
  'lora.alpha': (value, { changes }) =>
    changes['method.kind'] ? [] : [word('model.peft_config.lora_alpha', value)],
  'lora.targets': (_, { changes }) => (changes['method.kind'] ? [] : undefined),
};

/** Megatron-LM's arguments. Flash attention and the fused loss are its own defaults. */
export const megatronWords: Words = {
  'activations.checkpointing': (value, wish) => {
    const old = without(
      wish,
      'recompute_activations',
      'checkpoint_activations',
      'checkpoint_num_layers',
      'recompute_modules',
    );
    if (value === 'full')
      return [
        ...old,
        word('recompute_granularity', 'full'),
        word('recompute_method', 'uniform'),
        word('recompute_num_layers', 1),
      ];
    if (value === 'selective')
      return [
        ...old,
        ...without(wish, 'recompute_method', 'recompute_num_layers'),
        word('recompute_granularity', 'selective'),
      ];
    return undefined;
  },
  'attention.implementation': (value) => (value === 'flash2' ? [word('use_flash_attn', true)] : undefined),
  'parallel.distributedOptimizer': (value) => [word('use_distributed_optimizer', value)],
  'parallel.tensor': (value) => [word('tensor_model_parallel_size', value)],
  'parallel.context': (value) => [word('context_parallel_size', value)],
  'parallel.sequence': (value) => [word('sequence_parallel', value)],
  'optimizer.name': (value) => {
    const name = spellingIn(MEGATRON_OPTIMIZERS, value);
    return name === undefined ? undefined : [word('optimizer', name)];
  },
};

/** The in-house flags: who holds what is said by two switches. */
export const inHouseWords: Words = {
  'activations.checkpointing': (value) =>
    value === 'elementwise' ? [word('memory_optimization', 'recomputation')] : undefined,
  'zero.stage': (value) =>
    value === 1
      ? [word('split_opt_state', true)]
      : value === 2
        ? [word('split_opt_state', true), word('split_grad_accum', true)]
        : undefined,
};
