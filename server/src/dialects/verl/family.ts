import type { Family } from '../family';
import { verl } from './verl';
import { verlProgram } from './verl-program';
import { VERL_RULES } from './verl-rule-table';

/** verl. */
export const verlFamily: Family = {
  dialects: [verl],
  programs: [verlProgram],
  launches: /\bactor_rollout_ref\.|\bverl\.trainer\./,
  rules: { title: 'verl', table: VERL_RULES },
};
