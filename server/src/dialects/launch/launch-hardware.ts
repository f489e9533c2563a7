import type { MachinesAsked } from '../../config/job-manifest';
import { integerOf, textOf } from '../../config/scalar';
import {
  ACCELERATE,
  AXOLOTL,
  COMPOSER,
  DEEPSPEED,
  fileIn,
  LLAMA_FACTORY,
  MS_SWIFT,
  PYTORCH,
  TORCHTUNE,
  XTUNER,
} from '../../sources/repositories';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
import { type FoundKey, Section } from '../section';
import { askedCount, askedGpus } from './asked-machines';
import type { Launch } from './launch';
import { type Launcher, launcherOf } from './launcher';
import { slurmGpus } from './slurm-gpus';
import { openMessage } from './unread-words';

/** GPUs of one machine, or machines, with the place that states it. */
interface Count {
  readonly value: number;
  readonly found: FoundKey;
}

const SOURCES: Readonly<Record<Launcher, string>> = {
  torchrun: fileIn(PYTORCH, 'torch/distributed/run.py'),
  tune: fileIn(TORCHTUNE, 'torchtune/_cli/run.py'),
  accelerate: fileIn(ACCELERATE, 'src/accelerate/commands/launch.py'),
  deepspeed: fileIn(DEEPSPEED, 'deepspeed/launcher/runner.py'),
  swift: fileIn(MS_SWIFT, 'swift/cli/main.py'),
  'llama-factory': fileIn(LLAMA_FACTORY, 'src/llamafactory/launcher.py'),
  axolotl: fileIn(AXOLOTL, 'src/axolotl/cli/utils/train.py'),
  composer: fileIn(COMPOSER, 'composer/cli/launcher.py'),
  trl: 'https://huggingface.co/docs/trl/clis',
  xtuner: fileIn(XTUNER, 'xtuner/entry_point.py'),
  python: 'https://docs.pytorch.org/docs/stable/elastic/run.html',
  other: 'https://docs.pytorch.org/docs/stable/elastic/run.html',
};

/** `1:4` is an elastic range: the run may have to do with the fewest, so they count. */
function count(section: Section, spelling: readonly string[]): Count | undefined {
  const found = section.find(spelling);
  if (!found) return undefined;
  const whole = integerOf(found.node) ?? Number(/^(\d+)(?::\d+)?$/.exec(textOf(found.node) ?? '')?.[1]);
  return Number.isInteger(whole) && whole > 0 ? { value: whole, found } : undefined;
}

/** Items of `0,1,2`; undefined for empty and unknown lists. */
function listed(found: FoundKey | undefined): Count | undefined {
  const text = found && (textOf(found.node) ?? String(integerOf(found.node) ?? ''));
  if (!found || text === undefined || !/^\d+(,\d+)*,?$/.test(text)) return undefined;
  return { value: text.replace(/,$/, '').split(',').length, found };
}

/** DeepSpeed's `--include localhost:0,1@worker-1:2,3`: GPUs over all machines. */
function included(section: Section): Count | undefined {
  const found = section.find('include');
  const text = found && textOf(found.node);
  if (!found || !text) return undefined;
  const slots = text.split('@').map((host) => host.split(':')[1]);
  if (slots.some((slot) => slot === undefined || !/^\d+(,\d+)*$/.test(slot))) return undefined;
  const value = slots.reduce((sum, slot) => sum + (slot?.split(',').length ?? 0), 0);
  return { value, found };
}

/** Programs that start as many processes as they were asked for elsewhere. */
const SUBMITTER = /^(?:.*\/)?(?:srun|ray|mpirun|mpiexec)$/;

/** The places of a command that say something about its GPUs. */
interface Places {
  /** Flags of the launcher. */
  readonly own: Section;
  readonly environment: Section;
  /** Flags of `srun` and other submitters before it. */
  readonly wrapper: Section;
  readonly sbatch: Section;
  /** What a manifest asks for, whose commands these are. */
  readonly asked?: MachinesAsked;
  /** What starts the command decides how many processes it is: `srun`, whose own command line is not here, or Ray. */
  readonly submitted: boolean;
  /** One process takes all GPUs that it sees, and spreads the layers over them (ms-swift). */
  readonly spreads: boolean;
}

