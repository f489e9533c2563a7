import {
  type CodeLens,
  type Diagnostic,
  DiagnosticSeverity,
  DiagnosticTag,
  type DocumentLink,
  type Hover,
  MarkupKind,
} from 'vscode-languageserver/node';
import type { Problem, Severity } from '../config/node';
import type { Lens } from '../features/code-lens';
import type { FileReference } from '../features/document-links';
import type { HoverText } from '../features/hover';
import { httpsUrl } from '../features/markdown';
import type { RunLens } from '../features/run-lens';
import type { Range } from '../run/origin';

/** The one place where plain results become protocol types. */
export const SOURCE = 'oomlint';

const SEVERITIES: Readonly<Record<Severity, DiagnosticSeverity>> = {
  error: DiagnosticSeverity.Error,
  warning: DiagnosticSeverity.Warning,
  information: DiagnosticSeverity.Information,
  hint: DiagnosticSeverity.Hint,
};

/** What of the protocol the client understands. */
export interface ClientSupport {
  readonly related: boolean;
  readonly codeDescription: boolean;
  readonly tags: boolean;
  readonly markdown: boolean;
}

export function toDiagnostic(problem: Problem, support: ClientSupport): Diagnostic {
  const diagnostic: Diagnostic = {
    range: mutable(problem.range),
    severity: SEVERITIES[problem.severity],
    code: problem.code,
    source: SOURCE,
    message: problem.message,
  };
  const href = httpsUrl(problem.source);
  if (href && support.codeDescription) {
    diagnostic.codeDescription = { href };
  }
  if (problem.related && problem.related.length > 0 && support.related) {
    diagnostic.relatedInformation = problem.related.map(({ uri, range, message }) => ({
      location: { uri, range: mutable(range) },
      message,
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

export function toHover(hover: HoverText, support: ClientSupport): Hover {
  return {
    contents: support.markdown
      ? { kind: MarkupKind.Markdown, value: hover.markdown }
      : { kind: MarkupKind.PlainText, value: plain(hover.markdown) },
    range: mutable(hover.range),
  };
}

export function toCodeLens(lens: Lens | RunLens): CodeLens {
  return {
    range: mutable(lens.range),
    command: { title: lens.title, command: lens.command, arguments: [lens.argument] },
  };
}

export function toDocumentLink(link: FileReference): DocumentLink {
  return { range: mutable(link.range), target: link.target, tooltip: link.tooltip };
}

export function mutable(range: Range) {
  return { start: { ...range.start }, end: { ...range.end } };
}

/** Markdown of our own making, read as text: for clients that cannot render it. */
function plain(markdown: string): string {
  return markdown
    .replace(/\[([^\]]*)\]\(([^)]*)\)/g, '$1 ($2)')
    .replace(/\*\*/g, '')
    .replace(/`/g, '')
    .replace(/\\([\\*_{}[\]()#+\-!|<>~&])/g, '$1');
}
