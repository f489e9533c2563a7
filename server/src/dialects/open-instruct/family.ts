import type { Family } from '../family';
import { openInstruct } from './open-instruct';
import { openInstructGrpoProgram, openInstructProgram } from './open-instruct-program';
import { OPEN_INSTRUCT_RULES } from './open-instruct-rule-table';

/** Open Instruct. */
export const openInstructFamily: Family = {
  dialects: [openInstruct],
  programs: [openInstructProgram, openInstructGrpoProgram],
  rules: { title: 'Open Instruct', table: OPEN_INSTRUCT_RULES },
};
