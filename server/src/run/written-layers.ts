import type { RunValues } from './fields';

/**
 * Unsloth writes the layers of the model itself. Of all others it leaves them to transformers: it compiles them whole or in parts, or nothing of
 * them.
 */
export const writesLayers = (run: RunValues): boolean =>
  run['kernels.unsloth'] === true &&
  !run['kernels.compile'] &&
  !run['kernels.compileParts'] &&
  !run['kernels.uncompiled'];
