import { nodeAt } from '../../config/lookup';
import { textOf } from '../../config/scalar';
import type { Launch } from './launch';

/** Who starts the processes of a launch. */
export type Launcher =
  | 'torchrun'
  | 'tune'
  | 'accelerate'
  | 'deepspeed'
  | 'swift'
  | 'llama-factory'
  | 'axolotl'
  | 'composer'
  | 'trl'
  | 'xtuner'
  | 'python'
  | 'other';

const BY_PROGRAM: Readonly<Record<string, Launcher>> = {
  torchrun: 'torchrun',
  tune: 'tune',
  accelerate: 'accelerate',
  deepspeed: 'deepspeed',
  'deepy.py': 'deepspeed',
  swift: 'swift',
  megatron: 'swift',
  'llamafactory-cli': 'llama-factory',
  lmf: 'llama-factory',
  axolotl: 'axolotl',
  composer: 'composer',
  trl: 'trl',
  xtuner: 'xtuner',
};

const BY_MODULE: Readonly<Record<string, Launcher>> = {
  'torch.distributed.run': 'torchrun',
  'torch.distributed.launch': 'torchrun',
  'accelerate.commands.launch': 'accelerate',
  'deepspeed.launcher.runner': 'deepspeed',
};

/** The launcher of a command: its program, or the module that Python runs before the script. */
export function launcherOf(launch: Launch): Launcher {
  const name = launch.program[0] ?? '';
  const known = BY_PROGRAM[name];
  if (known) return known;
  if (!/^python[\d.]*$/.test(name)) return 'other';
  // What the command itself starts (ms-swift's `setup.py`).
  if (/(?:^|[/.])swift[/.]cli[/.](?:_megatron[/.])?main(?:\.py)?$/.test(launch.script ?? '')) return 'swift';
  const flags = launch.script === undefined ? launch.arguments : launch.launcher;
  return BY_MODULE[textOf(nodeAt(flags, ['m'])) ?? ''] ?? 'python';
}
