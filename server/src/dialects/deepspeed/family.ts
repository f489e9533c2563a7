import type { Family } from '../family';
import { deepspeed } from './deepspeed';

/** DeepSpeed's JSON, alone or beside a trainer's config. */
export const deepspeedFamily: Family = {
  dialects: [deepspeed],
};
