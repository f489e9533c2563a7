import type { Family } from '../family';
import { torchtitan } from './torchtitan';
import { torchtitanProgram } from './torchtitan-program';
import { TORCHTITAN_RULES } from './torchtitan-rule-table';

/** torchtitan. */
export const torchtitanFamily: Family = {
  dialects: [torchtitan],
  programs: [torchtitanProgram],
  launches: /--job\.config_file\b/,
  rules: { title: 'torchtitan', table: TORCHTITAN_RULES },
};
