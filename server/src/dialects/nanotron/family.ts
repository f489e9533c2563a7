import type { Family } from '../family';
import { nanotron } from './nanotron';
import { nanotronProgram } from './nanotron-program';

/** nanotron. */
export const nanotronFamily: Family = {
  dialects: [nanotron],
  programs: [nanotronProgram],
};
