import { XMLBuilder } from 'fast-xml-parser';
import type { CheckedFile } from '../checked-file';

/** Characters that XML 1.0 has no way to hold. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const UNFIT = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

/**
 * A suite a file, a case a rule that it breaks; errors and warnings are failures. A file without any is one case that passed, so
 * that build servers count what was checked.
 */
export function junit(files: readonly CheckedFile[]): string {
  const suites = files.map(({ path, problems }) => {
    const failures = problems.filter(({ severity }) => severity === 'error' || severity === 'warning');
    const cases = failures.map(({ code, severity, message, range: { start } }) => ({
      '@name': code,
      '@classname': path,
      '@file': path,
      '@line': start.line + 1,
      failure: {
        '@type': severity,
        '@message': message.replace(UNFIT, ''),
        '#text': `${path}:${start.line + 1}:${start.character + 1} ${message}`.replace(UNFIT, ''),
      },
    }));
    return {
      '@name': path,
      '@tests': Math.max(1, cases.length),
      '@failures': cases.length,
      '@errors': 0,
      testcase: cases.length > 0 ? cases : [{ '@name': 'oomlint', '@classname': path, '@file': path }],
    };
  });
  const total = (count: (suite: (typeof suites)[number]) => number) =>
    suites.reduce((sum, suite) => sum + count(suite), 0);
  const builder = new XMLBuilder({
    attributeNamePrefix: '@',
    ignoreAttributes: false,
    format: true,
    suppressEmptyNode: true,
  });
  return builder.build({
    '?xml': { '@version': '1.0', '@encoding': 'UTF-8' },
    testsuites: {
      '@name': 'oomlint',
      '@tests': total((suite) => suite['@tests']),
      '@failures': total((suite) => suite['@failures']),
      testsuite: suites,
    },
  });
}
