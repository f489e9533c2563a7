import { type DocumentDiagnosticReport, DocumentDiagnosticReportKind } from 'vscode-languageserver';
import { about, type Connected } from './connected';

/** Problems of a text, for editors that ask for them. Those of a notebook are sent to its cells. */
export function onDiagnostics(server: Connected): void {
  const nothing: DocumentDiagnosticReport = { kind: DocumentDiagnosticReportKind.Full, items: [] };
  server.connection.languages.diagnostics.on((params, token) =>
    about<DocumentDiagnosticReport>(server, 'Problems', nothing, params, token, async (uri, view) => {
      if (view.cell !== undefined) return nothing;
      const { items, id } = await server.session.problems(uri);
      return id === params.previousResultId
        ? { kind: DocumentDiagnosticReportKind.Unchanged, resultId: id }
        : { kind: DocumentDiagnosticReportKind.Full, resultId: id, items };
    }),
  );
}
