import { Lines } from '../../config/lines';
import { entryOf } from '../../config/lookup';
import type { ConfigNode } from '../../config/node';
import { parseConfig } from '../../config/parse';
import { flagOf, integerOf } from '../../config/scalar';
import { type Launch, launchesOf } from '../../dialects/launch/launch';
import { launcherOf } from '../../dialects/launch/launcher';
import { setShell } from './set-shell';
import type { SourceFile } from './source-file';
import { splice } from './splice';

/**
 * Flags of `accelerate launch` for what a config would state: it takes the kind of run from the config only where none of them is given
 * (https://github.com/huggingface/accelerate/blob/v1.15.0/src/accelerate/commands/launch.py, `_validate_launch_command`).
 */
const OF_THE_CONFIG =
  /^(?:config_file|use_\w+|cpu|tpu|fsdp_\w+|zero_stage|zero3_\w+|deepspeed_\w+|offload_\w+|megatron_\w+)$/;

/** Flags of `torchrun` on one machine that a config of Accelerate states, or that state nothing of the run. */
const OF_TORCHRUN = /^(?:m|nproc_per_node|nnodes|standalone|node_rank|master_port|master_addr|max_restarts)$/;

/**
 * The text of a script with its training started by `accelerate launch --config_file PATH`; undefined where the file launches nothing
 * that could be started so. Other launchers give way where the script that they start is known to run under Accelerate: `files`
 * are those of the run.
 */
export function launchesWith(
  { document, reading, whole }: SourceFile,
  text: string,
  path: string,
  files: readonly SourceFile[],
): string | undefined {
  if (document.format !== 'shell' || document.follows || whole?.document.follows || document.manifest)
    return undefined;
  const launched = reading.keys?.find(({ below }) => below[0] === 'commands' && below[2] === 'arguments');
  const { root } = parseConfig('file:///x.sh', text);
  const launch = launchesOf(root).find((one) => one.path === launched?.below.slice(0, 2).join('.'));
  if (launch?.script === undefined || !launch.scriptNode) return undefined;
  switch (launcherOf(launch)) {
    case 'accelerate':
      return named(text, launch, path);
    case 'torchrun':
    case 'python':
      return usesAccelerate(files) ? replaced(text, launch, launch.scriptNode, path) : undefined;
    default:
      return undefined;
  }
}

/** `--config_file` first of the flags, and replicas no longer asked for. */
function named(text: string, launch: Launch, path: string): string | undefined {
  const { launcher, program, programNodes } = launch;
  if (launcher.entries.some(({ key }) => OF_THE_CONFIG.test(key))) return undefined;
  const command = program[0] === 'accelerate' ? programNodes[1] : undefined;
  const before = command ?? entryOf(launcher, 'm')?.value;
  if (!before || (program[0] === 'accelerate' && program[1] !== 'launch')) return undefined;
  const end = new Lines(text).offset(before.range.end);
  const flag = entryOf(launcher, 'multi_gpu');
  // The flag stands behind what is inserted: it goes first.
  const block = [...launch.path.split('.'), 'launcher', 'multi_gpu'];
  const plain = flag && flagOf(flag.value) === true ? setShell(text, block, undefined) : text;
  return plain === undefined ? undefined : splice(plain, end, end, ` --config_file ${path}`);
}

/** `torchrun --nproc_per_node 8 train.py` on one machine, as it is written. */
function replaced(text: string, launch: Launch, script: ConfigNode, path: string): string | undefined {
  const { launcher, programNodes, submitter } = launch;
  const [first] = programNodes;
  const machines = entryOf(launcher, 'nnodes')?.value;
  const isOther = launcher.entries.some(({ key }) => !OF_TORCHRUN.test(key));
  if (!first || isOther || submitter.length > 0 || (machines && integerOf(machines) !== 1)) return undefined;
  const lines = new Lines(text);
  const [start, end] = [lines.offset(first.range.start), lines.offset(script.range.start)];
  // Words that variables hold stand elsewhere, and may start other launches.
  if (end <= start || /[$`"'#;&|]/.test(text.slice(start, end))) return undefined;
  return splice(text, start, end, ['accelerate', 'launch', '--config_file', path, ''].join(' '));
}

/** A loop of its own around an `Accelerator`. */
const usesAccelerate = (files: readonly SourceFile[]) =>
  files.some(
    ({ document, reading }) =>
      document.format === 'python' &&
      reading.facts.some(({ field, value }) => field === 'framework' && value === 'accelerate'),
  );
