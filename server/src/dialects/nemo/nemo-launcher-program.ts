import { entryOf } from '../../config/lookup';
import { textOf } from '../../config/scalar';
import type { Launch } from '../launch/launch';
import { hasBelow, type NamedConfig, overridingProgram } from '../launch/overriding-program';
import type { Program } from '../launch/program';
import { nemo } from './nemo';

/** Stages that train, each with a folder of configs of its own (`launcher_scripts/conf`). */
const STAGES = ['training', 'fine_tuning', 'peft'];

/** The stage that a launch is of, with the word that chooses its config: `training=llama/llama3_8b`. */
function stageOf(launch: Launch): { readonly stage: string; readonly config: NamedConfig } | undefined {
  const stages = textOf(entryOf(launch.arguments, 'stages')?.value);
  for (const stage of STAGES) {
    const node = entryOf(launch.arguments, stage)?.value;
    const name = textOf(node);
    if (!node || name === undefined || !/^[\w.-]+\/[\w./-]+$/.test(name)) continue;
    if (stages !== undefined && !stages.includes(stage)) continue;
    const path = `launcher_scripts/conf/${stage}/${name.replace(/\.ya?ml$/, '')}.yaml`;
    return { stage, config: { path, node, key: stage, optional: true } };
  }
  return undefined;
}

/** The launch as NeMo itself is started: values of the stage without its name. */
function within(launch: Launch, stage: string): Launch {
  const entries = launch.arguments.entries.flatMap((entry) =>
    entry.key.startsWith(`${stage}.`) ? [{ ...entry, key: entry.key.slice(stage.length + 1) }] : [],
  );
  return { ...launch, arguments: { ...launch.arguments, entries } };
}

const inner = (config: NamedConfig) =>
  overridingProgram(
    nemo,
    () => 1,
    () => config,
  );

/** NeMo-Framework-Launcher: `python3 main.py training=llama/llama3_8b stages=[training] training.trainer.num_nodes=2`. */
export const nemoLauncherProgram: Program = {
  name: 'NeMo-Framework-Launcher',
  keys: [],
  config: nemo,
  // Lightning starts as many processes as the config states.
  countsGpus: () => true,
  match(launch) {
    const found = stageOf(launch);
    const main = /(^|\/)main\.py$/.test(launch.script ?? '');
    return found && (main || hasBelow(launch, found.stage)) ? 0.9 : 0;
  },
  read(launch, draft, context) {
    const found = stageOf(launch);
    if (found) inner(found.config).read(within(launch, found.stage), draft, context);
  },
};
