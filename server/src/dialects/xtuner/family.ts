import type { Family } from '../family';
import { xtuner } from './xtuner';
import { xtunerProgram } from './xtuner-program';
import { XTUNER_RULES } from './xtuner-rule-table';

/** XTuner. */
export const xtunerFamily: Family = {
  dialects: [xtuner],
  programs: [xtunerProgram],
  launches: /\bxtuner\s+train\b|\bxtuner\/tools\/train\.py\b/,
  rules: { title: 'XTuner', table: XTUNER_RULES },
};
