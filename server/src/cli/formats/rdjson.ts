import { codeActions } from '../../features/code-actions';
import { rulePage } from '../../rules/rule';
import { linesOf } from '../../text/lines';
import type { Range } from '../../text/place';
import type { Severity } from '../../text/problem';
import { isRuleId } from '../../workspace/rules';
import type { CheckedFile } from '../checked-file';

const SEVERITIES: Readonly<Record<Severity, string>> = {
  error: 'ERROR',
  warning: 'WARNING',
  information: 'INFO',
  hint: 'INFO',
};

/** reviewdog counts columns in bytes of UTF-8, from 1. */
function rangeOf({ start, end }: Range, lines: readonly string[]) {
  const place = ({ line, character }: Range['start']) => ({
    line: line + 1,
    column: Buffer.byteLength((lines[line] ?? '').slice(0, character)) + 1,
  });
  return { start: place(start), end: place(end) };
}

/** What reviewdog reads, with the edits of quick fixes: https://github.com/reviewdog/reviewdog/tree/v0.20.3/proto/rdf */
export function rdjson(files: readonly CheckedFile[]): string {
  const diagnostics = files.flatMap(({ path, text = '', problems, analysis }) => {
    const lines = linesOf(text);
    return problems.map((problem) => {
      const actions = analysis ? codeActions(analysis, { text, range: problem.range }) : [];
      const suggestions = actions
        .filter((action) => action.problem === problem && action.preferred)
        .flatMap(({ edits }) => edits)
        .filter(({ uri }) => uri === analysis?.uri);
      return {
        message: problem.message,
        location: { path, range: rangeOf(problem.range, lines) },
        severity: SEVERITIES[problem.severity],
        code: {
          value: problem.code,
          ...(isRuleId(problem.code) ? { url: rulePage(problem.code) } : {}),
        },
        ...(suggestions.length > 0
          ? {
              suggestions: suggestions.map(({ range, newText }) => ({
                range: rangeOf(range, lines),
                text: newText,
              })),
            }
          : {}),
      };
    });
  });
  const source = { name: 'oomlint', url: 'https://github.com/oomlint/oomlint' };
  return `${JSON.stringify({ source, diagnostics }, null, 2)}\n`;
}
