import type { Source } from '../results/source';
import {
  BITSANDBYTES,
  DEEPSPEED,
  fileIn,
  HOROVOD,
  MEGATRON,
  OPEN_NMT,
  PEFT,
  PYTORCH,
  TRANSFORMERS,
  VERL,
} from '../sources/repositories';

function pytorch(path: string, label = path.split('/').at(-1) ?? path): Source {
  return { label: `PyTorch, ${label}`, url: fileIn(PYTORCH, `${path}`) };
}

/** The rule by which autograd differentiates a function, and what it keeps for that. */
function rule(name: string, line: number): Source {
  return {
    label: `derivatives.yaml, ${name}`,
    url: fileIn(PYTORCH, `tools/autograd/derivatives.yaml#L${line}`),
  };
}

export const SOURCES = {
  autograd: pytorch('tools/autograd/derivatives.yaml'),
  accumulation: pytorch('torch/csrc/autograd/input_buffer.cpp'),
  checkpoint: pytorch('torch/utils/checkpoint.py'),
  autocast: pytorch('aten/src/ATen/autocast_mode.cpp'),
  cublasWorkspace: pytorch('aten/src/ATen/cuda/CublasHandlePool.cpp'),
  allocator: pytorch('c10/cuda/CUDACachingAllocator.cpp'),
  memoryStatistics: pytorch('torch/cuda/memory.py'),
  modules: pytorch('torch/nn/modules/module.py'),
  ddp: pytorch('torch/csrc/distributed/c10d/reducer.hpp'),
  pipelining: pytorch('torch/distributed/pipelining/stage.py'),
  fsdp1: pytorch('torch/distributed/fsdp/_flat_param.py'),
  fsdp2: pytorch('torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py'),
  adamw: pytorch('torch/optim/adamw.py'),
  flopCounter: pytorch('torch/utils/flop_counter.py'),
  cudaContext: {
    label: 'PyTorch issue 107667',
    url: 'https://github.com/pytorch/pytorch/issues/107667',
  },
  nccl: { label: 'NCCL issue 864', url: 'https://github.com/NVIDIA/nccl/issues/864' },
  loading: {
    label: 'transformers, modeling_utils.py',
    url: fileIn(TRANSFORMERS, 'src/transformers/modeling_utils.py'),
  },
  loss: {
    label: 'transformers, loss_utils.py',
    url: fileIn(TRANSFORMERS, 'src/transformers/loss/loss_utils.py'),
  },
  verlTurns: {
    label: 'verl, ray_trainer.py',
    url: fileIn(VERL, 'verl/trainer/ppo/ray_trainer.py'),
  },
  accumulatorReset: {
    label: 'OpenNMT-tf, optimizers/utils.py',
    url: fileIn(OPEN_NMT, 'opennmt/optimizers/utils.py'),
  },
  horovod: {
    label: 'Horovod, mpi_ops.cc',
    url: fileIn(HOROVOD, 'horovod/tensorflow/mpi_ops.cc'),
  },
  zero12: {
    label: 'DeepSpeed, stage_1_and_2.py',
    url: fileIn(DEEPSPEED, 'deepspeed/runtime/zero/stage_1_and_2.py'),
  },
  zero3: { label: 'DeepSpeed, stage3.py', url: fileIn(DEEPSPEED, 'deepspeed/runtime/zero/stage3.py') },
  zeroParameters: {
    label: 'DeepSpeed, partitioned_param_coordinator.py',
    url: fileIn(DEEPSPEED, 'deepspeed/runtime/zero/partitioned_param_coordinator.py'),
  },
  zeroOffload: { label: 'ZeRO-Offload', url: 'https://arxiv.org/abs/2101.06840' },
  megatron: {
    label: 'Megatron-LM, param_and_grad_buffer.py',
    url: fileIn(MEGATRON, 'megatron/core/distributed/param_and_grad_buffer.py'),
  },
  bitsandbytes: {
    label: 'bitsandbytes, functional.py',
    url: fileIn(BITSANDBYTES, 'bitsandbytes/functional.py'),
  },
  adapterBuffers: {
    label: 'PEFT, tuners (register_buffer, BufferDict)',
    url: fileIn(PEFT, 'src/peft/tuners'),
  },
  modelBuffers: {
    label: 'PyTorch, Module.register_buffer',
    url: fileIn(PYTORCH, 'torch/nn/modules/module.py'),
  },
  positionMasks: {
    label: 'transformers, modeling_gpt_bigcode.py, GPTBigCodeModel',
    url: fileIn(TRANSFORMERS, 'src/transformers/models/gpt_bigcode/modeling_gpt_bigcode.py'),
  },
  lora: {
    label: 'PEFT, lora/layer.py',
    url: fileIn(PEFT, 'src/peft/tuners/lora/layer.py'),
  },
  batchSize: {
    label: 'DeepSpeed, batch size parameters',
    url: 'https://www.deepspeed.ai/docs/config-json/#batch-size-related-parameters',
  },
  palm: { label: 'PaLM, appendix B', url: 'https://arxiv.org/abs/2204.02311' },
  computeNotes: {
    label: 'docs/compute.md',
    url: 'https://github.com/oomlint/oomlint/blob/main/docs/compute.md',
  },
  chinchilla: { label: 'Chinchilla', url: 'https://arxiv.org/abs/2203.15556' },
  accuracy: {
    label: 'docs/accuracy.md',
    url: 'https://github.com/oomlint/oomlint/blob/main/docs/accuracy.md',
  },
} as const satisfies Record<string, Source>;

