/** Linear layers as Megatron names them, which adapters are asked for by, and as published models do (mcore-bridge, `gpt_bridge.py`). */
const LINEARS: Readonly<Record<string, readonly string[]>> = {
  linear_qkv: ['q_proj', 'k_proj', 'v_proj'],
  linear_proj: ['o_proj'],
  linear_fc1: ['gate_proj', 'up_proj', 'gate_up_proj'],
  linear_fc2: ['down_proj'],
  linear_q_proj: ['q_proj'],
  linear_q_down_proj: ['q_a_proj'],
  linear_q_up_proj: ['q_b_proj'],
  linear_kv_down_proj: ['kv_a_proj_with_mqa'],
  linear_kv_up_proj: ['kv_b_proj'],
};

/** The names of a list of Megatron's modules, and those of the same layers in published models. */
export const withPublishedNames = (words: readonly string[]): readonly string[] =>
  words.flatMap((word) => [word, ...(LINEARS[word] ?? [])]);
