import { commands, Disposable, type ExtensionContext, type Uri, window, workspace } from 'vscode';
import {
  CHOOSE_RUN_COMMAND,
  ESTIMATE_COMMAND,
  SUPPLY_COMMAND,
  WHAT_FITS_COMMAND,
  WRITE_RUN_COMMAND,
  type WriteRunArguments,
} from '../../server/src/shared/protocol';
import { BreakdownPanels } from './breakdown-panels';
import { chooseRun, RememberedRuns } from './chosen-runs';
import { showsCostInDiffs } from './compare/diff-costs';
import { COMPARE_WITH_HEAD_COMMAND, showsCostAgainstHead } from './compare/head-lens';
import { isReasonToStart, targetUri } from './config-documents';
import { showsConfigs } from './configs-view';
import { estimateMemory } from './estimate-memory';
import { explainsOutOfMemory } from './explain-oom';
import { speaksOfFields } from './field-texts';
import { showsVerdictAtHints } from './hint-marks';
import { languageModelTools } from './language-model-tools';
import { type Connect, LanguageServer } from './language-server';
import { measuresRuns } from './measured-run';
import { showsVerdictInCells } from './notebook-verdict';
import { panelCommands } from './panel/panel-commands';
import { SeenConfigs } from './seen-configs';
import { showFixes } from './show-fixes';
import { showStatus } from './status';
import { Choices } from './supply/choices';
import { supplyFacts } from './supply/supply';
import { teachFlags } from './teach-flags';
import { openWalkthrough, tickedSteps } from './walkthrough-steps';
import { whatFits } from './what-fits';
import { writeRun } from './write-run';
import { contributeSchemas } from './yaml-schemas';

/** What a desktop and a browser do each in its own way. */
export interface Platform {
  /** A client of a language server that is about to start. */
  readonly connect: Connect;
  /** False where there is no disk that holds what runs left behind. */
  readonly readsRecords: boolean;
  openSample(extension: Uri): Promise<void>;
}

let server: LanguageServer | undefined;

/** All that the extension does, on any platform. */
export function activateOn(context: ExtensionContext, platform: Platform): void {
  const log = window.createOutputChannel('Oomlint', { log: true });
  const chosenRuns = new RememberedRuns(context.workspaceState);
  server = new LanguageServer(platform.connect, log, () => chosenRuns.all());
  const running = server;
  context.subscriptions.push(speaksOfFields(running, log));
  const panel = new BreakdownPanels(context.extensionUri, server, log);
  const seen = new SeenConfigs(running);
  /** What a command is about: its argument, the active editor's file, or the config that was looked at last where no text is active. */
  const about = (target: unknown) =>
    targetUri(target) ?? (window.activeTextEditor === undefined ? seen.last : undefined);
  const supplier = { server: running, choices: new Choices(running, context.globalState) };

  // Commands come first: they must answer even where the server cannot start.
  context.subscriptions.push(
    log,
    running,
    seen,
    tickedSteps(),
    panel,
    panelCommands(panel),
    showStatus(running, panel),
    showsVerdictInCells(running),
    showsVerdictAtHints(running),
    showsConfigs(running),
    showsCostAgainstHead(running),
    showsCostInDiffs(running),
    contributeSchemas(running, log),
    explainsOutOfMemory(running),
    ...(platform.readsRecords ? [measuresRuns(running)] : []),
    languageModelTools(context, running),
    commands.registerCommand(CHOOSE_RUN_COMMAND, (target?: unknown) =>
      chooseRun(running, chosenRuns, about(target)),
    ),
    // In the Explorer's menu it has a name of its own, and so an identifier.
    ...[ESTIMATE_COMMAND, 'oomlint.estimateFile'].map((command) =>
      commands.registerCommand(command, (target?: unknown) =>
        estimateMemory(panel, target, about(target), running),
      ),
    ),
    commands.registerCommand('oomlint.showFixes', (target?: unknown) => showFixes(about(target))),
    commands.registerCommand(COMPARE_WITH_HEAD_COMMAND, (target?: unknown) => {
      const uri = targetUri(target);
      if (uri) panel.show(uri, { with: 'git' });
    }),
    commands.registerCommand('oomlint.compareWithVersion', (target?: unknown) => {
      const uri = targetUri(target);
      if (uri) panel.show(uri, { with: 'commit' });
    }),
    commands.registerCommand('oomlint.compareWithReleases', (target?: unknown) => {
      const uri = targetUri(target);
      if (uri) panel.show(uri, { with: 'releases' });
    }),
    commands.registerCommand(SUPPLY_COMMAND, (target?: unknown) => supplyFacts(supplier, target)),
    commands.registerCommand(WHAT_FITS_COMMAND, (target?: unknown) => whatFits(running, about(target))),
    commands.registerCommand(WRITE_RUN_COMMAND, (change: WriteRunArguments) => writeRun(running, change)),
    commands.registerCommand('oomlint.chooseGpu', (target?: unknown) =>
      supplyFacts(supplier, target, ['hardware.gpu']),
    ),
    commands.registerCommand('oomlint.chooseModel', (target?: unknown) =>
      supplyFacts(supplier, target, ['model.id']),
    ),
    commands.registerCommand('oomlint.openSample', () => platform.openSample(context.extensionUri)),
    commands.registerCommand('oomlint.teachFlags', teachFlags),
    commands.registerCommand('oomlint.getStarted', () => openWalkthrough(context.extension.id)),
    commands.registerCommand('oomlint.restart', () => running.restart()),
    commands.registerCommand('oomlint.showOutput', () => log.show()),
  );
  context.subscriptions.push(startWhenNeeded(running));
}

/** Starts the server at once, but for an editor that shows nothing than Python that trains nothing. */
function startWhenNeeded(running: LanguageServer): Disposable {
  // Not awaited: commands wait for the activation, and must not wait for a server that hangs.
  const shown = workspace.textDocuments;
  const quiet = shown.some(({ languageId }) => languageId === 'python') && !shown.some(isReasonToStart);
  if (!quiet) {
    void running.start();
    return new Disposable(() => undefined);
  }
  running.postpone();
  const waiting = Disposable.from(
    workspace.onDidOpenTextDocument((document) => isReasonToStart(document) && start()),
    workspace.onDidSaveTextDocument((document) => isReasonToStart(document) && start()),
    workspace.onDidSaveNotebookDocument(
      (notebook) => notebook.getCells().some(({ document }) => isReasonToStart(document)) && start(),
    ),
  );
  const start = () => {
    waiting.dispose();
    void running.start();
  };
  return waiting;
}

/** Ends the server. */
export async function deactivate(): Promise<void> {
  await server?.stop();
}