/**
 * GPUs and machines that a launch uses, as its launcher counts them: `torchrun` and `tune run` by processes per machine,
 * `accelerate` and `axolotl` in all, DeepSpeed by `--num_gpus` or `--include`, ms-swift and LLaMA-Factory by their
 * environment, and what is visible or was asked of Slurm where the launcher takes all that it finds.
 */
export function readLaunchHardware(
  launch: Launch,
  sbatch: Section,
  draft: Draft,
  asked?: MachinesAsked,
): void {
  const block = (name: 'launcher' | 'arguments' | 'environment' | 'wrapper') =>
    new Section(launch[name], draft, `${launch.path}.${name}`);
  const places: Places = {
    own: block(launch.script === undefined ? 'arguments' : 'launcher'),
    environment: block('environment'),
    wrapper: block('wrapper'),
    sbatch,
    ...(asked ? { asked } : {}),
    submitted: launch.submitter.some((word) => SUBMITTER.test(word)),
    spreads: launch.program[0] !== 'megatron',
  };
  const launcher = launcherOf(launch);
  if (READS_ENVIRONMENT.includes(launcher)) noteOpenCounts(places.environment, draft);
  const nodes = machinesOf(launcher, places);
  const machines = nodes?.value ?? 1;
  const open = places.own.find(MACHINES) ?? exportedMachines(launcher, places.environment);
  if (nodes) places.own.state('hardware.nodes', machines, nodes.found);
  else if (open)
    draft.assume(
      'hardware.nodes',
      1,
      say('how many machines there are is not known here: one is taken'),
      SOURCES[launcher],
    );
  else
    draft.assume(
      'hardware.nodes',
      1,
      say('one machine unless the launcher is told otherwise'),
      SOURCES[launcher],
    );
  const state = ({ value, found }: Count, times: number) => {
    const note = times > 1 ? say('on each of {0} machines', times) : undefined;
    places.own.state('hardware.gpus', value * times, found, note);
  };
  const whole = totalOf(launcher, places);
  if (whole) {
    state(whole, 1);
    return;
  }
  const each = perMachine(launcher, places, machines);
  if (each === 'unknown') return;
  // Whoever names a config takes the count from it; what is visible counts where it gives none.
  const visible = each?.found.key.endsWith('CUDA_VISIBLE_DEVICES');
  if (each && visible && launcher === 'accelerate' && places.own.has('config_file'))
    draft.infer(
      'hardware.gpus',
      each.value * machines,
      say('GPUs that are visible, where the config of Accelerate gives no number'),
      each.found.node,
      each.found.key,
    );
  else if (each) state(each, machines);
  else if (launch.programNodes[0])
    draft.infer(
      'hardware.gpus',
      machines,
      say('one process: the launcher is not told of more'),
      launch.programNodes[0],
    );
}

/** Whether a command is a program of Python that nothing starts in several processes. */
export const startsOneProcess = (launch: Launch): boolean =>
  launcherOf(launch) === 'python' && !launch.submitter.some((word) => SUBMITTER.test(word));

/** Flags of launchers for the number of machines. */
const MACHINES = ['nnodes', 'num_nodes', 'num_machines'];
/** Launchers that hand variables of the environment on to `torchrun`. */
const READS_ENVIRONMENT: readonly Launcher[] = ['swift', 'llama-factory', 'xtuner'];
const COUNTS = { NNODES: 'hardware.nodes', NPROC_PER_NODE: 'hardware.gpus' } as const;

const exportedMachines = (launcher: Launcher, environment: Section) =>
  READS_ENVIRONMENT.includes(launcher) ? environment.find('NNODES') : undefined;

/** `NNODES=$WORLD_SIZE`: the platform that runs the script sets how many there are. */
function noteOpenCounts(environment: Section, draft: Draft): void {
  for (const [name, field] of Object.entries(COUNTS)) {
    const node = environment.find(name)?.node;
    if (node?.kind !== 'scalar' || node.open === undefined) continue;
    draft.leave('value', node, `${name}=${node.text}`, openMessage(name, node), [field]);
  }
}

