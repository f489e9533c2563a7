import type { Problem, Severity } from '../text/problem';
import { say } from '../wording/say';
import type { Paint, Style } from './output';

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
  const widest = Math.max(...Object.values(SEVERITY_WORDS).map((word) => say(word).length));
  const lines = rows.map(({ problem, place }) => {
    const word = paint(STYLES[problem.severity], say(SEVERITY_WORDS[problem.severity]).padEnd(widest));
    return `  ${paint('dim', place.padStart(width))}  ${word}  ${problem.message}  ${paint('dim', problem.code)}`;
  });
  return `${paint('bold', file)}\n${lines.join('\n')}\n\n`;
}
