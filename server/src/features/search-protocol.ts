/** What the search for runs that fit and an editor's side agree on; plain data, as in `protocol.ts`. */
import type { SearchResult } from '../advice/search';

/**
 * Request, client to server: `SearchParams` -> `Found | null` (null: no estimate to start from, or cancelled). Progress is
 * reported by `$/progress` under the token that the client gives.
 */
export const SEARCH_REQUEST = 'oomlint/search';
export interface SearchParams {
  readonly uri: string;
  /** GPU counts up to this one are tried, too. */
  readonly maxGpus?: number;
  /** Cloud machines with a known price are tried instead of the run's GPUs. */
  readonly instances?: boolean;
  readonly workDoneToken?: string | number;
}
/** `oomlint/apply` with an option's `changes` writes it. */
export type Found = SearchResult;

/** Command of the editor's side: searches what fits, and writes what is chosen. */
export const WHAT_FITS_COMMAND = 'oomlint.whatFits';
