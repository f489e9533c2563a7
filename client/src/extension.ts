import type { ExtensionContext } from 'vscode';
import { activateOn } from './activation';

export { deactivate } from './activation';

/** The worker that extensions run in within a browser has no Node around it. */
const onNode = typeof process !== 'undefined' && typeof process.versions?.node === 'string';

/**
 * One file for all editors, most of which is the client of the language server: what a desktop or a browser alone takes is
 * initialized only there, since a browser has nothing of Node and a desktop no worker.
 */
export async function activate(context: ExtensionContext): Promise<void> {
  activateOn(
    context,
    onNode
      ? (await import('./on-desktop')).desktop(context)
      : (await import('./in-browser')).browser(context),
  );
}
