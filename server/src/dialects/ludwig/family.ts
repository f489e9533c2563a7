import type { Family } from '../family';
import { ludwig } from './ludwig';
import { ludwigProgram } from './ludwig-program';
import { LUDWIG_RULES } from './ludwig-rule-table';

/** Ludwig, where it fine-tunes language models. */
export const ludwigFamily: Family = {
  dialects: [ludwig],
  programs: [ludwigProgram],
  launches: /\bludwig\b/,
  rules: { title: 'Ludwig', table: LUDWIG_RULES },
};
