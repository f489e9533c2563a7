import type { CancellationToken } from 'vscode-languageserver';
import {
  APPLY_REQUEST,
  type Applied,
  type ApplyParams,
  FIXES_REQUEST,
  type FixCards,
  type FixesParams,
  PLAN_REQUEST,
  type Planned,
  type PlanParams,
} from '../../features/advice-protocol';
import {
  BREAKDOWN_REQUEST,
  type Breakdown,
  type BreakdownParams,
  COMPARE_REQUEST,
  type CompareParams,
  type Comparison,
  DETAIL_REQUEST,
  type DetailParams,
  type Opened,
  TRY_REQUEST,
  type Tried,
  type TryParams,
} from '../../features/protocol';
import { type Found, SEARCH_REQUEST, type SearchParams } from '../../features/search-protocol';
import type { Analysis } from '../../workspace/analysis';
import type { Engine } from '../runtime';
import type { Connected } from './connected';

/** A file that is asked about: its analysis, and the version of its text where an editor shows it. */
interface Asked {
  readonly analysis: Analysis;
  readonly version: number | undefined;
  readonly engine: Engine;
  readonly token: CancellationToken;
}

/** Answers requests about one file, open or not; null where it is no training config. */
function answering({ connection, documents, runner, session, engine }: Connected) {
  return <P extends { readonly uri: string }, A>(
    method: string,
    name: string,
    task: (asked: Asked, params: P) => A | null | Promise<A | null>,
  ): void => {
    connection.onRequest<unknown, void>(method, (params: P, token: CancellationToken) =>
      runner.request<A | null>(name, null, token, async () => {
        const version = documents.get(params.uri)?.version;
        const analysis = await session.analysisOfFile(params.uri);
        return analysis ? task({ analysis, version, engine: await engine(), token }, params) : null;
      }),
    );
  };
}

/** What the breakdown panel and the commands of the editor's side ask. */
export function onPanel(server: Connected): void {
  const { connection, host, session } = server;
  const answer = answering(server);
  answer<BreakdownParams, Breakdown>(
    BREAKDOWN_REQUEST,
    'Breakdown',
    async ({ analysis, version, engine }) => {
      const measured = await (await server.measuredRuns())?.beside(analysis);
      return {
        ...placedKeys(engine.breakdown(analysis, version), server),
        ...(measured ? { measured } : {}),
      };
    },
  );
  answer<DetailParams, Opened>(DETAIL_REQUEST, 'Detail', ({ analysis, version, engine }, params) =>
    engine.opened(analysis, params.sample, version, params.turned, params.values),
  );
  answer<TryParams, Tried>(TRY_REQUEST, 'Trying', ({ analysis, version, engine }, { turned, values }) =>
    engine.tried(analysis, turned, version, values),
  );
  answer<PlanParams, Planned>(PLAN_REQUEST, 'Planning', async ({ analysis, engine }, { values }) => {
    const { plannedOf } = await import('../../features/advice-cards');
    return plannedOf(await engine.planned(analysis, values), values, host.opened);
  });
  answer<FixesParams, FixCards>(FIXES_REQUEST, 'Fixes', async ({ analysis, version, engine }) => {
    const { fixCard } = await import('../../features/advice-cards');
    const fixes = await engine.fixes(analysis);
    return { version, fixes: fixes.map((fix) => fixCard(fix, host.opened)) };
  });
  answer<ApplyParams, Applied>(
    APPLY_REQUEST,
    'Applying',
    async ({ analysis, version = null, engine }, { uri, values, fix: id }) => {
      const [{ toWorkspaceEdit }, { editInCells }, { fileEdits }] = await Promise.all([
        import('../convert-actions'),
        import('../in-cells'),
        import('../../features/file-edits'),
      ]);
      const fix =
        id === undefined ? undefined : (await engine.fixes(analysis)).find(({ title }) => title === id);
      const plan = fix ? { ...fix, note: undefined, left: [] } : await engine.planned(analysis, values);
      const edits = fileEdits([...plan.files, ...(plan.note ? [plan.note] : [])]);
      const made = edits.length > 0 ? toWorkspaceEdit(edits, server.client, { uri, version }) : undefined;
      const edit = made && editInCells(made, server.documents.notebooks);
      return { edit, byHand: plan.byHand, left: plan.left };
    },
  );
  answer<SearchParams, Found>(SEARCH_REQUEST, 'Search', async ({ analysis, engine, token }, params) => {
    const { searchRuns } = await import('../search');
    return searchRuns(analysis, params, engine, connection, token);
  });
  answer<CompareParams, Comparison>(
    COMPARE_REQUEST,
    'Comparing',
    async ({ analysis, engine }, { uri, other }) => {
      if ('releases' in other) {
        const after = await engine.analyzeUpgraded(uri);
        return after ? engine.compared(analysis, after) : null;
      }
      const before =
        'uri' in other ? await session.analysisOfFile(other.uri) : await engine.analyzeAs(uri, other.text);
      return before ? engine.compared(before, analysis) : null;
    },
  );
}

/** Keys of an open notebook stand where its cells show them. */
function placedKeys(breakdown: Breakdown, { documents: { notebooks } }: Connected): Breakdown {
  const { keys } = breakdown;
  if (!keys?.some(({ uri }) => notebooks.get(uri))) return breakdown;
  return {
    ...breakdown,
    keys: keys.map((key) => {
      const place = notebooks.place(key.uri, key.range);
      return place ? { ...key, uri: place.uri, range: place.range } : key;
    }),
  };
}
