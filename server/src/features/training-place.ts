import { trainingCall } from '../dialects/python/training-call';
import type { Range } from '../text/place';
import type { Analysis } from '../workspace/analysis';

/** Where a program that is analysed starts its training; undefined where the file is no program. */
export function trainingPlace({ document }: Analysis): Range | undefined {
  return document.program && trainingCall(document.program);
}
