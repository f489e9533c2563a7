import { textOf } from '../../config/scalar';
import { fileIn, PYTORCH } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
import { forbid } from '../refusal';
import type { FoundKey, Section } from '../section';
import { type AllocatorValue, allocatorSettingsOf } from './allocator-settings';

/** Variables that hold settings of the allocator: the first that is set counts (`AllocatorConfig.h`, torch 2.10 and newer). */
export const NEW_VARIABLE = 'PYTORCH_ALLOC_CONF';
export const OLD_VARIABLES = ['PYTORCH_CUDA_ALLOC_CONF', 'PYTORCH_HIP_ALLOC_CONF'] as const;
export const ALLOCATOR_VARIABLES = [NEW_VARIABLE, ...OLD_VARIABLES] as const;

const CONFIG = fileIn(PYTORCH, 'c10/cuda/CUDAAllocatorConfig.cpp');
/** The first release whose settings were not read. */
const UNREAD_RELEASE = '2.16';

/** States what settings of the allocator come to, and reports those that PyTorch stops on as it first takes memory of the GPU. */
export function readAllocatorSettings({ key, node }: FoundKey, text: string, draft: Draft): void {
  const settings = allocatorSettingsOf(text);
  const { expandableSegments, maxSplit, roundup } = settings;
  if (expandableSegments !== undefined && !draft.knows('allocator.expandableSegments'))
    draft.state('allocator.expandableSegments', expandableSegments, node, key);
  if (maxSplit !== undefined && !draft.knows('allocator.maxSplit'))
    draft.state('allocator.maxSplit', maxSplit, node, key);
  if (roundup !== undefined && !draft.knows('allocator.roundup'))
    draft.state('allocator.roundup', roundup, node, key);
  for (const setting of settings.uncounted) draft.leaveUncounted(node, setting);
  const rule = { code: 'allocator-settings', source: CONFIG } as const;
  draft.rules(() => {
    for (const { setting, takes, mended } of settings.refused)
      forbid(true, node, draft, {
        ...rule,
        message: refusedMessage(setting, takes),
        data: { setting, ...(mended === undefined ? {} : { mended }) },
      });
    for (const { name, setting } of settings.unknown)
      forbid(true, node, draft, {
        ...rule,
        data: { setting },
        message: say("`{0}` is no setting of PyTorch's allocator, which stops on it.", name),
        releases: { until: UNREAD_RELEASE },
      });
  });
}

function refusedMessage(setting: string, takes: AllocatorValue): string {
  switch (takes) {
    case 'flag':
      return say("PyTorch's allocator stops on `{0}`: it takes `True` or `False`.", setting);
    case 'megabytes':
      return say("PyTorch's allocator stops on `{0}`: it takes a whole number from 20.", setting);
    case 'share':
      return say("PyTorch's allocator stops on `{0}`: it takes a number between 0 and 1.", setting);
    case 'power-of-two':
      return say("PyTorch's allocator stops on `{0}`: it takes powers of two.", setting);
  }
}

/**
 * What the environment of a training program states of PyTorch's allocator, of the workspaces in it, and of how weights are read. `outdone`: variables
 * that the program does not heed.
 */
export function readAllocatorEnvironment(
  environment: Section,
  draft: Draft,
  outdone: readonly string[] = [],
): void {
  const found = environment.find(ALLOCATOR_VARIABLES.filter((name) => !outdone.includes(name)));
  const text = textOf(found?.node);
  if (found && text !== undefined) readAllocatorSettings(found, text, draft);
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
