import type { CheckedFile } from '../checked-file';

/** A problem a line, as compilers print them: `file:line:column: severity code message`. */
export function concise(files: readonly CheckedFile[]): string {
  const lines = files.flatMap(({ path, problems }) =>
    problems.map(({ range, severity, code, message }) => {
      const { line, character } = range.start;
      return `${path}:${line + 1}:${character + 1}: ${severity} ${code} ${message.replace(/\s*\n\s*/g, ' ')}\n`;
    }),
  );
  return lines.join('');
}
