import { modelSince } from '../dialects/python/imported-names';
import type { Model } from '../model/model';
import type { FieldPath } from '../run/fields';
import { type Needs, newerOf } from '../run/oldest-releases';
import type { Member } from './member';

/**
 * First releases that have what the files of a run take of packages, and of transformers the class of the model, where that is
 * given: one whose code comes with it needs none.
 */
export function neededReleases(members: readonly Member[], model?: Pick<Model, 'modelType'>): Needs {
  const found: Partial<Record<FieldPath, string>> = {};
  const need = (field: FieldPath, release: string | undefined) => {
    if (release !== undefined) found[field] = newerOf(found[field], release);
  };
  for (const { config } of members)
    for (const [field, release] of Object.entries(config.reading.needs ?? {}))
      need(field as FieldPath, release);
  need('version.transformers', modelSince(model?.modelType));
  return found;
}
