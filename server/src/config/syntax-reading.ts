import type { Problem } from '../text/problem';
import type { ConfigNode } from './node';

/** What a syntax makes of a text. */
export interface SyntaxReading {
  readonly root: ConfigNode | null;
  readonly problems: readonly Problem[];
  readonly relaxedJson: boolean;
}
