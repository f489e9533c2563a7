import type { Emulating, PyProgram } from '../../config/python/value';
import { isAtLeast } from '../../terms/version';
import type { ReadContext } from '../dialect';
import { importsUnsloth } from './file-releases';

/** PyTorch counts a GPU since then as one with bf16 where it makes a tensor of it, which is every GPU (`torch/cuda/__init__.py`, `is_bf16_supported`). */
const COUNTS_EMULATION = '2.3';
/** transformers asks PyTorch since then; before it asks for the compute capability (`utils/import_utils.py`, `is_torch_bf16_gpu_available`). */
const ASKS_PYTORCH = '4.35';

/** Libraries whose answer is that the GPU computes in bf16, whatever GPU it is. Unsloth puts its own in their place (`unsloth/_gpu_init.py`). */
export function emulatingLibraries(program: PyProgram, known: ReadContext['known']): ReadonlySet<Emulating> {
  if (importsUnsloth(program) || isAtLeast(known['version.torch'], COUNTS_EMULATION) === false)
    return new Set();
  const isOld = isAtLeast(known['version.transformers'], ASKS_PYTORCH) === false;
  return new Set(isOld ? ['torch'] : ['torch', 'transformers']);
}
