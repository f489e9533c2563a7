import type { Family } from '../family';
import { torchtitan } from './torchtitan';
import { torchtitanProgram } from './torchtitan-program';

/** torchtitan. */
export const torchtitanFamily: Family = {
  dialects: [torchtitan],
  programs: [torchtitanProgram],
  launches: /--job\.config_file\b/,
};
