import type { DetectedGpus } from '../hardware/detect';
import { catalogEntries } from '../model/catalog';

/** Request, client to server: `CatalogParams` -> `Catalog`. What a person can choose from, and what is on this machine. */
export const CATALOG_REQUEST = 'oomlint/catalog';
/** Nothing is asked for in particular. */
export type CatalogParams = Readonly<Record<string, never>>;

export interface CatalogModel {
  readonly id: string;
  /** Other names under which it is known, and copies of it. */
  readonly aliases: readonly string[];
  readonly modelType: string;
  readonly parameters: number;
}

export interface Catalog {
  readonly models: readonly CatalogModel[];
  /** GPUs of this machine; absent where there are none, or asking the driver is not allowed. */
  readonly detected?: DetectedGpus;
  /** Models whose files lie in this machine's Hugging Face cache. */
  readonly cached: readonly string[];
}

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
