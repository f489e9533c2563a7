import { hfProgram, trlProgram } from './hf-program';
import { megatronProgram } from './megatron-program';
import { neoxProgram } from './neox-program';
import type { Program } from './program';

/** Every training program whose flags are read. */
export const PROGRAMS: readonly Program[] = [megatronProgram, neoxProgram, trlProgram, hfProgram];
