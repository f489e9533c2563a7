import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';

/**
 * Types whose experts transformers 5 stacks as `gate_up_proj` and `down_proj`, and whose forward Unsloth hands packed stacks: routed by
 * `use_experts_implementation` to a gate of their own or the default one, or rewritten (`unsloth_zoo/temporary_patches/moe_experts_interface.py`,
 * `expert_forward_is_handled`; `moe_utils_bnb4bit.py`, `_route_generic_bnb4bit_experts_class`; `llama4_moe.py`, `step3p7_moe.py`). Experts
 * without a gate (Nemotron-H) and what nothing routes (LongCat-Flash) are left as they are.
 */
const PACKED: ReadonlySet<string> = new Set([
  'afmoe',
  'bailing_hybrid',
  'cohere2_moe',
  'deepseek_v2',
  'deepseek_v3',
  'deepseek_v32',
  'deepseek_v4',
  'dots1',
  'ernie4_5_moe',
  'ernie4_5_vl_moe',
  'exaone_moe',
  'flex_olmo',
  'gemma4',
  'gemma4_text',
  'glm4_moe',
  'glm4_moe_lite',
  'glm4v_moe',
  'glm5_next',
  'glm_moe_dsa',
  'granitemoe',
  'granitemoehybrid',
  'granitemoeshared',
  'hunyuan_v1_moe',
  'hy_v3',
  'hy_v4',
  'inkling',
  'jamba',
  'kimi_linear',
  'laguna',
  'lfm2_moe',
  'llama4',
  'llama4_text',
  'mellum',
  'mimo_v2_flash',
  'minimax',
  'minimax_m2',
  'minimax_m3_vl',
  'mistral4',
  'mixtral',
  'olmoe',
  'phimoe',
  'qwen2_moe',
  'qwen3_5_moe',
  'qwen3_5_moe_text',
  'qwen3_moe',
  'qwen3_next',
  'qwen3_omni_moe',
  'qwen3_vl_moe',
  'solar_open',
  'step3p7',
]);

/** What Unsloth makes of stacked experts: it packs them in 4 bits, and adapts them by products of their own. */
export function handlesStacks(run: TrainingRun, modelType: string): boolean {
  const { stacksExperts, stacksGraniteExperts } = behaviours(run);
  const stacks = /^granitemoe/.test(modelType) ? stacksGraniteExperts : stacksExperts;
  return run['kernels.unsloth'] && stacks && PACKED.has(modelType);
}
