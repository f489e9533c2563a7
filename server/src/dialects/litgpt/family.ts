import type { Family } from '../family';
import { litgpt } from './litgpt';
import { litgptProgram } from './litgpt-program';

/** litgpt. */
export const litgptFamily: Family = {
  dialects: [litgpt],
  programs: [litgptProgram],
  launches: /\blitgpt\b/,
};
