/** Frameworks whose trainers hand their models to Accelerate (`Accelerator.prepare`), by what `framework` states. */
const ACCELERATED: ReadonlySet<string> = new Set([
  'accelerate',
  'transformers',
  'trl',
  'trlx',
  'axolotl',
  'llama-factory',
  'ms-swift',
]);

/** Whether Accelerate prepares the models of a framework. */
export const isAccelerated = (framework: string | undefined) =>
  framework !== undefined && ACCELERATED.has(framework);
