import type { DetectedGpus } from '../hardware/detect';
import { catalogEntries } from '../model/catalog';
import type { Catalog } from './catalog-protocol';

/** Models of the catalog, and the names of those in the folders of a Hugging Face cache. */
export function catalogOf(folders: readonly string[], detected: DetectedGpus | undefined): Catalog {
  return {
    models: catalogEntries().map(({ id, aliases, model_type, params }) => ({
      id,
      aliases,
      modelType: model_type,
      parameters: params.total,
    })),
    detected,
    cached: folders.flatMap((folder) => modelOfFolder(folder) ?? []).sort(),
  };
}

/** `models--org--name` is where huggingface_hub keeps `org/name`. */
function modelOfFolder(folder: string): string | undefined {
  const [kind, ...parts] = folder.split('--');
  return kind === 'models' && parts.length > 0 ? parts.join('/') : undefined;
}
