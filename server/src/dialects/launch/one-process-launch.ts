import type { MachinesAsked } from '../../config/job-manifest';
import type { Fact } from '../../run/origin';
import { isWithin, type Range } from '../../text/place';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
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
 * One process that sees several GPUs: the Trainer makes replicas in it, whose outputs the first GPU gathers (`torch.nn.DataParallel`; of quantized
 * models it makes none, and gives the first GPU the samples of all: transformers 5.24, `trainer.py`, `_wrap_model`), a loop keeps to one of them,
 * Lightning starts the other processes.
 */
export function leaveOneProcess(
  launch: Launch,
  draft: Draft,
  asked: MachinesAsked | undefined,
  known: ReadContext['known'],
): void {
  if (!startsOneProcess(launch)) return;
  const counts = draft.facts.filter(({ field }) => field === 'hardware.gpus');
  const visible = counts.find((fact) => isOfVisible(fact, asked));
  const { location, key = '' } = visible?.origin ?? {};
  const [node] = launch.programNodes;
  if (location && counts[0] === visible) leaveReplicas(draft, location, key, Number(visible?.value));
  // However the machine is known to have them, the Trainer takes all that the process sees.
  else if (node && counts.every(({ origin }) => origin.kind === 'inferred'))
    leaveTrainer(draft, node, launch.script ?? '', known);
}

/** The Trainer in one process that sees several GPUs, unless the model is spread over them or shared out otherwise. */
export function leaveTrainer(
  draft: Draft,
  at: { readonly range: Range },
  key: string,
  known: ReadContext['known'],
): void {
  if (!/^(?:transformers|trl)$/.test(String(known.framework)) || known['kernels.unsloth'] === true) return;
  if ((draft.valueOf('parallel.data') ?? known['parallel.data'] ?? 'ddp') !== 'ddp') return;
  leaveReplicas(draft, at, key, Number(known['hardware.gpus']));
}

function leaveReplicas(draft: Draft, at: { readonly range: Range }, key: string, gpus: number): void {
  if (!(gpus >= 2)) return;
  const message = say(
    'One process drives all {0} GPUs of the machine: what it makes of them is not estimated.',
    String(gpus),
  );
  draft.leave('value', at, key, message, ['parallel.data', 'hardware.gpus']);
}
