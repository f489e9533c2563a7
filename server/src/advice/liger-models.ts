import type { Estimated } from './changed-run';

/**
 * Model types that Liger patches (`MODEL_TYPE_TO_APPLY_LIGER_FN`,
 * https://github.com/linkedin/Liger-Kernel/blob/v0.8.5/src/liger_kernel/transformers/monkey_patch.py).
 */
const MODELS: ReadonlySet<string> = new Set(
  `deepseek_v2 deepseek_v3 deepseek_v4 gemma gemma2 gemma3_text gemma3 gemma4_text gemma4 glm4 glm4v glm4v_moe gpt_oss internvl llama
  llama4_text llama4 llava granite mllama mllama_text_model ministral mistral mixtral muse_glimmer nemotron olmo2 pixtral olmo3 qwen2
  qwen3 qwen3_moe qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text qwen3_next qwen3_5 qwen3_5_text qwen3_5_moe qwen3_5_moe_text
  qwen3_vl qwen3_vl_text qwen3_vl_moe qwen3_vl_moe_text smollm3 phi3 paligemma falcon_h1 smolvlm hunyuan_v1_dense hunyuan_v1_moe
  exaone4`.split(/\s+/),
);

/** Whether Liger has kernels for the model: of all others it reports that they are not supported, and changes nothing. */
export function patchedByLiger({ model, resolved }: Pick<Estimated, 'model' | 'resolved'>): boolean {
  return resolved.values['model.code'] === 'transformers' && MODELS.has(model.modelType);
}
