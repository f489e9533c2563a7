import { integerOf, textOf } from '../../config/scalar';
import type { Draft } from '../draft';
import { type Found, Section } from '../section';
import type { Launch } from './launch';

/** GPUs of one machine and machines, with the place that says so. */
interface Count {
  readonly value: number;
  readonly found: Found;
}

const TORCH = 'https://docs.pytorch.org/docs/stable/elastic/run.html';

/** `1:4` is an elastic range: the most machines are what memory is planned for the least with, so the fewest count. */
function count(section: Section, spelling: readonly string[]): Count | undefined {
  const found = section.find(spelling);
  if (!found) return undefined;
  const whole = integerOf(found.node) ?? Number(/^(\d+)(?::\d+)?$/.exec(textOf(found.node) ?? '')?.[1]);
  return Number.isInteger(whole) && whole > 0 ? { value: whole, found } : undefined;
}

/** Items of `0,1,2`; undefined for empty and unknown lists. */
function listed(found: Found | undefined): Count | undefined {
  const text = found && textOf(found.node);
  if (!found || text === undefined || !/^\d+(,\d+)*,?$/.test(text)) return undefined;
  return { value: text.replace(/,$/, '').split(',').length, found };
}

/** `gpu:8`, `gpu:a100:8`, `8`. */
function gres(section: Section): Count | undefined {
  const found = section.find(['gres', 'gpus_per_node']);
  const number = /^(?:gpu:)?(?:[\w.-]+:)?(\d+)$/.exec((found && textOf(found.node)) ?? '')?.[1];
  return found && number !== undefined ? { value: Number(number), found } : undefined;
}

/**
 * GPUs that a launch uses, as each launcher counts them: `torchrun` and `tune run` per machine, `accelerate` in all,
 * DeepSpeed by `--num_gpus` or `--include`, others by their environment (`NPROC_PER_NODE`, `CUDA_VISIBLE_DEVICES`), and
 * what Slurm was asked for where nothing else says it.
 */
export function readLaunchHardware(launch: Launch, sbatch: Section, draft: Draft): void {
  const launcher = new Section(launch.launcher, draft, `${launch.path}.launcher`);
  const flags = new Section(launch.arguments, draft, `${launch.path}.arguments`);
  const environment = new Section(launch.environment, draft, `${launch.path}.environment`);
  const wrapper = new Section(launch.wrapper, draft, `${launch.path}.wrapper`);
  const own = launch.script === undefined ? flags : launcher;
  const nodes =
    count(own, ['nnodes', 'num_nodes', 'num_machines']) ??
    count(environment, ['NNODES']) ??
    count(wrapper, ['nodes', 'N']) ??
    count(sbatch, ['nodes', 'N']);
  const machines = nodes?.value ?? 1;
  const state = ({ value, found }: Count, total: number, note?: string) => {
    if (value > 0) launcher.state('hardware.gpus', total, found, note);
  };
  if (nodes) launcher.state('hardware.nodes', machines, nodes.found);
  else draft.assume('hardware.nodes', 1, 'one machine unless the launcher is told otherwise', TORCH);
  const times = machines > 1 ? `on each of ${machines} machines` : undefined;
  const visible = listed(environment.find('CUDA_VISIBLE_DEVICES'));

  const total = isAccelerate(launch) ? count(own, ['num_processes']) : undefined;
  if (total) {
    state(total, total.value);
    return;
  }
  const perNode =
    count(own, ['nproc_per_node', 'num_gpus', 'gpus']) ??
    included(own) ??
    (usesWorkers(launch) ? count(environment, ['NPROC_PER_NODE']) : undefined);
  if (perNode) {
    state(perNode, perNode.value * machines, times);
    return;
  }
  if (visible) {
    state(visible, visible.value * machines, times ?? 'GPUs that the command sees');
    return;
  }
  const asked =
    gres(wrapper) ?? gres(sbatch) ?? count(environment, ['GPUS_PER_NODE', 'NUM_GPUS', 'NGPU', 'N_GPUS']);
  if (asked) {
    state(asked, asked.value * machines, times);
    return;
  }
  if (isPlainPython(launch)) {
    const program = launch.programNodes[0];
    if (program) draft.infer('hardware.gpus', 1, 'started without a launcher: one process', program);
  }
}

function isAccelerate(launch: Launch): boolean {
  return launch.program[0] === 'accelerate';
}

function isPlainPython(launch: Launch): boolean {
  return (
    /^python[\d.]*$/.test(launch.program[0] ?? '') && launch.launcher.entries.every(({ key }) => key !== 'm')
  );
}

/** Tools that start `torchrun` themselves and take its settings from the environment. */
function usesWorkers(launch: Launch): boolean {
  return ['swift', 'megatron', 'llamafactory-cli', 'python', 'python3', 'torchrun'].includes(
    launch.program[0] ?? '',
  );
}

/** DeepSpeed's `--include localhost:0,1@worker-1:2,3`. */
function included(section: Section): Count | undefined {
  const found = section.find(['include']);
  const text = found && textOf(found.node);
  if (!found || !text) return undefined;
  const slots = text.split('@').map((host) => host.split(':')[1]);
  if (slots.some((slot) => slot === undefined || !/^\d+(,\d+)*$/.test(slot))) return undefined;
  const value = slots.reduce((sum, slot) => sum + (slot?.split(',').length ?? 0), 0);
  return { value, found };
}
