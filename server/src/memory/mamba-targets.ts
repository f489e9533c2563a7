import type { Model } from '../model/model';
import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';
import { AdapterSelection } from './adapter-selection';

/** What Mamba's kernels read the weights of, and compute themselves (peft 0.21.2, `tuners_utils.py`, `incompatible_modules`). */
const READ_BY_KERNELS = ['out_proj', 'conv1d'] as const;
/** What the mixer of a layer is called, of all types. */
const MIXERS: readonly string[] = ['mixer', 'mamba'];
/** Kinds that the check is of, as Oomlint knows them. */
const CHECKED: ReadonlySet<TrainingRun['lora.kind']> = new Set(['lora', 'adalora']);

/**
 * The module that PEFT refuses to adapt: `Module 'out_proj' is incompatible with Mamba-based models`. Unsloth leaves such modules out
 * where nothing names them (`unsloth_zoo/peft_utils.py`, `MAMBA_ONLY_LEAVES`).
 */
export function refusedOfMamba(run: TrainingRun, model: Model): string | undefined {
  if (run['method.kind'] !== 'lora' || !CHECKED.has(run['lora.kind'])) return undefined;
  if (!behaviours(run).refusesMambaTargets.includes(model.modelType)) return undefined;
  const named = (leaf: string) => run['lora.targets'].some((target) => target.split('.').at(-1) === leaf);
  const leaves = run['kernels.unsloth'] ? READ_BY_KERNELS.filter(named) : READ_BY_KERNELS;
  const selection = new AdapterSelection(run, model, 'fp32');
  return leaves.find((leaf) => adapts(selection, model, leaf));
}

function adapts(selection: AdapterSelection, model: Model, leaf: string): boolean {
  // The convolution is no linear layer: `all-linear` does not reach it, as it reaches no head.
  const role = leaf === 'conv1d' ? 'head' : 'matrix';
  return Array.from({ length: model.layers }, (_, index) => index).some((index) => {
    const { targets } = selection.at({ list: 'layers', index });
    return MIXERS.some((mixer) => targets(`${mixer}.${leaf}`, role));
  });
}
