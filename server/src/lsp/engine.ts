import { planValues } from '../advice/apply-plan';
import { fixesFor } from '../advice/fixes';
import type { Desk } from '../agents/desk';
import type { ToolAnswer, ToolParams } from '../features/agent-protocol';
import { batchLens, promptBatchLens } from '../features/batch-lens';
import { openedOf } from '../features/breakdown';
import { compareRuns } from '../features/compare';
import { completions } from '../features/completion/completion';
import { noTriedValues, type TriedValues, withOutcomes } from '../features/completion/outcome';
import { editorSchema } from '../features/editor-schema';
import { decisionsSection } from '../features/hover-decisions';
import { whatIfTexts } from '../features/hover-what-if';
import { explainOom } from '../features/oom/explained';
import { projectCompletions, projectHover, projectLens } from '../features/project-file-help';
import { editorBreakdown, openTried, tryKnobs } from '../features/try';
import type { DetectedGpus } from '../hardware/detect';
import { canonicalUri, fileName } from '../text/uri';
import { type Analysis, isPart } from '../workspace/analysis';
import { Workspace, type WorkspaceOptions } from '../workspace/analyze';
import { PROJECT_FILE_NAMES } from '../workspace/project-file-names';
import { editorDesk } from './agent-desk';
import * as drawing from './drawing';
import type { EditorHost } from './open-files';
import type { Engine, LocalMachine, Preferences } from './runtime';
import { underNewestReleases } from './upgraded';
import { WorkspaceConfigs } from './workspace-configs';

const isProjectFile = (uri: string) => PROJECT_FILE_NAMES.includes(fileName(uri));

/** The engine behind the server, loaded when the first document asks for it. */
export function createEngine(
  host: EditorHost,
  preferences: Preferences,
  machine: LocalMachine | undefined,
): Engine {
  let detected: Promise<DetectedGpus | undefined> | undefined;
  const options: WorkspaceOptions = {
    settings: (uri) => preferences.values(uri),
    chosenRun: (uri) => preferences.chosenRun(uri),
    isOpen: (uri) => preferences.isOpen(uri),
    detect: async (uri) => {
      if (!(await preferences.mayDetect(uri))) {
        return undefined;
      }
      // The driver is asked once: the cards of a machine do not change under a running editor.
      detected ??= machine?.detectGpus();
      return detected;
    },
  };
  const workspace = new Workspace(host, options);
  const triedValues = noTriedValues();
  const configs = new WorkspaceConfigs(workspace, host, machine);
  return {
    drawing,
    isCandidate: (uri, text) => workspace.isCandidate(uri, text),
    teaches: (uri) => Workspace.teaches(uri),
    analyze: (uri) => workspace.analyze(uri),
    checkProjectFile: (uri) => workspace.checkProjectFile(uri),
    ...following(workspace, configs, triedValues),
    dependents: (uri) => workspace.dependents(uri),
    source: (uri) => workspace.source(uri),
    project: (analysis) => workspace.project(analysis),
    preview: (uri, texts) => workspace.preview(uri, texts),
    get folders() {
      return workspace.folders;
    },
    exists: (uri) => workspace.exists(uri),
    completions: async (uri, text, position, schemasServed) => {
      // The schema of a project file states all that there is to say.
      if (isProjectFile(uri)) return schemasServed ? [] : projectCompletions(uri, text, position);
      const config = await workspace.readText(uri, text);
      if (!config || config.off) return [];
      const { document, dialect, reading } = config;
      const files = (typed: string) => workspace.filesFrom(uri, typed);
      const found = await completions({ text, position, document, dialect, reading, schemasServed, files });
      const changed = (to: string) => workspace.preview(uri, new Map([[uri, to]]));
      return withOutcomes(found, text, changed, triedValues);
    },
    schema: editorSchema,
    projectHover: async (uri, text, position) => {
      if (!isProjectFile(uri)) return undefined;
      const users = await usersOf(uri, workspace);
      const open = users.filter((user) => preferences.isOpen(user.uri));
      return projectHover(uri, text, position, open);
    },
    projectLens: async (uri) => {
      const users = await usersOf(uri, workspace);
      return projectLens(users.filter((user) => !isPart(user)));
    },
    whatIf: whatIfTexts,
    decisions: decisionsSection,
    batchLens: (analysis) => batchLens(analysis),
    promptBatchLens,
    breakdown: editorBreakdown,
    opened: (analysis, sample, version, turned, values) =>
      turned || values
        ? openTried(analysis, sample, version, turned ?? {}, values)
        : openedOf(analysis, sample, version),
    tried: tryKnobs,
    planned: (analysis, values) => planValues(analysis, values, workspace),
    fixes: (analysis) => fixesFor(analysis, workspace),
    analyzeAs: (uri, text) => workspace.preview(uri, new Map([[uri, text]])),
    analyzeUpgraded: underNewestReleases(host, options),
    compared: compareRuns,
    configs: (isCancelled, again) => configs.look(isCancelled, again),
    explainedOom: (params) => explainOom(params, workspace),
    tools: (write) => toolsOn(editorDesk(host, workspace, { options, machine, write })),
  };
}

/** Whatever is remembered of files hears of their changes. */
function following(
  workspace: Workspace,
  configs: WorkspaceConfigs,
  triedValues: TriedValues,
): Pick<Engine, 'invalidate' | 'edited' | 'invalidateAll'> {
  return {
    invalidate: (uri) => {
      workspace.invalidate(uri);
      triedValues.around = '';
      configs.changed(uri);
    },
    edited: (uri) => {
      workspace.edited(uri);
      configs.changed(uri);
    },
    invalidateAll: () => {
      workspace.invalidateAll();
      triedValues.around = '';
      configs.reset();
    },
  };
}

/** The analyses that a project file took part in; others only looked whether there is one. */
async function usersOf(project: string, workspace: Workspace): Promise<Analysis[]> {
  const key = canonicalUri(project);
  const found = await Promise.all(workspace.dependents(project).map((uri) => workspace.analyze(uri)));
  return found.filter((one) => one?.files.some((file) => canonicalUri(file) === key)) as Analysis[];
}

/** Tools of agents on what the editor shows; read when the first one is called. */
function toolsOn(desk: Desk): (params: ToolParams) => Promise<ToolAnswer> {
  return async ({ name, input, describe }) => {
    const { callTool, describedChange } = await import('../agents/tools');
    return describe ? describedChange(input, desk) : callTool(name, input, desk);
  };
}
