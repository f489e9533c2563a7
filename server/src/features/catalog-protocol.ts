import type { DetectedGpus } from '../hardware/detect';

/** Request, client to server: `CatalogParams` -> `Catalog`. What a person can choose from, and what is on this machine. */
export const CATALOG_REQUEST = 'oomlint/catalog';
/** Nothing is asked for in particular. */
export type CatalogParams = Readonly<Record<string, never>>;

interface CatalogModel {
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
