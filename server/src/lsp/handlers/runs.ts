import type { CancellationToken } from 'vscode-languageserver';
import {
  CHOSEN_RUN_NOTIFICATION,
  type ChosenRunParams,
  RUNS_REQUEST,
  type Runs,
  type RunsParams,
} from '../../features/workspace-protocol';
import type { Connected } from './connected';

/** The runs that a file is part of, and which of them is shown. */
export function onRuns({ connection, runner, session, chosenRuns }: Connected): void {
  connection.onRequest<Runs | null, void>(RUNS_REQUEST, (params: RunsParams, token: CancellationToken) =>
    runner.request<Runs | null>('Runs', null, token, async () => {
      const analysis = await session.analysisOfFile(params.uri);
      return analysis ? { runs: analysis.runs ?? [], shown: analysis.run } : null;
    }),
  );
  connection.onNotification(CHOSEN_RUN_NOTIFICATION, ({ uri, root }: ChosenRunParams) => {
    chosenRuns.choose(uri, root);
    runner.background('Choosing a run', () => session.again(uri));
  });
}
