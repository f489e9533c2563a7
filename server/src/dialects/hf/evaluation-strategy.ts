import { flagOf, textOf } from '../../config/scalar';
import type { FoundKey, Section } from '../section';

/**
 * Whether a strategy of evaluation asks for one: any word but `no`, which YAML takes for false however it is spelled. Undefined where
 * none is stated.
 */
export function evaluationAsked(
  section: Section,
): { readonly found: FoundKey; readonly asked: boolean } | undefined {
  const found = section.find(['eval_strategy', 'evaluation_strategy']);
  return found && { found, asked: flagOf(found.node) !== false && textOf(found.node) !== undefined };
}
