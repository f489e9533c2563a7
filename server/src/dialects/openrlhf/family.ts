import type { Family } from '../family';
import { openrlhfProgram } from './openrlhf-program';
import { OPENRLHF_RULES } from './openrlhf-rule-table';

/** OpenRLHF. */
export const openrlhfFamily: Family = {
  programs: [openrlhfProgram],
  launches: /\bopenrlhf\b/,
  rules: { title: 'OpenRLHF', table: OPENRLHF_RULES },
};
