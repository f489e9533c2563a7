import type { ConfigDocument, ConfigNode } from '../config/node';
import type { Dialect, KeySpec, ReadContext, Reading } from './dialect';
import { Draft } from './draft';
import { readAccelerateFlags } from './launch/accelerate-flags';
import { type Launch, launchesOf } from './launch/launch';
import { readLaunchHardware } from './launch/launch-hardware';
import type { Program } from './launch/program';
import { PROGRAMS } from './launch/programs';
import { Section } from './section';

/** Shell scripts that start a training run. */
export const launchScript: Dialect = {
  id: 'launch-script',
  name: 'Launch script',
  keys: PROGRAMS.flatMap(({ keys }) => keys).map(
    (spec): KeySpec => ({ ...spec, path: `commands.*.arguments.${spec.path}` }),
  ),
  markers:
    /\b(torchrun|deepspeed|accelerate|llamafactory-cli|axolotl|swift|litgpt|trl|tune run|torch\.distributed|per_device_train_batch_size|pretrain_\w+\.py|micro[-_]batch[-_]size)\b/,
  detect(root: ConfigNode): number {
    return chosen(launchesOf(root)) ? 1 : 0;
  },
  read,
};

interface Choice {
  readonly launch: Launch;
  readonly program: Program;
}

/** The launch that the script is for: the first of those that are surest. */
function chosen(launches: readonly Launch[]): Choice | undefined {
  let best: (Choice & { readonly score: number }) | undefined;
  for (const launch of launches) {
    for (const program of PROGRAMS) {
      const score = program.match(launch);
      if (score > (best?.score ?? 0)) best = { launch, program, score };
    }
  }
  return best;
}

function read(document: ConfigDocument, context: ReadContext): Reading {
  const draft = new Draft(document);
  const choice = chosen(launchesOf(document.root));
  if (!choice) return draft.reading();
  const { launch, program } = choice;
  const sbatch = new Section(document.root, draft).section('sbatch');
  readLaunchHardware(launch, sbatch, draft);
  if (launch.program[0] === 'accelerate') readAccelerateFlags(launch, draft);
  program.read(launch, draft, context);
  return draft.reading();
}
