import type { CancellationToken } from 'vscode-languageserver';
import { EXPLAIN_OOM_REQUEST, type ExplainedOom, type OomParams } from '../../features/oom-protocol';
import type { Connected } from './connected';

/** Explains out-of-memory messages of logs, selections and clipboards: texts that no config is. */
export function onOutOfMemory({ connection, runner, engine }: Connected): void {
  connection.onRequest<ExplainedOom, void>(
    EXPLAIN_OOM_REQUEST,
    (params: OomParams, token: CancellationToken) =>
      runner.request<ExplainedOom>('Out of memory', { messages: [] }, token, async () =>
        (await engine()).explainedOom(params),
      ),
  );
}
