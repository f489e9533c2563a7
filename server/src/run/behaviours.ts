import type { Behaviours } from '../behaviours/behaviours';
import { LIBRARIES, type Library, REFERENCE } from '../behaviours/products';
import { behavioursOf } from '../behaviours/resolve';
import { oncePer, remembered } from '../memo/remembered';
import type { FieldPath, RunValues, TrainingRun } from './fields';

export { lacksKernel, languageType, precedesSdpa, predatesSdpa } from '../behaviours/attention-kernels';
export { takesPart } from '../behaviours/products';
export type { Behaviours };

/** Fields that behaviours are resolved from. */
export const BEHAVIOUR_FIELDS = [
  'model.code',
  'precision.scheme',
  'version.torch',
  'version.transformers',
  'version.deepspeed',
  'version.bitsandbytes',
  'version.liger',
  'version.trl',
  'version.accelerate',
  'version.peft',
] as const satisfies readonly FieldPath[];

/** Enough for the alternatives that are tried for one run. */
const KEPT = 64;

const ofProducts = remembered<Behaviours>(KEPT);

/** What the programs of a run do: resolved once per estimate, and handed to formulas in place of products and versions. */
export const behaviours = oncePer((run: TrainingRun): Behaviours => behavioursOfValues(run));

/** The same of a run that may be incomplete. */
export function behavioursOfValues(values: RunValues): Behaviours {
  const key = BEHAVIOUR_FIELDS.map((path) => values[path]).join();
  return ofProducts.of(key, () => {
    const versions = LIBRARIES.map((of) => [of, values[`version.${of}`] ?? REFERENCE.versions[of]]);
    return behavioursOf({
      code: values['model.code'] ?? REFERENCE.code,
      scheme: values['precision.scheme'] ?? REFERENCE.scheme,
      versions: Object.fromEntries(versions) as Readonly<Record<Library, string>>,
    });
  });
}