function machinesOf(
  launcher: Launcher,
  { own, environment, wrapper, sbatch, asked, submitted }: Places,
): Count | undefined {
  const flag = own.find(MACHINES);
  const stated = count(own, MACHINES);
  if (stated) return stated;
  const exported = READS_ENVIRONMENT.includes(launcher) ? count(environment, ['NNODES']) : undefined;
  if (exported) return exported;
  // Without a flag `torchrun` and DeepSpeed keep to the machine that they are on, whatever Slurm gave; so does one process.
  const alone =
    (['torchrun', 'tune', 'deepspeed'].includes(launcher) && !flag) || (launcher === 'python' && !submitted);
  return alone
    ? undefined
    : (count(wrapper, ['nodes', 'N', 'num_nodes', 'nnodes']) ??
        count(sbatch, ['nodes', 'N']) ??
        askedCount(asked?.machines));
}

/** A number of processes over all machines. */
function totalOf(launcher: Launcher, { own, wrapper, sbatch }: Places): Count | undefined {
  switch (launcher) {
    case 'accelerate':
    case 'axolotl':
    case 'trl':
      return count(own, ['num_processes']);
    case 'composer':
      return count(own, ['world_size']);
    case 'deepspeed':
      return included(own);
    case 'python':
    case 'xtuner':
      return count(wrapper, ['ntasks', 'n']) ?? count(sbatch, ['ntasks', 'n']);
    default:
      return undefined;
  }
}

/**
 * GPUs of each machine; undefined for one process, `unknown` where the launcher takes as many as the machine has and
 * nobody states how many that is.
 */
function perMachine(
  launcher: Launcher,
  { own, environment, wrapper, sbatch, asked, spreads, submitted }: Places,
  machines: number,
): Count | 'unknown' | undefined {
  const visible = listed(environment.find('CUDA_VISIBLE_DEVICES'));
  const given = () =>
    visible ??
    slurmGpus(wrapper, machines) ??
    slurmGpus(sbatch, machines) ??
    count(wrapper, ['num_gpus']) ??
    count(environment, ['GPUS_PER_NODE', 'NUM_GPUS', 'NGPU', 'N_GPUS', 'NGPUS']) ??
    askedGpus(asked) ??
    'unknown';
  switch (launcher) {
    case 'torchrun':
    case 'tune': {
      const flag = ['nproc_per_node', 'nproc-per-node'];
      return count(own, flag) ?? (own.has(flag) ? given() : undefined);
    }
    case 'deepspeed':
      return count(own, ['num_gpus']) ?? (own.has(['hostfile', 'H']) ? 'unknown' : given());
    case 'swift': {
      const each = environment.has('NPROC_PER_NODE');
      const alone = environment.text('SWIFT_SINGLE_DEVICE_MODE') === '1' || environment.has('NNODES');
      const all = spreads && !alone ? visible : undefined;
      // Several machines are given as many processes each by the platform that starts them.
      const several = environment.has('NNODES') && count(environment, ['NNODES'])?.value !== 1;
      return count(environment, ['NPROC_PER_NODE']) ?? (each || several ? given() : all);
    }
    case 'llama-factory':
      return count(environment, ['NPROC_PER_NODE']) ?? given();
    case 'xtuner': {
      // One process where nothing asks for more, whatever it sees.
      const asked = count(environment, ['NPROC_PER_NODE']);
      if (asked || environment.has('NPROC_PER_NODE')) return asked ?? given();
      return count(wrapper, ['ntasks_per_node']) ?? count(sbatch, ['ntasks_per_node']);
    }
    case 'axolotl':
      return count(own, ['nproc_per_node']) ?? given();
    case 'composer':
      return count(own, ['nproc', 'n']) ?? given();
    case 'accelerate':
    case 'trl':
      return given();
    default: {
      const each = count(wrapper, ['ntasks_per_node']) ?? count(sbatch, ['ntasks_per_node']);
      const counted = each ?? visible ?? count(wrapper, ['gpus', 'num_gpus']) ?? askedGpus(asked);
      return counted ?? (submitted ? 'unknown' : undefined);
    }
  }
}
