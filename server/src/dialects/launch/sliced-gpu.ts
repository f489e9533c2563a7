import { sliceCalled } from '../../hardware/gpu-slices';
import type { Range } from '../../text/place';
import { say } from '../../wording/say';
import type { Draft } from '../draft';

/**
 * Slices of a GPU (MIG) that a job asks for: the memory of one, and no GPU by its name, whose speed no slice has. CUDA shows a process one of them
 * (https://docs.nvidia.com/datacenter/tesla/mig-user-guide/deployment-considerations.html).
 */
export function stateSlice(
  name: string,
  count: number,
  place: { readonly range: Range },
  key: string,
  draft: Draft,
): void {
  // What pods take turns on has the memory of none of them (`mig-1g.10gb.shared`).
  const slice = /\bshared$/i.test(name) ? undefined : sliceCalled(name);
  if (!slice || count > 1)
    draft.leave(
      'value',
      place,
      name,
      slice
        ? say('{0} slices of a GPU (`{1}`) are asked for, of which a process sees one.', count, slice.profile)
        : say('How much memory the slice `{0}` of a GPU has is not known.', name),
      ['hardware.gpus', 'hardware.gpuMemory'],
    );
  if (slice)
    draft.state(
      'hardware.gpuMemory',
      slice.bytes,
      place,
      key,
      say('least memory of a slice `{0}`, as `nvidia-smi mig -lgip` lists it', slice.profile),
    );
}
