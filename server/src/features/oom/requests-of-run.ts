import type { Estimated } from '../../advice/changed-run';
import { namedRequests, type RequestsOfRun } from '../../explanation/named-requests';

/** Every message and every snapshot of a run is held to the same requests. */
const known = new WeakMap<Estimated, RequestsOfRun>();

/** What a run asks the allocator for, by name; undefined where it is not known well enough to be walked. */
export function requestsOf(analysis: Estimated): RequestsOfRun | undefined {
  const { resolved, model, accelerator } = analysis;
  if (!resolved.run) return undefined;
  const requests = known.get(analysis) ?? namedRequests({ run: resolved.run, model, accelerator });
  known.set(analysis, requests);
  return requests;
}
