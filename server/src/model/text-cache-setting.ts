/**
 * Types whose language model reads `use_cache` of its own config (`text_config`): what is set on the model's config decides nothing there
 * (transformers 4.57 and 5.23, `modeling_llava.py`, `modeling_gemma3.py`, `modeling_qwen3_vl.py`: `use_cache` goes on as `None`).
 */
const OF_TEXT = /^(?:llava|gemma3|qwen3_vl)$/;
/** Until transformers 5 the configs of these hand on what is set on them (4.57, `configuration_qwen2_vl.py`, `__setattr__`). */
const OF_TEXT_SINCE_5 = /^(?:qwen2_vl|qwen2_5_vl)$/;

/** Whether the setting of a model's own config leaves the cache of its language model as it is. `isFifth`: under transformers 5. */
export const keepsTextSetting = (type: unknown, isFifth: boolean): boolean =>
  OF_TEXT.test(String(type)) || (isFifth && OF_TEXT_SINCE_5.test(String(type)));
