import type { Family } from '../family';
import { accelerate } from './accelerate';

/** Configs of `accelerate launch`. */
export const accelerateFamily: Family = {
  dialects: [accelerate],
};
