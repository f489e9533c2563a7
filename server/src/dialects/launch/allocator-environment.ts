import { textOf } from '../../config/scalar';
import type { Section } from '../section';

/** What the environment of a training program states of PyTorch's allocator, of the workspaces in it, and of how weights are read. */
export function readAllocatorEnvironment(environment: Section): void {
  environment.stateMeaning(
    'allocator.expandableSegments',
    ['PYTORCH_CUDA_ALLOC_CONF', 'PYTORCH_ALLOC_CONF'],
    ({ node }) => {
      const setting = /expandable_segments\s*:\s*(true|false)/i.exec(textOf(node) ?? '');
      return setting ? setting[1]?.toLowerCase() === 'true' : undefined;
    },
  );
  // `utils/import_utils.py`, `is_env_variable_true`.
  environment.stateMeaning('loading.readsAhead', 'HF_DEACTIVATE_ASYNC_LOAD', ({ node }) =>
    /^(?:1|true|y|yes|on)$/i.test(textOf(node) ?? '') ? false : undefined,
  );
  // `:4096:2:16:8`: sizes in KiB and how many of each (`CublasHandlePool.cpp`, `parseChosenWorkspaceSize`).
  environment.stateMeaning('allocator.cublasWorkspace', 'CUBLAS_WORKSPACE_CONFIG', ({ node }) => {
    const pairs = [...(textOf(node) ?? '').matchAll(/:(\d+):(\d+)/g)];
    if (pairs.length === 0) return undefined;
    return pairs.reduce((bytes, [, size, count]) => bytes + Number(size) * 1024 * Number(count), 0);
  });
}
