import type { Analysis } from '../workspace/analysis';
import type { Lens } from './code-lens';
import { measuredPhrase } from './measured-phrase';
import type { MeasuredBeside } from './measured-protocol';
import { ESTIMATE_COMMAND } from './protocol';

/** Above a config whose run was measured: the figure beside its like. Nothing for others. */
export function measuredLens(
  { uri, estimate }: Pick<Analysis, 'uri' | 'estimate'>,
  measured: MeasuredBeside | undefined,
): Lens | undefined {
  const title = measured && estimate && measuredPhrase(measured, estimate.capacityBytes);
  if (title === undefined) return undefined;
  const start = { line: 0, character: 0 };
  return { range: { start, end: start }, title, command: ESTIMATE_COMMAND, argument: { uri } };
}
