import type { RunValues } from '../run/fields';

/** Request, client to server: `NoteParams` -> the text of a project file in which the values stand; null where it cannot be read. */
export const NOTE_REQUEST = 'oomlint/note';
export interface NoteParams {
  /** The project file; without a text it is still to be made. */
  readonly project: { readonly uri: string; readonly text?: string };
  /** The one config that the values hold for; absent: every config of the project. */
  readonly config?: string;
  readonly values: RunValues;
}
