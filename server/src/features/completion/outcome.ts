import { Lines } from '../../config/lines';
import type { Verdict } from '../../results/estimate';
import { outcomeLabel } from '../../results/labels';
import { formatBytes } from '../../wording/figures';
import type { Analysis } from '../../workspace/analysis';
import type { Completion } from './completion';

/** More values than this are a catalog and not a choice: they are offered untried. */
const MOST = 16;

const ORDER: Readonly<Record<Verdict, number>> = { fits: 0, tight: 1, exceeds: 2, unknown: 3 };

/** The analysis that the file would have with another text; undefined where that is no config. */
type Preview = (text: string) => Promise<Analysis | undefined>;

/**
 * States of every offered value what the run would need with it, and puts those first that fit. Each is tried in the text
 * itself, so linked files and derived values follow. Where nothing can be estimated the values stay as they are.
 */
export async function withOutcomes(
  found: readonly Completion[],
  text: string,
  preview: Preview,
): Promise<readonly Completion[]> {
  const values = found.filter(({ kind }) => kind === 'value').length;
  if (values === 0 || values > MOST) return found;
  const lines = new Lines(text);
  const tried: Completion[] = [];
  for (const entry of found) {
    if (entry.kind !== 'value') {
      tried.push(entry);
      continue;
    }
    const [start, end] = [lines.offset(entry.range.start), lines.offset(entry.range.end)];
    const analysis = await preview(text.slice(0, start) + entry.text + text.slice(end));
    tried.push(analysis?.estimate ? withOutcome(entry, analysis.estimate) : entry);
  }
  return tried;
}

function withOutcome(entry: Completion, estimate: NonNullable<Analysis['estimate']>): Completion {
  const { verdict, peak } = estimate;
  const outcome = `${formatBytes(peak.processBytes)}, ${outcomeLabel(estimate)}`;
  return { ...entry, outcome, sort: `${ORDER[verdict]}${entry.sort}` };
}
