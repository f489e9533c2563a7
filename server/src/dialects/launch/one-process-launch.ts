import type { MachinesAsked } from '../../config/job-manifest';
import type { Fact } from '../../run/origin';
import { isWithin } from '../../text/place';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
import type { Launch } from './launch';
import { startsOneProcess } from './launch-hardware';

/** Whether a number of GPUs is of those that a process sees, and not of processes that are started. */
export const isOfVisible = ({ origin }: Fact, asked: MachinesAsked | undefined): boolean => {
  const at = (asked?.gpus ?? asked?.instance)?.range;
  const range = origin.location?.range;
  return (
    origin.key?.endsWith('environment.CUDA_VISIBLE_DEVICES') === true ||
    (at !== undefined && range !== undefined && isWithin(at, range) && isWithin(range, at))
  );
};

/**
 * One process that sees several GPUs: the Trainer makes replicas in it, whose outputs the first GPU gathers (`torch.nn.DataParallel`), a loop keeps
 * to one of them, Lightning starts the other processes.
 */
export function leaveOneProcess(launch: Launch, draft: Draft, asked: MachinesAsked | undefined): void {
  const counts = draft.facts.filter(({ field }) => field === 'hardware.gpus');
  const visible = counts.find((fact) => isOfVisible(fact, asked));
  const all = Number(visible?.value);
  if (!startsOneProcess(launch) || !visible || counts[0] !== visible || all < 2) return;
  const { location, key = '' } = visible.origin;
  if (!location) return;
  draft.leave(
    'value',
    { range: location.range },
    key,
    say(
      'One process drives all {0} GPUs of the machine: what it makes of them is not estimated.',
      String(all),
    ),
    ['parallel.data', 'hardware.gpus'],
  );
}
