import type { Family } from '../family';
import { torchtune } from './torchtune';
import { torchtuneProgram } from './torchtune-program';

/** torchtune. */
export const torchtuneFamily: Family = {
  dialects: [torchtune],
  programs: [torchtuneProgram],
  launches: /\btune run\b/,
};
