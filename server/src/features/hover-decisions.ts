import { decisionsOf } from '../advice/decisions';
import { unreadSentence } from '../run/unread';
import type { Analysis } from '../workspace/analysis';
import { answerSentence } from '../workspace/open-questions';

/** More than this is no hover: the panel and the command line have all. */
const MOST = 3;

/** What the run of a file hangs on and nobody states, and what of its files was not understood; undefined where all is known. */
export function decisionsSection(analysis: Analysis): string | undefined {
  const lines = decisionsOf(analysis).slice(0, MOST).map(answerSentence);
  const unread = unreadSentence(analysis.unread ?? []);
  const all = unread === '' ? lines : [...lines, unread];
  return all.length > 0 ? all.map((line) => `- ${line}`).join('\n') : undefined;
}
