import type { Family } from '../family';
import { trlxConfig } from './trlx';

/** trlX. */
export const trlxFamily: Family = {
  dialects: [trlxConfig],
};
