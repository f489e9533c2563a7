import type { Family } from '../family';
import { axolotl } from './axolotl';
import { axolotlProgram } from './axolotl-program';

/** Axolotl. */
export const axolotlFamily: Family = {
  dialects: [axolotl],
  programs: [axolotlProgram],
  launches: /\baxolotl\b/,
};
