import type { Analysis } from '../workspace/analysis';
import { codeLens } from './code-lens';
import { inlayHints } from './inlay-hints';
import { runLens } from './run-lens';

/** Whether an editor that drew lenses and hints of one analysis would draw the same of another, of the same text. */
export function drawnAlike(a: Analysis | undefined, b: Analysis | undefined): boolean {
  if (a === b) return true;
  // One estimate is one run: what is worked out later, when somebody looks, is the same as well.
  if (!a || !b || a.estimate !== b.estimate) return false;
  return JSON.stringify(drawn(a)) === JSON.stringify(drawn(b));
}

const drawn = (analysis: Analysis) => [codeLens(analysis), runLens(analysis), inlayHints(analysis, 'all')];
