import type { Problem, Severity } from '../text/problem';
import { inQuotes } from '../wording/in-quotes';
import { say } from '../wording/say';
import type { Paint, Style } from './output';
import type { RepeatedInformation } from './repeated-information';

const STYLES: Readonly<Record<Severity, Style>> = {
  error: 'red',
  warning: 'yellow',
  information: 'cyan',
  hint: 'dim',
};
/** How bad a problem is, in one word. */
export const SEVERITY_WORDS: Readonly<Record<Severity, string>> = {
  error: 'error',
  warning: 'warning',
  information: 'info',
  hint: 'hint',
};

/** Problems of one file in aligned lines, `line:column severity message code`; nothing where there are none. */
export function problemLines(file: string, problems: readonly Problem[], paint: Paint): string {
  if (problems.length === 0) {
    return '';
  }
  const rows = problems.map((problem) => {
    const { line, character } = problem.range.start;
    return { problem, place: `${line + 1}:${character + 1}` };
  });
  const width = Math.max(...rows.map(({ place }) => place.length));
  const lines = rows.map(
    ({ problem, place }) => `  ${paint('dim', place.padStart(width))}  ${wordsOf(problem, paint)}`,
  );
  return `${paint('bold', file)}\n${lines.join('\n')}\n\n`;
}

/** Files that are named of those that share a problem. */
const NAMED = 3;

/** What several files share, once: how many, the problem, and the first of them. */
export function repeatedLines({ problem, paths }: RepeatedInformation, paint: Paint): string {
  const more = paths.length - NAMED;
  const named = [...paths.slice(0, NAMED), ...(more > 0 ? [say('and {0} more', more)] : [])].join(', ');
  const heading = paint('bold', say('In {0} {0|file|files}', paths.length));
  return `${heading}\n  ${wordsOf(problem, paint)}\n  ${paint('dim', named)}\n\n`;
}

function wordsOf({ severity, message, code }: Problem, paint: Paint): string {
  const widest = Math.max(...Object.values(SEVERITY_WORDS).map((word) => say(word).length));
  const word = paint(STYLES[severity], say(SEVERITY_WORDS[severity]).padEnd(widest));
  return `${word}  ${inQuotes(message)}  ${paint('dim', code)}`;
}
