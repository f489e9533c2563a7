import type { ExtensionContext } from 'vscode';
import { activateOn, deactivate } from './activation';
import { openSampleText } from './sample-text';
import { workerServer } from './worker-server';

/** The extension in a browser that has no machine behind it. */
function activateInBrowser(context: ExtensionContext): void {
  const { extensionUri } = context;
  activateOn(context, {
    connect: workerServer(extensionUri),
    readsRecords: false,
    openSample: openSampleText,
  });
}

export { activateInBrowser as activate, deactivate };
