import type { Family } from '../family';
import { gptNeox } from './gpt-neox';
import { neoxProgram } from './neox-program';

/** GPT-NeoX. */
export const gptNeoxFamily: Family = {
  dialects: [gptNeox],
  programs: [neoxProgram],
  launches: /\bdeepy\.py\b/,
};
