import type { Family } from '../family';
import { gptNeox } from './gpt-neox';
import { GPT_NEOX_RULES } from './gpt-neox-rule-table';
import { neoxProgram } from './neox-program';

/** GPT-NeoX. */
export const gptNeoxFamily: Family = {
  dialects: [gptNeox],
  programs: [neoxProgram],
  launches: /\bdeepy\.py\b/,
  rules: { title: 'GPT-NeoX', table: GPT_NEOX_RULES },
};
