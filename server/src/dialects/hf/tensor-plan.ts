import type { TrainingRun } from '../../run/fields';
import type { SplitModel } from '../dialect';

/**
 * Model types with a plan of transformers for tensor parallelism (`base_model_tp_plan` of their configs), as far as their ends may be untied:
 * https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/models. What is not among them is not offered.
 */
const PLANNED = new Set(
  `cohere deepseek_v2 deepseek_v3 ernie4_5 exaone4 glm glm4 glm4_moe granite granitemoe llama mistral mixtral ministral nemotron olmo olmo2
  olmo3 olmoe phi phi3 qwen2 qwen2_moe qwen3 qwen3_moe qwen3_next seed_oss smollm3 starcoder2`.split(/\s+/),
);

/** Types whose configs have none, which are trained as a whole on each GPU whatever is asked for. */
const UNPLANNED = /^(?:gpt2|gptj|gpt_neo|gpt_bigcode|opt|bloom|mpt|falcon|codegen|bert|roberta|t5)$/;

export const lacksTensorPlan = (modelType: unknown): boolean => UNPLANNED.test(String(modelType));

/**
 * Whether a model of transformers is sure to be split by its plan: it has one, its heads are whole on every GPU, and its weights are no
 * packed ones, of which no source shows that they are split.
 */
export function splitsByPlan(run: TrainingRun, { modelType, keyValueHeads }: SplitModel): boolean {
  return (
    PLANNED.has(modelType) &&
    keyValueHeads % run['parallel.tensor'] === 0 &&
    run['quantization.kind'] === 'none'
  );
}
