/**
 * Modules that PEFT adapts when a config names none, by model type
 * (peft 0.21, `utils/constants.py`, `TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING`).
 */
const TARGETS: Readonly<Record<string, readonly string[]>> = {
  t5: ['q', 'v'],
  mt5: ['q', 'v'],
  bart: ['q_proj', 'v_proj'],
  gpt2: ['c_attn'],
  bloom: ['query_key_value'],
  opt: ['q_proj', 'v_proj'],
  gptj: ['q_proj', 'v_proj'],
  gpt_neox: ['query_key_value'],
  gpt_neo: ['q_proj', 'v_proj'],
  bert: ['query', 'value'],
  roberta: ['query', 'value'],
  'xlm-roberta': ['query', 'value'],
  electra: ['query', 'value'],
  'deberta-v2': ['query_proj', 'value_proj'],
  llama: ['q_proj', 'v_proj'],
  llama4: ['q_proj', 'v_proj'],
  chatglm: ['query_key_value'],
  gpt_bigcode: ['c_attn'],
  mpt: ['Wqkv'],
  falcon: ['query_key_value'],
  mistral: ['q_proj', 'v_proj'],
  mixtral: ['q_proj', 'v_proj'],
  stablelm: ['q_proj', 'v_proj'],
  phi: ['q_proj', 'v_proj', 'fc1', 'fc2'],
  gemma: ['q_proj', 'v_proj'],
  gemma2: ['q_proj', 'v_proj'],
  gemma3_text: ['q_proj', 'v_proj'],
  // A pattern of the language model; the towers' layers are called `q_proj.linear`.
  gemma4: ['q_proj', 'v_proj'],
  qwen2: ['q_proj', 'v_proj'],
  qwen3: ['q_proj', 'v_proj'],
  nemotron_h: ['q_proj', 'k_proj', 'v_proj', 'o_proj'],
};

/** Empty where PEFT knows none and asks for `target_modules`. */
export function defaultLoraTargets(modelType: string): readonly string[] {
  return (Object.hasOwn(TARGETS, modelType) ? TARGETS[modelType] : undefined) ?? [];
}
