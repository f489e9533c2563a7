import type { Family } from '../family';
import { litgpt } from './litgpt';
import { litgptProgram } from './litgpt-program';
import { LITGPT_RULES } from './litgpt-rule-table';

/** litgpt. */
export const litgptFamily: Family = {
  dialects: [litgpt],
  programs: [litgptProgram],
  launches: /\blitgpt\b/,
  rules: { title: 'litgpt', table: LITGPT_RULES },
};
