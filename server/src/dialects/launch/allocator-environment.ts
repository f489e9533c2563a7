import { textOf } from '../../config/scalar';
import type { Section } from '../section';

/**
 * Whether a text of settings makes segments grow; undefined where it leaves that to PyTorch. Of the same setting twice the last counts, blanks do
 * not, and CUDA's own pool has no segments (`c10/core/AllocatorConfig.cpp`, `parseArgs`).
 */
export function expandableSegmentsOf(settings: string): boolean | undefined {
  const bare = settings.replace(/\s/g, '');
  const lastOf = (setting: RegExp) => [...bare.matchAll(setting)].at(-1)?.[1]?.toLowerCase();
  if (lastOf(/(?:^|,)backend:(\w+)/g) === 'cudamallocasync') return false;
  const value = lastOf(/(?:^|,)expandable_segments:(true|false)/gi);
  return value === undefined ? undefined : value === 'true';
}

/** What the environment of a training program states of PyTorch's allocator, of the workspaces in it, and of how weights are read. */
export function readAllocatorEnvironment(environment: Section): void {
  environment.stateMeaning(
    'allocator.expandableSegments',
    ['PYTORCH_CUDA_ALLOC_CONF', 'PYTORCH_ALLOC_CONF'],
    ({ node }) => expandableSegmentsOf(textOf(node) ?? ''),
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
