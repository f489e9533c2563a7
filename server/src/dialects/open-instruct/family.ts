import type { Family } from '../family';
import { openInstruct } from './open-instruct';
import { openInstructGrpoProgram, openInstructProgram } from './open-instruct-program';

/** Open Instruct. */
export const openInstructFamily: Family = {
  dialects: [openInstruct],
  programs: [openInstructProgram, openInstructGrpoProgram],
};
