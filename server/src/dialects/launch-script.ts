import type { ConfigDocument, ConfigNode } from '../config/node';
import type { Range } from '../run/origin';
import { say } from '../wording/say';
import type { Dialect, ReadContext, Reading } from './dialect';
import { Draft } from './draft';
import { readAccelerateFlags } from './launch/accelerate-flags';
import { type Launch, launchesOf } from './launch/launch';
import { readLaunchHardware } from './launch/launch-hardware';
import { ENVIRONMENT_KEYS, LAUNCHER_KEYS, SBATCH_KEYS } from './launch/launch-keys';
import { launcherOf } from './launch/launcher';
import type { Program } from './launch/program';
import { PROGRAMS } from './launch/programs';
import { readWrittenConfigs } from './launch/written-configs';
import { Section } from './section';

/** Shell scripts that start a training run. Their keys are those of the program that they start. */
export const launchScript: Dialect = {
  id: 'launch-script',
  get name() {
    return say('Launch script');
  },
  format: 'shell',
  keys: [],
  markers:
    /\b(torchrun|deepspeed|accelerate launch|llamafactory-cli|axolotl|litgpt|openrlhf|torch\.distributed|tune run|swift (?:sft|pt|rlhf)|megatron (?:sft|pt|rlhf)|cli\/(?:sft|pt|rlhf)\.py|llm_sft\.py|trl (?:sft|dpo|grpo|kto|orpo|cpo|rloo|reward|ppo)|automodel|run_(?:grpo|sft|dpo|rm|distillation|ppo)\w*\.py|composer [^\n]*\.py|pretrain_\w+\.py|deepy\.py)\b|--(?:model_name_or_path|tensor[-_]model[-_]parallel[-_]size|yaml[-_]cfg|per[-_]device[-_]train[-_]batch[-_]size|micro[-_]batch[-_]size|job\.config_file|config-(?:name|path))\b|\bactor_rollout_ref\.|\bverl\.trainer\.|\bmodel\.micro_batch_size=/,
  detect(root: ConfigNode): number {
    return trainings(launchesOf(root)).length > 0 ? 1 : 0;
  },
  read,
};

interface Training {
  readonly launch: Launch;
  readonly program: Program;
}

/** Launches that start training, in the order of the script, each with the program that it starts most surely. */
function trainings(launches: readonly Launch[]): Training[] {
  return launches.flatMap((launch) => {
    let best: Program | undefined;
    let score = 0;
    for (const program of PROGRAMS) {
      const own = program.match(launch);
      if (own <= score) continue;
      best = program;
      score = own;
    }
    return best ? [{ launch, program: best }] : [];
  });
}

function read(document: ConfigDocument, context: ReadContext): Reading {
  const draft = new Draft(document);
  const found = trainings(launchesOf(document.root));
  const [first, ...others] = found;
  if (!first) return draft.reading();
  const { launch, program } = first;
  const sbatch = new Section(document.root, draft).section('sbatch');
  if (program.countsGpus?.(launch) !== true) readLaunchHardware(launch, sbatch, draft);
  readAllocator(new Section(launch.environment, draft, `${launch.path}.environment`));
  if (launcherOf(launch) === 'accelerate') readAccelerateFlags(launch, draft);
  program.read(launch, draft, context);
  readWrittenConfigs(document, program.config, draft, context);
  const at = launch.path.split('.');
  draft.keys.push(
    { below: [...at, 'arguments'], rows: program.keys },
    { below: [...at, launch.script === undefined ? 'arguments' : 'launcher'], rows: LAUNCHER_KEYS },
    { below: [...at, 'environment'], rows: ENVIRONMENT_KEYS },
    { below: ['sbatch'], rows: SBATCH_KEYS },
  );
  reportOthers(launch, others, draft);
  reportLostFlags(document, draft);
  return draft.reading();
}

function readAllocator(environment: Section): void {
  environment.stateMeaning(
    'allocator.expandableSegments',
    ['PYTORCH_CUDA_ALLOC_CONF', 'PYTORCH_ALLOC_CONF'],
    ({ node }) => {
      const setting = node.kind === 'scalar' && /expandable_segments\s*:\s*(true|false)/i.exec(node.text);
      return setting ? setting[1]?.toLowerCase() === 'true' : undefined;
    },
  );
}

/** A script with several training launches: the first counts, and each other one says so. */
function reportOthers(first: Launch, others: readonly Training[], draft: Draft): void {
  const line = placeOf(first).start.line + 1;
  for (const { launch } of others)
    draft.report(
      'another-launch',
      'information',
      say(
        'The estimate is for the first training launch of this script, on line {0}; this one is not reckoned.',
        String(line),
      ),
      placeOf(launch),
      { related: [{ range: placeOf(first), message: say('the launch that counts') }] },
    );
}

/**
 * A line that begins with a flag is a command of its own: a comment between continued lines ends the command before it, as
 * does a missing backslash.
 */
function reportLostFlags(document: ConfigDocument, draft: Draft): void {
  for (const launch of launchesOf(document.root)) {
    const [first] = launch.programNodes;
    if (!first || !/^--\w/.test(launch.program[0] ?? '')) continue;
    draft.report(
      'lost-flags',
      'warning',
      say(
        'These flags reach no program: the command ended before them, at a comment between its lines or for want of a backslash.',
      ),
      first.range,
      { source: 'https://www.gnu.org/software/bash/manual/bash.html#Escape-Character' },
    );
  }
}

function placeOf({ programNodes, range }: Launch): Range {
  return programNodes[0]?.range ?? range;
}
