import { fileURLToPath, pathToFileURL } from 'node:url';
import type { LocalMachine } from './runtime';

/** The machine that Node runs on. Each part is loaded when it is first asked for. */
export const NODE_MACHINE: LocalMachine = {
  detectGpus: async () => (await import('../hardware/detect')).detectGpus(),
  configsBelow: async (folder) => {
    const { findConfigs } = await import('../workspace/config-files');
    const files = await findConfigs(fileURLToPath(folder), () => undefined);
    return files.map((file) => pathToFileURL(file).href);
  },
  measuredRuns: async () => new (await import('./measured-runs')).MeasuredRuns(),
};
