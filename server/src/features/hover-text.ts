import type { Range } from '../text/place';

/** What is shown at a place, as Markdown, and the stretch of text that it is about. */
export interface HoverText {
  readonly markdown: string;
  readonly range: Range;
}
