import type { ExtensionContext } from 'vscode';
import type { Platform } from './activation';
import { openSampleText } from './sample-text';
import { workerServer } from './worker-server';

/** The extension in a browser that has no machine behind it. */
export function browser({ extensionUri }: ExtensionContext): Platform {
  return { connect: workerServer(extensionUri), readsRecords: false, openSample: openSampleText };
}
