import type { Family } from '../family';
import { torchtune } from './torchtune';
import { torchtuneProgram } from './torchtune-program';
import { TORCHTUNE_RULES } from './torchtune-rule-table';

/** torchtune. */
export const torchtuneFamily: Family = {
  dialects: [torchtune],
  programs: [torchtuneProgram],
  launches: /\btune run\b/,
  rules: { title: 'torchtune', table: TORCHTUNE_RULES },
};
