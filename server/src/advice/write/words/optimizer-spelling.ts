import type { OptimizerValues } from '../../../dialects/optimizer-names';
import type { OptimizerName } from '../../../run/fields';

/** The first name of a framework's table that means an optimizer. */
export function spellingIn(
  table: Readonly<Record<string, OptimizerValues | undefined>>,
  name: OptimizerName,
): string | undefined {
  return Object.entries(table).find(([, values]) => values?.['optimizer.name'] === name)?.[0];
}
