import type { Family } from '../family';
import { olmo } from './olmo';
import { olmoProgram } from './olmo-program';
import { OLMO_RULES } from './olmo-rule-table';

/** OLMo. */
export const olmoFamily: Family = {
  dialects: [olmo],
  programs: [olmoProgram],
  launches: /\bscripts\/train\.py\b/,
  rules: { title: 'OLMo', table: OLMO_RULES },
};
