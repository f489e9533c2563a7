import type { ExtensionContext } from 'vscode';
import type { Platform } from './activation';
import { agentServers } from './agent-server';
import { nodeServer } from './node-server';
import { openSample } from './sample-workspace';

/** The extension on a desktop, and beside a remote. */
export function desktop(context: ExtensionContext): Platform {
  context.subscriptions.push(agentServers(context));
  return { connect: nodeServer(context.extensionUri), readsRecords: true, openSample };
}
