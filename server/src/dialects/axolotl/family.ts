import type { Family } from '../family';
import { axolotl } from './axolotl';
import { axolotlProgram } from './axolotl-program';
import { AXOLOTL_RULES } from './axolotl-rule-table';

/** Axolotl. */
export const axolotlFamily: Family = {
  dialects: [axolotl],
  programs: [axolotlProgram],
  launches: /\baxolotl\b/,
  rules: { title: 'Axolotl', table: AXOLOTL_RULES },
};
