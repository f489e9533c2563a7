import { rankFigures } from '../estimate';
import type { RankFigures } from '../features/protocol';
import type { Analysis } from './analysis';

/** Every pipeline stage of a run, the first GPUs first; null where there is no estimate. */
export function ranksOf({ model, accelerator, resolved, estimate }: Analysis): readonly RankFigures[] | null {
  const { run } = resolved;
  return model && accelerator && run && estimate ? rankFigures({ run, model, accelerator }) : null;
}
