import { rankFigures } from '../estimate';
import type { Analysis } from '../workspace/analysis';
import type { RankFigures } from './protocol';

/** Every pipeline stage of a run, the first GPUs first; undefined where all GPUs hold the same or nothing is estimated. */
export function ranksOf(analysis: Analysis): readonly RankFigures[] | undefined {
  const { model, accelerator, resolved, estimate } = analysis;
  const { run } = resolved;
  if (!model || !accelerator || !run || !estimate || run['parallel.pipeline'] === 1) return undefined;
  return rankFigures({ run, model, accelerator });
}
