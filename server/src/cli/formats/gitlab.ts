import type { Severity } from '../../text/problem';
import { type CheckedFile, findingsOf } from '../checked-file';

const SEVERITIES: Readonly<Record<Severity, string>> = {
  error: 'major',
  warning: 'minor',
  information: 'info',
  hint: 'info',
};

/** A code quality report of GitLab: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format */
export function gitlab(files: readonly CheckedFile[]): string {
  const report = findingsOf(files).map(({ file, problem, fingerprint }) => ({
    description: problem.message,
    check_name: problem.code,
    fingerprint,
    severity: SEVERITIES[problem.severity],
    location: { path: file.path, lines: { begin: problem.range.start.line + 1 } },
  }));
  return `${JSON.stringify(report, null, 2)}\n`;
}
