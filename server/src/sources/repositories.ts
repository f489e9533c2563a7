/**
 * Source code that formulas and key tables describe, at the version that they describe. A link is made of one of these and
 * a path, so that it shows what was read and not what the file became.
 */
export interface Repository {
  /** Owner and name. */
  readonly name: string;
  /** Tag or commit. */
  readonly at: string;
}

/** Address of a file or folder of a repository, of lines of it where `path` ends in `#L12`. */
export function fileIn({ name, at }: Repository, path: string): string {
  return `https://github.com/${name}/blob/${at}/${path}`;
}

// Commits stand where nothing, or nothing of late, was released.
export const ACCELERATE: Repository = { name: 'huggingface/accelerate', at: 'v1.14.0' };
export const ADAM_MINI: Repository = {
  name: 'zyushun/Adam-mini',
  at: '402aadfed23719f3b92c8e78b5d49ad499ff7ada',
};
/** The last releases have no `amp`. */
export const APEX: Repository = { name: 'NVIDIA/apex', at: '22.03' };
export const APOLLO: Repository = {
  name: 'zhuhanqing/APOLLO',
  at: '76b34725abcbd45aa47d8fdf831c8b5ba6d34dde',
};
export const AQLM: Repository = { name: 'Vahe1994/AQLM', at: 'e79a896ed6656fe4ed06193d42d004e7d0bbdbb2' };
export const AUTO_AWQ: Repository = { name: 'casper-hansen/AutoAWQ', at: 'v0.2.9' };
export const AXOLOTL: Repository = { name: 'axolotl-ai-cloud/axolotl', at: 'v0.19.0' };
export const BERT: Repository = {
  name: 'google-research/bert',
  at: 'eedf5716ce1268e56f0a50264a88cafad334ac61',
};
export const BITSANDBYTES: Repository = { name: 'bitsandbytes-foundation/bitsandbytes', at: '0.48.0' };
export const CAME: Repository = { name: 'yangluo7/CAME', at: 'e77c5c022eaf71f1efb82a1433032cdcd5c52610' };
export const COMPOSER: Repository = { name: 'mosaicml/composer', at: 'v0.32.1' };
export const DEEPSPEED: Repository = { name: 'deepspeedai/DeepSpeed', at: 'v0.19.5' };
export const GALORE: Repository = {
  name: 'jiaweizzhao/GaLore',
  at: '2cc66f88cce189e505affbb91042a8e77f5bf4e9',
};
export const GPT_NEOX: Repository = {
  name: 'EleutherAI/gpt-neox',
  at: 'ea7aefd8f8e183256992d9fede4d7c71a46d67a5',
};
export const GPTQ_MODEL: Repository = { name: 'ModelCloud/GPTQModel', at: 'v7.3.4' };
export const GROKADAMW: Repository = {
  name: 'cognitivecomputations/grokadamw',
  at: '9f5a9cdedaad33d78e5a252dad6404b7c4d3d574',
};
export const HOROVOD: Repository = { name: 'horovod/horovod', at: 'v0.28.1' };
export const HQQ: Repository = { name: 'mobiusml/hqq', at: 'v0.2.8.post1' };
export const LIGER: Repository = { name: 'linkedin/Liger-Kernel', at: 'v0.8.5' };
export const LIGHTNING: Repository = { name: 'Lightning-AI/pytorch-lightning', at: '2.5.5' };
export const LION: Repository = { name: 'lucidrains/lion-pytorch', at: '0.2.3' };
export const LITGPT: Repository = { name: 'Lightning-AI/litgpt', at: 'v0.5.13' };
export const LLAMA_FACTORY: Repository = { name: 'hiyouga/LLaMA-Factory', at: 'v0.9.5' };
export const LLM_FOUNDRY: Repository = { name: 'mosaicml/llm-foundry', at: 'v0.21.0' };
/** The last release whose configs are modules of mmengine; what came after has another trainer, beside this one. */
export const XTUNER: Repository = { name: 'InternLM/xtuner', at: 'v0.2.0' };
export const MMENGINE: Repository = { name: 'open-mmlab/mmengine', at: 'v0.10.6' };
export const VERL: Repository = { name: 'volcengine/verl', at: 'v0.7.0' };
export const MEGATRON: Repository = { name: 'NVIDIA/Megatron-LM', at: 'core_v0.19.0' };
export const MS_SWIFT: Repository = { name: 'modelscope/ms-swift', at: 'v4.5.2' };
export const NANOTRON: Repository = { name: 'huggingface/nanotron', at: 'v0.5' };
export const NEMO_RL: Repository = { name: 'NVIDIA-NeMo/RL', at: 'v0.7.0' };
/** What came after its last release trains on one GPU without FSDP, too. */
export const OLMO: Repository = { name: 'allenai/OLMo', at: '59a53e3f68e546330ca5a99ec626e58f9ab96494' };
/** Between 2.5.0 and 2.6.0: its models are built of `sequence_mixer` since. */
export const OLMO_CORE: Repository = {
  name: 'allenai/OLMo-core',
  at: 'fa6c5014c9f6e9ee789da2d9c20d5126fee8df0d',
};
export const OPEN_NMT: Repository = { name: 'OpenNMT/OpenNMT-tf', at: 'v2.32.0' };
export const OPTIMI: Repository = { name: 'warner-benjamin/optimi', at: 'v0.3.3' };
export const PEFT: Repository = { name: 'huggingface/peft', at: 'v0.21.0' };
export const PYTORCH: Repository = { name: 'pytorch/pytorch', at: 'v2.8.0' };
export const PYTORCH_OPTIMIZER: Repository = { name: 'kozistr/pytorch_optimizer', at: 'v3.9.0' };
export const QUANTO: Repository = { name: 'huggingface/optimum-quanto', at: 'v0.2.7' };
export const SCHEDULE_FREE: Repository = {
  name: 'facebookresearch/schedule_free',
  at: '70785b53e778d0e872c0bbb75ff4ee54ee10c291',
};
export const SOPHIA: Repository = {
  name: 'Liuhong99/Sophia',
  at: 'a7e157229b71d58cf995d32854f1be15c265b350',
};
export const TENSORFLOW: Repository = { name: 'tensorflow/tensorflow', at: 'v2.15.0' };
export const TORCHAO: Repository = { name: 'pytorch/ao', at: 'v0.18.0' };
export const TORCHDISTX: Repository = {
  name: 'pytorch/torchdistx',
  at: '9c1b9f5cb2fa36bfb8b70ec07c40ed42a33cc87a',
};
export const TORCHTITAN: Repository = { name: 'pytorch/torchtitan', at: 'v0.2.2' };
export const TORCHTUNE: Repository = { name: 'pytorch/torchtune', at: 'v0.6.1' };
export const TRANSFORMER_ENGINE: Repository = { name: 'NVIDIA/TransformerEngine', at: 'v2.18' };
export const TRANSFORMERS: Repository = { name: 'huggingface/transformers', at: 'v5.23.0' };
/** With a linear layer for each expert, and other defaults. */
export const TRANSFORMERS_4: Repository = { name: 'huggingface/transformers', at: 'v4.57.3' };
export const TRL: Repository = { name: 'huggingface/trl', at: 'v1.9.0' };
export const TRLX: Repository = { name: 'CarperAI/trlx', at: '3340c2f3a56d1d14fdd5f13ad575121fa26b6d92' };
export const UNSLOTH: Repository = {
  name: 'unslothai/unsloth',
  at: '015bdef0d94a241bcd94eec7a405b1700632180d',
};
export const VLLM: Repository = { name: 'vllm-project/vllm', at: 'v0.12.0' };
export const UNSLOTH_ZOO: Repository = {
  name: 'unslothai/unsloth-zoo',
  at: '6e4d24ffc52d3c649f5e35588a7a00e90c3455ee',
};
