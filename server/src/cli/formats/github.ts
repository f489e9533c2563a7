import type { Severity } from '../../text/problem';
import type { CheckedFile } from '../checked-file';

const COMMANDS: Readonly<Record<Severity, string>> = {
  error: 'error',
  warning: 'warning',
  information: 'notice',
  hint: 'notice',
};

/** https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands */
const inMessage = (text: string) =>
  text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
const inProperty = (text: string) => inMessage(text).replaceAll(':', '%3A').replaceAll(',', '%2C');

/** Annotations of a GitHub workflow: they appear at their lines in a pull request. Hints are none. */
export function github(files: readonly CheckedFile[]): string {
  const lines = files.flatMap(({ path, problems }) =>
    problems
      .filter(({ severity }) => severity !== 'hint')
      .map(({ range: { start, end }, severity, code, message }) => {
        const sameLine = start.line === end.line && end.character > start.character;
        const place = [
          `file=${inProperty(path)}`,
          `line=${start.line + 1}`,
          `endLine=${end.line + 1}`,
          // Columns are taken on one line alone.
          ...(sameLine ? [`col=${start.character + 1}`, `endColumn=${end.character + 1}`] : []),
          `title=${inProperty(['oomlint', code].join(' '))}`,
        ];
        return `::${COMMANDS[severity]} ${place.join(',')}::${inMessage(message)}\n`;
      }),
  );
  return lines.join('');
}
