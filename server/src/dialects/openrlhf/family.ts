import type { Family } from '../family';
import { openrlhfProgram } from './openrlhf-program';

/** OpenRLHF. */
export const openrlhfFamily: Family = {
  programs: [openrlhfProgram],
  launches: /\bopenrlhf\b/,
};
