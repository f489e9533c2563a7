import { flagOf, numberOf, textOf } from '../../config/scalar';
import type { FoundKey, Section } from '../section';

/**
 * Whether a strategy of evaluation asks for one: any word but `no`, which YAML takes for false however it is spelled. Undefined where
 * none is stated.
 */
export function evaluationAsked(
  section: Section,
): { readonly found: FoundKey; readonly asked: boolean } | undefined {
  const found = section.find(['eval_strategy', 'evaluation_strategy']);
  if (!found) return undefined;
  // A number or a list is no strategy.
  const isWord = textOf(found.node) !== undefined && numberOf(found.node) === undefined;
  return isWord ? { found, asked: flagOf(found.node) !== false } : undefined;
}
