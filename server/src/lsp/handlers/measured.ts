import type { CancellationToken } from 'vscode-languageserver';
import {
  LEARN_REQUEST,
  type Learned,
  type LearnParams,
  MEASURED_PROGRESS,
  MEASURED_REQUEST,
  type MeasuredAnswer,
  type MeasuredParams,
  type MeasuredProgress,
} from '../../features/measured-protocol';
import { fileName } from '../../text/uri';
import type { Connected } from './connected';

/** Runs that were measured: read beside a config, forgotten, learned from. */
export function onMeasured(server: Connected): void {
  const { connection, runner, session } = server;
  connection.onRequest<MeasuredAnswer | null, void>(
    MEASURED_REQUEST,
    ({ uri, place }: MeasuredParams, token: CancellationToken) =>
      runner.request<MeasuredAnswer | null>('Measuring', null, token, async () => {
        const analysis = await session.analysisOfFile(uri);
        if (!analysis) return null;
        const runs = await server.measuredRuns();
        if (!runs) return null;
        if (place === undefined) runs.choose(uri, undefined);
        const aborted = new AbortController();
        token.onCancellationRequested(() => aborted.abort());
        const progress = (bytes: number, file: string) => {
          const soFar: MeasuredProgress = { bytes, file: fileName(file) };
          void connection.sendNotification(MEASURED_PROGRESS, soFar);
        };
        try {
          const answer =
            place === undefined ? {} : await runs.read(analysis, place, { progress, signal: aborted.signal });
          runner.background('Measuring', () => session.again(uri));
          return answer;
        } catch (error) {
          if (aborted.signal.aborted) return null;
          return { problem: error instanceof Error ? error.message : String(error) };
        }
      }),
  );
  connection.onRequest<Learned | null, void>(LEARN_REQUEST, (params: LearnParams, token: CancellationToken) =>
    runner.request<Learned | null>('Learning', null, token, async () => {
      const analysis = await session.analysisOfFile(params.uri);
      if (!analysis) return null;
      const engine = await server.engine();
      const runs = await server.measuredRuns();
      return runs?.learned(analysis, params, () => engine.project(analysis)) ?? null;
    }),
  );
}
