import { fileURLToPath, pathToFileURL } from 'node:url';
import type { ListedFiles } from '../workspace/listed-file';
import type { LocalMachine } from './runtime';

let listed: ListedFiles | undefined;

/** The machine that Node runs on. Each part is loaded when it is first asked for. */
export const NODE_MACHINE: LocalMachine = {
  detectGpus: async () => (await import('../hardware/detect')).detectGpus(),
  configsBelow: async (folder) => {
    const { findConfigs } = await import('../workspace/config-files');
    const files = await findConfigs(fileURLToPath(folder), () => undefined);
    return files.map((file) => pathToFileURL(file).href);
  },
  look: async (uri) => {
    listed ??= new (await import('../workspace/listed-file')).ListedFiles();
    return listed.look(uri);
  },
  measuredRuns: async () => new (await import('./measured-runs')).MeasuredRuns(),
};
