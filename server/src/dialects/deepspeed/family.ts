import type { Family } from '../family';
import { deepspeed } from './deepspeed';
import { DEEPSPEED_RULES } from './deepspeed-rule-table';

/** DeepSpeed's JSON, alone or beside a trainer's config. */
export const deepspeedFamily: Family = {
  dialects: [deepspeed],
  rules: { title: 'DeepSpeed', table: DEEPSPEED_RULES },
};
