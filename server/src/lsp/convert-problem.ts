import { type Diagnostic, DiagnosticSeverity, DiagnosticTag } from 'vscode-languageserver';
import { httpsUrl } from '../features/markdown';
import { rulePage } from '../rules/rule';
import type { Problem, Severity } from '../text/problem';
import { inQuotes } from '../wording/in-quotes';
import { isRuleId } from '../workspace/rules';
import { type ClientSupport, mutable, SOURCE } from './convert';

const SEVERITIES: Readonly<Record<Severity, DiagnosticSeverity>> = {
  error: DiagnosticSeverity.Error,
  warning: DiagnosticSeverity.Warning,
  information: DiagnosticSeverity.Information,
  hint: DiagnosticSeverity.Hint,
};

export function toDiagnostic(problem: Problem, support: ClientSupport): Diagnostic {
  const diagnostic: Diagnostic = {
    range: mutable(problem.range),
    severity: SEVERITIES[problem.severity],
    code: problem.code,
    source: SOURCE,
    message: inQuotes(problem.message),
  };
  // The place in the framework that states it, or our own page.
  const href = httpsUrl(problem.source) ?? (isRuleId(problem.code) ? rulePage(problem.code) : undefined);
  if (href && support.codeDescription) {
    diagnostic.codeDescription = { href };
  }
  if (problem.related && problem.related.length > 0 && support.related) {
    diagnostic.relatedInformation = problem.related.map(({ uri, range, message }) => ({
      location: { uri, range: mutable(range) },
      message: inQuotes(message),
    }));
  }
  if (problem.data) {
    diagnostic.data = problem.data;
  }
  if (support.tags && problem.code.startsWith('deprecated')) {
    diagnostic.tags = [DiagnosticTag.Deprecated];
  }
  return diagnostic;
}
