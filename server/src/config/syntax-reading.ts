import type { Range } from '../text/place';
import type { Problem } from '../text/problem';
import type { ConfigNode, MapNode } from './node';
import type { ScriptRun } from './shell/run-script';

/** What a syntax makes of a text. */
export interface SyntaxReading {
  readonly root: ConfigNode | null;
  readonly problems: readonly Problem[];
  readonly relaxedJson: boolean;
  /** Shell only: the trees of the other ways at a condition that the script does not settle. */
  readonly otherWays?: (condition: Range) => readonly MapNode[];
  /** Shell only: other scripts that it runs. */
  readonly runs?: readonly ScriptRun[];
}
