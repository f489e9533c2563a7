import type { CheckedFile } from '../checked-file';
import type { Paint } from '../output';

/** What a format may ask for besides the files. */
export interface FormatContext {
  /** Folder that paths are relative to. */
  readonly folder: string;
  readonly version: string;
  readonly paint: Paint;
}

/** Writes what was found in a form that something reads: a person, a pull request, a build server. */
export type Format = (files: readonly CheckedFile[], context: FormatContext) => string;
