import type { Collected } from './collect';
import type { Known } from './know';
import type { Read } from './read';
import type { Resolved } from './resolve';

/** All phases before the verdict. */
export interface Assembled {
  readonly collected: Collected;
  readonly known: Known;
  readonly read: Read;
  readonly resolved: Resolved;
}
