import { literalPattern } from '../run/literal-pattern';
import { WEIGHT_PREFIXES } from '../terms/weight-prefixes';

/** What may stand around a weight's name, as a pattern: the longest first, so that a name is stripped of it whole. */
export const AROUND_WEIGHTS = `(?:${WEIGHT_PREFIXES.filter((prefix) => prefix !== '')
  .sort((a, b) => b.length - a.length)
  .map(literalPattern)
  .join('|')})`;

const BEGINNING = new RegExp(`^${AROUND_WEIGHTS}`);

/** A part's or weight's name as the model has it, whatever class is around it. */
export function withoutPrefix(name: string): string {
  return name.replace(BEGINNING, '');
}
