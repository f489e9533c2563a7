/** What a model builder of torchtune makes: `torchtune.models.llama3_1.qlora_llama3_1_8b`. */
interface TorchtuneModel {
  /** The same architecture by its name on the Hugging Face Hub. */
  readonly id: string;
  readonly adapters: boolean;
  /** The builder quantizes the base to NF4 itself. */
  readonly quantized: boolean;
}

/** Builders without the words that say how they are trained (torchtune `models/<family>/_model_builders.py`). */
const BUILDERS: Readonly<Record<string, string>> = {
  llama2_7b: 'meta-llama/Llama-2-7b-hf',
  llama2_13b: 'meta-llama/Llama-2-13b-hf',
  llama2_70b: 'meta-llama/Llama-2-70b-hf',
  code_llama2_7b: 'codellama/CodeLlama-7b-hf',
  code_llama2_13b: 'codellama/CodeLlama-13b-hf',
  code_llama2_70b: 'codellama/CodeLlama-70b-hf',
  llama3_8b: 'meta-llama/Meta-Llama-3-8B',
  llama3_70b: 'meta-llama/Meta-Llama-3-70B',
  llama3_1_8b: 'meta-llama/Llama-3.1-8B',
  llama3_1_70b: 'meta-llama/Llama-3.1-70B',
  llama3_1_405b: 'meta-llama/Llama-3.1-405B',
  llama3_2_1b: 'meta-llama/Llama-3.2-1B',
  llama3_2_3b: 'meta-llama/Llama-3.2-3B',
  llama3_2_vision_11b: 'meta-llama/Llama-3.2-11B-Vision',
  llama3_2_vision_90b: 'meta-llama/Llama-3.2-90B-Vision',
  llama3_3_70b: 'meta-llama/Llama-3.3-70B-Instruct',
  llama4_scout_17b_16e: 'meta-llama/Llama-4-Scout-17B-16E',
  llama4_maverick_17b_128e: 'meta-llama/Llama-4-Maverick-17B-128E',
  mistral_7b: 'mistralai/Mistral-7B-v0.1',
  mistral_classifier_7b: 'mistralai/Mistral-7B-v0.1',
  mistral_reward_7b: 'mistralai/Mistral-7B-v0.1',
  gemma_2b: 'google/gemma-2b',
  gemma_7b: 'google/gemma-7b',
  gemma2_2b: 'google/gemma-2-2b',
  gemma2_9b: 'google/gemma-2-9b',
  gemma2_27b: 'google/gemma-2-27b',
  phi3_mini: 'microsoft/Phi-3-mini-4k-instruct',
  phi4_14b: 'microsoft/phi-4',
  qwen2_0_5b: 'Qwen/Qwen2-0.5B',
  qwen2_1_5b: 'Qwen/Qwen2-1.5B',
  qwen2_7b: 'Qwen/Qwen2-7B',
  qwen2_5_0_5b: 'Qwen/Qwen2.5-0.5B',
  qwen2_5_1_5b: 'Qwen/Qwen2.5-1.5B',
  qwen2_5_3b: 'Qwen/Qwen2.5-3B',
  qwen2_5_7b: 'Qwen/Qwen2.5-7B',
  qwen2_5_14b: 'Qwen/Qwen2.5-14B',
  qwen2_5_32b: 'Qwen/Qwen2.5-32B',
  qwen2_5_72b: 'Qwen/Qwen2.5-72B',
  qwen3_0_6b: 'Qwen/Qwen3-0.6B',
  qwen3_1_7b: 'Qwen/Qwen3-1.7B',
  qwen3_4b: 'Qwen/Qwen3-4B',
  qwen3_8b: 'Qwen/Qwen3-8B',
  qwen3_14b: 'Qwen/Qwen3-14B',
  qwen3_32b: 'Qwen/Qwen3-32B',
};

/** The model that a builder makes; undefined for general builders, whose sizes are their arguments. */
export function torchtuneModel(component: string): TorchtuneModel | undefined {
  const name = component.split('.').at(-1) ?? '';
  const adapters = /^q?lora_/.test(name);
  const plain = name.replace(/^q?lora_/, '').replace(/_(instruct|base|reward|classifier)(?=_|$)/g, '');
  const id = [plain, name.replace(/^q?lora_/, '')]
    .map((builder) => (Object.hasOwn(BUILDERS, builder) ? BUILDERS[builder] : undefined))
    .find((known) => known !== undefined);
  return id === undefined ? undefined : { id, adapters, quantized: name.startsWith('qlora_') };
}
