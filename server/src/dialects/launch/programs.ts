import { hfProgram, trlProgram } from './hf-program';
import type { Program } from './program';

/** Every training program whose flags are read. */
export const PROGRAMS: readonly Program[] = [trlProgram, hfProgram];