/** A source, or an address by its own words. */
export function asSource(source: Source | string | undefined): Source | undefined {
  if (typeof source !== 'string') return source;
  return { label: source.replace(/^https:\/\//, '').replace(/.*\/(?=[^/]{12})/, ''), url: source };
}

/** Rules of autograd by the last word of an operator's name on the tape. First match wins. */
const RULES: readonly (readonly [RegExp, Source])[] = [
  [/log_softmax$/, rule('_log_softmax', 2165)],
  [/softmax$/, rule('_softmax', 2201)],
  [/loss\.nll$/, rule('nll_loss_forward', 2072)],
  [/^loss|fused_loss|logits/, SOURCES.loss],
  [/dropout$/, rule('native_dropout', 619)],
  [/attention$/, rule('_scaled_dot_product_flash_attention', 2883)],
  [/\.(scores|values)$/, rule('bmm', 378)],
  [/\.(pow|square)$/, rule('pow', 1380)],
  [/\.rsqrt$/, rule('rsqrt', 1484)],
  [/\.(mul|gain|coefficient|product|weighted|gated)$/, rule('mul', 1217)],
  [/gated_product$/, rule('mul', 1217)],
  [/\.(mean|variance|centre)$/, rule('mean', 1144)],
  [/silu$/, rule('silu', 2100)],
  [/gelu$/, rule('gelu', 2124)],
  [/relu$/, rule('relu', 2096)],
  [/tanh$/, rule('tanh', 1755)],
  [/sigmoid$|\.gate$/, rule('sigmoid', 1517)],
  [/(select|restore|repeat|scatter)$/, rule('index_select', 901)],
  [/topk$/, rule('topk', 1759)],
  [/(cast|float|lora_cast|lora_result|result|convert_output)$/, rule('_to_copy', 458)],
  [/conv\d?d?$|patch_embedding|patch_conv/, rule('convolution', 2384)],
];
const LINEAR = rule('linear', 2348);
const LAYER_NORM = rule('native_layer_norm', 1260);
const EMBEDDING = rule('embedding', 2022);
const SILU = rule('silu', 2100);

/** The rule that states what autograd keeps for an operator of the tape. `weights`: what it multiplies or looks up. */
export function autogradRule(
  operator: string,
  weights: readonly { readonly role: string; readonly shape: readonly number[] }[] = [],
): Source {
  const weight = weights[0];
  if (weight?.role === 'embedding') return EMBEDDING;
  const named = RULES.find(([pattern]) => pattern.test(operator));
  if (named) return named[1];
  if (weight && weight.shape.length > 1) return LINEAR;
  if (weight) return LAYER_NORM;
  return /act(_fn)?$/.test(operator) ? SILU : SOURCES.autograd;
}
