import type { Model } from '../model/model';
import { routedExperts } from '../model/routed-experts';
import type { TrainingRun } from '../run/fields';
import { AdapterSelection } from './adapter-selection';

/** Where families keep their stacked experts, inside a layer. */
const STACKS: readonly string[] = ['mlp', 'feed_forward', 'block_sparse_moe', 'moe'].flatMap((block) =>
  ['gate_up_proj', 'down_proj'].map((name) => `${block}.experts.${name}`),
);

/**
 * Whether PEFT stops because the input of a stacked parameter cannot be dropped out apart from its weight: `lora.ParamWrapper does not
 * work with lora_dropout != 0.` (peft 0.17.1 to 0.21.0, `lora/layer.py`).
 */
export function dropsOutOfStacks(run: TrainingRun, model: Model): boolean {
  if (run['method.kind'] !== 'lora' || run['lora.kind'] !== 'lora' || run['lora.dropout'] === 0) return false;
  if (routedExperts(model.config) <= 1) return false;
  const selection = new AdapterSelection(run, model, 'fp32');
  return Array.from({ length: model.layers }, (_, index) => index).some((index) => {
    const { experts } = selection.at({ list: 'layers', index });
    return STACKS.some((path) => experts?.(path)?.as === 'parameter');
  });
}
