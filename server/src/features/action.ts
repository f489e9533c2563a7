import type { Range } from '../text/place';
import type { Problem } from '../text/problem';
import type { SUPPLY_COMMAND, SupplyArguments } from './protocol';

/** One change of one file. */
export interface FileEdit {
  readonly uri: string;
  /** The file does not exist yet. */
  readonly create?: boolean;
  readonly range: Range;
  readonly newText: string;
  /** The same text with places to fill in, for editors that know snippets. */
  readonly snippet?: string;
}

/** Something that one click does. */
export interface Action {
  readonly title: string;
  /** What it puts right; an action without one is offered wherever it applies. */
  readonly problem?: Problem;
  readonly preferred?: boolean;
  readonly edits: readonly FileEdit[];
  /** What it is for, where that is no quick fix of a problem. */
  readonly kind?: 'source.fixAll.oomlint' | 'refactor.rewrite';
  readonly command?: { readonly name: typeof SUPPLY_COMMAND; readonly argument: SupplyArguments };
}

export interface ActionContext {
  readonly text: string;
  /** Where the editor asks. */
  readonly range: Range;
  /** The project file that holds for this config, or would if it existed. */
  readonly project?: { readonly uri: string; readonly text?: string };
}
