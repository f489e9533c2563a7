import type { FieldValue } from '../run/fields';

/** What of the trained model waits in host memory while others have the GPU. */
export function whatWaits(weights: boolean, states: boolean): FieldValue<'rollout.offload'> {
  if (weights) return states ? 'all' : 'weights';
  return states ? 'states' : 'none';
}
