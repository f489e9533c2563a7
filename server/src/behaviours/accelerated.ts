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

/**
 * Whether a framework's checkpoints lie around layers alone of which something is trained, in the place of those of transformers
 * (`model_utils/checkpointing.py` of LLaMA-Factory 0.9.5, `get_custom_gradient_checkpointing_func`).
 */
export const checkpointsTrainedAlone = (framework: string | undefined) => framework === 'llama-factory';

/** Whether a framework makes embedded tokens require a gradient itself wherever it checkpoints (`trainers/mixin.py` of ms-swift 4.6). */
export const opensInputs = (framework: string | undefined) => framework === 'ms-swift';
