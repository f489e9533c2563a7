import {
  type DiagnosticServerCancellationData,
  type DocumentDiagnosticReport,
  DocumentDiagnosticReportKind,
  ResponseError,
} from 'vscode-languageserver';
import { about, type Connected } from './connected';

/** Problems of a text, for editors that ask for them. Those of a notebook are sent to its cells. */
export function onDiagnostics(server: Connected): void {
  const nothing: DocumentDiagnosticReport = { kind: DocumentDiagnosticReportKind.Full, items: [] };
  server.connection.languages.diagnostics.on(async (params, token) => {
    const answer = await about(server, 'Problems', nothing, params, token, async (uri, view) => {
      if (view.cell !== undefined) return nothing;
      const { items, id } = await server.session.problems(uri);
      const report: DocumentDiagnosticReport =
        id === params.previousResultId
          ? { kind: DocumentDiagnosticReportKind.Unchanged, resultId: id }
          : { kind: DocumentDiagnosticReportKind.Full, resultId: id, items };
      return report;
    });
    if (!(answer instanceof ResponseError)) return answer;
    // Whoever changed the text asks again by itself.
    return new ResponseError<DiagnosticServerCancellationData>(answer.code, answer.message, {
      retriggerRequest: false,
    });
  });
}
