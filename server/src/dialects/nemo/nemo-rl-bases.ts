import { fileIn, NEMO_RL } from '../../sources/repositories';

/** What NeMo-RL's own base configs say, by file name: recipes start from them, and the tool brings them. */
export interface RlBase {
  readonly model: string;
  readonly micro: number;
  readonly global: number;
  readonly sequence: number;
  readonly packed: boolean;
  readonly megatron: boolean;
  readonly gpusPerNode: number;
}

export const RL_BASES_SOURCE = fileIn(NEMO_RL, 'examples/configs');

/** `examples/configs` of NeMo-RL, August 2026. */
export const RL_BASES: Readonly<Record<string, RlBase>> = {
  'grpo_math_1B.yaml': {
    model: 'Qwen/Qwen2.5-1.5B',
    micro: 4,
    global: 512,
    sequence: 512,
    packed: true,
    megatron: false,
    gpusPerNode: 1,
  },
  'grpo_math_1B_megatron.yaml': {
    model: 'Qwen/Qwen2.5-1.5B',
    micro: 4,
    global: 512,
    sequence: 512,
    packed: true,
    megatron: true,
    gpusPerNode: 1,
  },
  'grpo_math_1B_trtllm.yaml': {
    model: 'Qwen/Qwen2.5-1.5B',
    micro: 4,
    global: 512,
    sequence: 512,
    packed: true,
    megatron: false,
    gpusPerNode: 1,
  },
  'grpo_math_8B.yaml': {
    model: 'meta-llama/Llama-3.1-8B-Instruct',
    micro: 1,
    global: 512,
    sequence: 4096,
    packed: true,
    megatron: false,
    gpusPerNode: 8,
  },
  'sft.yaml': {
    model: 'meta-llama/Llama-3.2-1B',
    micro: 1,
    global: 32,
    sequence: 1024,
    packed: false,
    megatron: false,
    gpusPerNode: 1,
  },
  'dpo.yaml': {
    model: 'meta-llama/Llama-3.2-1B-Instruct',
    micro: 2,
    global: 128,
    sequence: 1024,
    packed: false,
    megatron: false,
    gpusPerNode: 1,
  },
  'rm.yaml': {
    model: 'meta-llama/Llama-3.2-1B-Instruct',
    micro: 1,
    global: 128,
    sequence: 8192,
    packed: false,
    megatron: false,
    gpusPerNode: 1,
  },
  'vlm_grpo_3B.yaml': {
    model: 'Qwen/Qwen2.5-VL-3B-Instruct',
    micro: 1,
    global: 128,
    sequence: 2048,
    packed: false,
    megatron: false,
    gpusPerNode: 2,
  },
};
