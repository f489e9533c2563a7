import type { Family } from '../family';
import { verl } from './verl';
import { verlProgram } from './verl-program';

/** verl. */
export const verlFamily: Family = {
  dialects: [verl],
  programs: [verlProgram],
  launches: /\bactor_rollout_ref\.|\bverl\.trainer\./,
};
