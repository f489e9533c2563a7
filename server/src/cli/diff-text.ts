import { say } from '../wording/say';
import type { DiffContext } from './diff-json';
import {
  causeWords,
  diffHeadline,
  outcomeChange,
  partWords,
  peakChange,
  restWords,
  timeChanges,
  versionWords,
} from './diff-words';
import { problemLines } from './problem-lines';
import { displayPath } from './report';
import { isWorse, type RunDiff, type TreeDiff } from './run-diff';

const SIGNS: Readonly<Record<RunDiff['kind'], string>> = { changed: '~', new: '+', removed: '-' };

/** The difference for a terminal. */
export function diffText(diff: TreeDiff, { folder, paint, versions }: DiffContext): string {
  const runs = diff.runs.map((run) => {
    const path = displayPath(run.uri, folder);
    const moved = run.from === undefined ? '' : ` (${say('was {0}', displayPath(run.from, folder))})`;
    const better = run.after?.verdict === 'fits' && run.before?.verdict !== 'fits';
    const style = isWorse(run) ? 'red' : better ? 'green' : 'bold';
    const gone = run.goneProblems.length;
    const lines = [
      `${SIGNS[run.kind]} ${paint('bold', path)}${moved}  ${paint(style, outcomeChange(run))}`,
      ...[[peakChange(run), ...timeChanges(run)].filter(Boolean).join(' · '), partWords(run)]
        .filter((line) => line !== '')
        .map((line) => `    ${line}`),
      ...causeWords(run, folder).map(
        ({ text, place }) => `    ${text}${place === '' ? '' : `  ${paint('dim', place)}`}`,
      ),
      ...(gone > 0 ? [`    ${say('{0} {0|problem is|problems are} gone', gone)}`] : []),
    ];
    const fresh = problemLines('', run.newProblems, paint).split('\n').slice(1).filter(Boolean);
    return [...lines, ...fresh.map((line) => `  ${line}`)].join('\n');
  });
  const rest = restWords(diff);
  const under = versionWords(versions);
  return `${[...(under === '' ? [] : [under]), ...runs, diffHeadline(diff), ...(rest === '' ? [] : [paint('dim', rest)])].join('\n\n')}\n`;
}
