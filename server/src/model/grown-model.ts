import { rememberedOf } from '../memo/remembered';
import type { Model, Stage } from './model';
import { countParameters } from './parameter-count';

const grown = rememberedOf<Model, Model>(Number.POSITIVE_INFINITY);

/**
 * The model with so many layers more, which LLaMA Pro puts into it: copies, one behind every group of equally many layers of the
 * longest list (ms-swift, `tuners/llamapro.py`, `prepare_model`). The model itself where none are added.
 */
export function grownModel(model: Model, added: number): Model {
  if (added === 0) return model;
  return grown.of(model, String(added), () => withMore(model, added));
}

function withMore(model: Model, added: number): Model {
  const stages = withCopies(model.stages, added);
  const counted = model.counted && withCopies(model.counted, added);
  return {
    ...model,
    layers: model.layers + added,
    stages,
    counted,
    parameters: countParameters(counted ?? stages),
  };
}

/** Names of the list of layers that has most of them. */
function longestList(stages: readonly Stage[]): { readonly name: string; readonly count: number } {
  const totals = new Map<string, number>();
  for (const { name, role, count } of stages)
    if (role === 'layer') totals.set(name, (totals.get(name) ?? 0) + count);
  let longest = { name: '', count: 0 };
  for (const [name, count] of totals) if (count > longest.count) longest = { name, count };
  return longest;
}

function withCopies(stages: readonly Stage[], added: number): Stage[] {
  const { name, count } = longestList(stages);
  const stride = Math.max(1, Math.floor(count / added));
  const result: Stage[] = [];
  let index = 0;
  let left = Math.min(added, Math.floor(count / stride));
  for (const stage of stages) {
    if (stage.role !== 'layer' || stage.name !== name) {
      result.push(stage);
      continue;
    }
    // How many copies fall behind layers of this run; they run as it does.
    let copies = 0;
    for (let i = 0; i < stage.count; i++) {
      index++;
      if (index % stride !== 0 || left === 0) continue;
      copies++;
      left--;
    }
    result.push({ ...stage, count: stage.count + copies });
  }
  return result;
}

/** Whether a layer is the last of as many groups of equal size as layers are trained (LLaMA-Factory, `model/adapter.py`). */
export function endsGroup(index: number, layers: number, trained: number): boolean {
  const stride = Math.max(1, Math.floor(layers / trained));
  return (index + 1) % stride === 0;
}
