import type { ConfigDocument } from '../../config/node';
import type { Requirement } from '../../environment/requirement';
import { findAccelerator, matchAccelerator } from '../../hardware/catalog';
import { say } from '../../wording/say';
import type { Draft } from '../draft';

type Job = NonNullable<ConfigDocument['job']>;

/** Instances that are no longer listed among those of today (https://aws.amazon.com/ec2/instance-types/p3/): GPU, and how many. */
const FORMER: Readonly<Record<string, readonly [gpu: string, count: number]>> = {
  'p3.2xlarge': ['V100-SXM2-16GB', 1],
  'p3.8xlarge': ['V100-SXM2-16GB', 4],
  'p3.16xlarge': ['V100-SXM2-16GB', 8],
};

/** The GPUs of an instance by its name (`ml.p4d.24xlarge`). */
export function gpusOfInstance(
  name: string,
): { readonly gpu: string; readonly count: number; readonly instance?: string } | undefined {
  const plain = name.replace(/^ml\./, '');
  const [gpu, count] = FORMER[plain] ?? [];
  if (gpu !== undefined && count !== undefined && findAccelerator(gpu)) return { gpu, count };
  const match = matchAccelerator(plain);
  return match?.instance && match.gpus !== undefined
    ? { gpu: match.accelerator.name, count: match.gpus, instance: match.instance.instance }
    : undefined;
}

/**
 * GPUs of a training job of SageMaker, and what its processes make of them: `torch_distributed` starts one for each GPU, without `distribution`
 * one alone is started on each machine.
 */
export function readJob({ instance, machines, start, startedBy, compiler }: Job, draft: Draft): void {
  const known = instance && gpusOfInstance(instance.text);
  const count = Number(machines?.text ?? 1);
  if (machines) draft.state('hardware.nodes', count, machines, machines.key);
  if (instance && known) {
    const note = say('GPUs of {0}', instance.text);
    draft.state('hardware.gpu', known.gpu, instance, instance.key, note);
    if (known.instance) draft.state('hardware.instance', known.instance, instance, instance.key, note);
    draft.state('hardware.gpus', known.count * count, instance, instance.key, note);
  }
  const all = known ? known.count * count : undefined;
  const leave = (words: string) =>
    draft.leave('value', startedBy, startedBy.key, words, ['parallel.data', 'hardware.gpus']);
  if (compiler)
    draft.leave(
      'refused',
      compiler,
      compiler.key,
      say('The Training Compiler of SageMaker compiles this job: that is not estimated.'),
    );
  if (start === 'model-parallel')
    draft.leave(
      'refused',
      startedBy,
      startedBy.key,
      say('The model parallel library of SageMaker trains here: that is not estimated.'),
    );
  else if (start === 'data-parallel')
    leave(say("What SageMaker's data parallel library takes for its exchange is not counted."));
  else if (start === 'unknown') leave(say('How SageMaker starts the processes of this job is not known.'));
  else if (start === 'one-process' && count > 1)
    leave(say('Each machine of this job trains by itself: nothing joins their processes.'));
  else if (start === 'one-process' && all !== 1)
    leave(
      all === undefined
        ? say('One process is started on each machine: how many GPUs that has is not known.')
        : say(
            'One process drives all {0} GPUs of the machine: what it makes of them is not estimated.',
            String(all),
          ),
    );
}

/** Releases in the container of a job. */
export const jobReleases = ({ job }: ConfigDocument): readonly Requirement[] =>
  (job?.releases ?? []).flatMap(({ name, value: { text, range } }) =>
    /^\d+\.\d+(?:\.\d+)*$/.test(text)
      ? [{ name, specifier: `==${text}`, exact: text, range, image: true as const }]
      : [],
  );
