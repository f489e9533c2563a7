import type { CancellationToken } from 'vscode-languageserver';
import {
  CHOSEN_RUN_NOTIFICATION,
  type ChosenRunParams,
  CONFIGS_REQUEST,
  type ConfigsParams,
  type KnownConfigs,
  RUNS_REQUEST,
  type Runs,
  type RunsParams,
} from '../../features/workspace-protocol';
import type { Connected } from './connected';

const NO_CONFIGS: KnownConfigs = { configs: [], more: 0 };

/** The runs that a file is part of, which of them is shown, and all configs that there are. */
export function onRuns({ connection, runner, session, chosenRuns, engine }: Connected): void {
  connection.onRequest<KnownConfigs, void>(
    CONFIGS_REQUEST,
    ({ again }: ConfigsParams, token: CancellationToken) =>
      runner.request<KnownConfigs>('Configs', NO_CONFIGS, token, async () =>
        (await engine()).configs(() => token.isCancellationRequested || runner.isDown, again),
      ),
  );
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
