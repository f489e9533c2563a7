import type { CancellationToken, Connection } from 'vscode-languageserver';
import type { ChosenRuns } from '../../features/chosen-runs';
import type { Client } from '../client';
import type { MeasuredRuns } from '../measured-runs';
import type { EditorHost } from '../open-files';
import type { OpenTexts } from '../open-texts';
import type { Runner } from '../runner';
import type { Engine, LocalMachine } from '../runtime';
import type { Session } from '../session';
import type { SettingsCache } from '../settings';
import type { TextView } from '../text-view';

/** An editor that is connected, and what answers it: what every handler works with. */
export interface Connected {
  readonly connection: Connection;
  readonly documents: OpenTexts;
  readonly host: EditorHost;
  readonly settings: SettingsCache;
  readonly runner: Runner;
  readonly session: Session;
  readonly chosenRuns: ChosenRuns;
  /** Loaded when it is first asked for. */
  engine(): Promise<Engine>;
  /** Loaded when it is first asked for; undefined where there is no disk to read them from. */
  measuredRuns(): Promise<MeasuredRuns> | undefined;
  readonly machine: LocalMachine | undefined;
  /** What the editor can do; known from `initialize` on. */
  client: Client;
  /** Another extension completes YAML documents from our schemas. */
  schemasServed: boolean;
}

/** Answers about the text as it was when asked. */
export function about<T>(
  { documents, runner }: Connected,
  name: string,
  fallback: T,
  { textDocument }: { readonly textDocument: { readonly uri: string } },
  token: CancellationToken,
  task: (uri: string, view: TextView) => Promise<T>,
) {
  const view = documents.view(textDocument.uri);
  const uri = view?.uri ?? textDocument.uri;
  const version = documents.get(uri)?.version;
  const isOutdated = () => documents.get(uri)?.version !== version;
  return runner.request(
    name,
    fallback,
    token,
    async () => (view ? task(view.uri, view) : fallback),
    isOutdated,
  );
}
