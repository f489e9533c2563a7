import { commands, type ExtensionContext, window } from 'vscode';
import { ESTIMATE_COMMAND, SUPPLY_COMMAND } from '../../server/src/features/protocol';
import { BreakdownPanel } from './breakdown-panel';
import { estimateMemory } from './estimate-memory';
import { LanguageServer } from './language-server';
import { showStatus } from './status';
import { supplyFacts } from './supply/supply';

let server: LanguageServer | undefined;

export function activate(context: ExtensionContext): void {
  const log = window.createOutputChannel('Oomlint', { log: true });
  server = new LanguageServer(context.extensionUri, log);
  const panel = new BreakdownPanel(context.extensionUri, server, log);
  const running = server;

  // Commands come first: they must answer even where the server cannot start.
  context.subscriptions.push(
    log,
    running,
    panel,
    showStatus(running),
    commands.registerCommand(ESTIMATE_COMMAND, (target?: unknown) => estimateMemory(panel, target)),
    commands.registerCommand(SUPPLY_COMMAND, (target?: unknown) => supplyFacts(running, target)),
    commands.registerCommand('oomlint.chooseGpu', (target?: unknown) =>
      supplyFacts(running, target, ['hardware.gpu']),
    ),
    commands.registerCommand('oomlint.restart', () => running.restart()),
    commands.registerCommand('oomlint.showOutput', () => log.show()),
  );
  // Not awaited: commands wait for the activation, and must not wait for a server that hangs.
  void running.start();
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
