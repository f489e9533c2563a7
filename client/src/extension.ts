import type { ExtensionContext } from 'vscode';
import { activateOn } from './activation';
import { agentServers } from './agent-server';
import { nodeServer } from './node-server';
import { openSample } from './sample-workspace';

export { deactivate } from './activation';

/** The extension on a desktop, and beside a remote. */
export function activate(context: ExtensionContext): void {
  activateOn(context, { connect: nodeServer(context.extensionUri), readsRecords: true, openSample });
  context.subscriptions.push(agentServers(context));
}
