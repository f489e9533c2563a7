import { nodeAt } from '../../config/lookup';
import type { MapNode } from '../../config/node';
import type { Draft } from '../draft';

/** What each recipe sets of its own, in `model` (`bridge/recipes`): how it splits the model. */
const SPLITS = ['tensor_model_parallel_size', 'pipeline_model_parallel_size', 'context_parallel_size'];
/** What those of models with experts, and some of large ones, set besides. */
const OF_LARGE = ['expert_model_parallel_size', 'recompute_granularity'];
/** Recipes of dense models, none of which computes layers again. */
const DENSE = /llama_?[23]|qwen3_?8b|qwen25|qwen2_5/;

/** Leaves the verdict to the recipe, by the name of its file, where that states what the file does not; and whether it trains adapters. */
export function leaveToRecipe(root: MapNode, name: string, draft: Draft): void {
  const at = nodeAt(root, ['model']) ?? nodeAt(root, ['train']) ?? root;
  const needed = DENSE.test(name) ? SPLITS : [...SPLITS, ...OF_LARGE];
  const adapts = /finetun|sft|peft|lora/.test(name) && !nodeAt(root, ['peft']);
  if (adapts || needed.some((key) => !nodeAt(root, ['model', key]))) draft.bring('recipe', at, 'model');
}
