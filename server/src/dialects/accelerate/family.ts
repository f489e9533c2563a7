import type { Family } from '../family';
import { accelerate } from './accelerate';
import { ACCELERATE_RULES } from './accelerate-rule-table';

/** Configs of `accelerate launch`. */
export const accelerateFamily: Family = {
  dialects: [accelerate],
  rules: { title: 'Accelerate', table: ACCELERATE_RULES },
};
