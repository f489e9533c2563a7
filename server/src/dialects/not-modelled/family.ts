import type { Family } from '../family';
import { notModelled } from './not-modelled';

/** Trainers that are recognised and not modelled. */
export const notModelledFamily: Family = {
  dialects: [notModelled],
};
