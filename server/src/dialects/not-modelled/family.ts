import type { Family } from '../family';
import { LAUNCHES_NOT_MODELLED, programsNotModelled } from './launched-trainers';
import { notModelled } from './not-modelled';

/** Trainers that are recognised and not modelled. */
export const notModelledFamily: Family = {
  dialects: [notModelled],
  programs: programsNotModelled,
  launches: LAUNCHES_NOT_MODELLED,
};
