import type { MachinesAsked } from '../config/job-manifest';
import { mapAt, nodeAt } from '../config/lookup';
import type { ConfigDocument, ConfigNode } from '../config/node';
import { SCRIPT_RUNNERS } from '../config/shell/package-runners';
import { SCRIPT_HOSTS } from '../config/shell/script-hosts';
import { oncePer } from '../memo/remembered';
import type { FieldPath } from '../run/fields';
import type { Fact } from '../run/origin';
import { beginTogether } from '../text/place';
import { isAbsolutePath } from '../text/uri';
import { say } from '../wording/say';
import { readAccelerateFlags } from './accelerate/accelerate-flags';
import { isOutdone } from './accelerate/outdone-launcher';
import type { Dialect, ReadContext, Reading } from './dialect';
import { Draft } from './draft';
import { FAMILIES, PROGRAMS } from './families';
import { readAllocatorEnvironment } from './launch/allocator-environment';
import { manifestReleases, readAskedCard } from './launch/asked-machines';
import { askedOfFlavor, readFlavor } from './launch/hf-jobs';
import { type Launch, launchesOf, placeOfLaunch } from './launch/launch';
import { readLaunchHardware } from './launch/launch-hardware';
import { ENVIRONMENT_KEYS, LAUNCHER_KEYS, SBATCH_KEYS } from './launch/launch-keys';
import { launcherOf } from './launch/launcher';
import { isOfVisible, leaveOneProcess } from './launch/one-process-launch';
import type { Program } from './launch/program';
import { SCRIPT_SCORE } from './launch/recipe-program';
import { jobReleases, readJob } from './launch/sagemaker-job';
import { readSlurmGpu } from './launch/slurm-gpus';
import { namesTraining, trainsNothing } from './launch/trains-nothing';
import { noteUnread, temperedProblems } from './launch/unread-words';
import { withWholeFlags } from './launch/whole-flags';
import { readWrittenConfigs } from './launch/written-configs';
import { Section } from './section';

/** Launchers of any program, Python itself, the flags of Hydra, and recipes that a script is given. */
const LAUNCHERS = new RegExp(
  String.raw`\b(?:torchrun|deepspeed|accelerate launch|torch\.distributed)\b|--config-(?:name|path)\b|--(?:config|recipe|cfg)[ =]\S{1,200}\.(?:ya?ml|json|toml)\b|\b(?:python[\d.]{0,6}|${SCRIPT_RUNNERS}|${SCRIPT_HOSTS})[ \t][^\n;&|]{0,200}?(?:\.py\b|-m[ \t])|\.py"?[ \t]{1,20}\S{1,200}\.ya?ml\b`,
);

/** Words of a text that starts a training by itself. */
const STARTS_TRAINING = new RegExp(
  [LAUNCHERS, ...FAMILIES.flatMap(({ launches }) => launches ?? [])].map(({ source }) => source).join('|'),
);

/** Words by which one script of the shell runs another: `bash train.sh`, `sbatch -N 2 train.slurm`, `./train.sh`. */
const RUNS_SCRIPT =
  /(?:\b(?:ba|z|k|da)?sh|\bsbatch|\bsrun|\bnohup|\bsource|(?:^|[;&|{(])[ \t]*\.)[ \t][^\n;&|#]{0,200}?\.(?:(?:ba|z|k)?sh|slurm|sbatch)\b|(?:^|[ \t;&|"'(])[\w.${}"()-]{0,80}\/[\w.${}/-]{0,200}\.(?:(?:ba|z|k)?sh|slurm|sbatch)\b/m;

/** Whether a script of the shell may run another one, which starts what it starts. */
export const mayRunScript = (text: string): boolean => RUNS_SCRIPT.test(text);

/** Shell scripts that start a training run. Their keys are those of the program that they start. */
export const launchScript: Dialect = {
  id: 'launch-script',
  get name() {
    return say('Launch script');
  },
  format: 'shell',
  startsRuns: true,
  releases: (document) => [...jobReleases(document), ...manifestReleases(document)],
  keys: [],
  markers: STARTS_TRAINING,
  detect(root: ConfigNode): number {
    const scores = trainings(launchesOf(root)).map(({ score }) => score);
    if (scores.length === 0) return 0;
    // That it starts a file of Python proves little: flags that the workspace teaches prove more.
    return Math.max(...scores) > SCRIPT_SCORE ? 1 : SCRIPT_ALONE;
  },
  joins: { givesWay: isOutdone },
  read,
};

/** How surely a script is one that is launched for what its code states, where no family claims the file. */
const SCRIPT_ALONE = 0.55;

interface Training {
  readonly launch: Launch;
  readonly program: Program;
  /** How surely it is that program. */
  readonly score: number;
}

/** Launches that start training, in the order of the script, each with the program that it starts most surely. */
const trainings = (launches: readonly Launch[]): Training[] =>
  launches.flatMap((launch) => trainingOf(launch) ?? []);

const trainingOf = oncePer((launch: Launch): Training | undefined => {
  if (trainsNothing(launch)) return undefined;
  let best: Program | undefined;
  let score = 0;
  for (const program of PROGRAMS) {
    const own = program.match(launch);
    if (own <= score) continue;
    best = program;
    score = own;
  }
  return best && { launch, program: best, score };
});

/** The commands of a script that each start a training, by their places in it; those of a branch that is not taken apart. */
export function trainingCommands({ root }: ConfigDocument): number[] {
  const launches = launchesOf(root);
  const found = trainings(launches).filter(({ launch, program }) => !launch.open && !program.notModelled);
  return found
    .filter(({ launch }) => isFirstOfCall(launch, found))
    .map(({ launch }) => launches.indexOf(launch));
}

/** Of the launches of another script that one command runs the first counts: its others are that script's own. */
function isFirstOfCall(launch: Launch, all: readonly Training[]): boolean {
  if (!launch.isCalled) return true;
  const first = all.find((other) => other.launch.isCalled && beginTogether(other.launch.range, launch.range));
  return first?.launch === launch;
}

function read(document: ConfigDocument, context: ReadContext): Reading {
  const draft = new Draft(document, context);
  const launches = launchesOf(document.root);
  const chosen = document.command === undefined ? undefined : launches[document.command];
  const all = trainings(chosen ? [chosen] : launches);
  const modelled = all.filter(({ program }) => !program.notModelled);
  const found = modelled.length > 0 ? modelled : all;
  // What a plain start of the script does comes before what a branch may do, and known programs before others.
  const known = found.filter(({ program }) => !program.joinsOnly);
  // Of scripts that nobody knows the one that is called after training is likelier to train.
  const named = [...found].sort((a, b) => Number(namesTraining(b.launch)) - Number(namesTraining(a.launch)));
  const first = [...known, ...named].find(({ launch }) => !launch.open) ?? known[0] ?? named[0];
  const others = known.filter((other) => other !== first && isFirstOfCall(other.launch, known));
  if (!first) return draft.reading();
  const { program } = first;
  const parser = program.parser?.(first.launch);
  const launch = parser ? withWholeFlags(first.launch, parser, draft) : first.launch;
  draft.wholeAt = placeOfLaunch(launch);
  if (program.notModelled) {
    program.read(launch, draft, context);
    return draft.reading();
  }
  draft.joinsOnly = program.joinsOnly === true;
  const sbatch = launch.sbatch
    ? new Section(launch.sbatch, draft, `${launch.path}.sbatch`)
    : new Section(document.root, draft).section('sbatch');
  const asked = document.manifest ?? askedOfFlavor(launch);
  if (document.job) readJob(document.job, draft);
  else if (program.countsGpus?.(launch) !== true) readLaunchHardware(launch, sbatch, draft, asked);
  if (asked) readAskedCard(asked, draft);
  if (asked && !document.manifest) readFlavor(asked, draft);
  readSlurmGpu([new Section(launch.wrapper, draft, `${launch.path}.wrapper`), sbatch], draft);
  const outdone = program.outdoesAllocator?.(launch, context);
  readAllocatorEnvironment(
    new Section(launch.environment, draft, `${launch.path}.environment`),
    draft,
    outdone,
  );
  const ofLauncher = launcherOf(launch) === 'accelerate' ? givenBackOfAccelerate(launch, draft, context) : [];
  program.read(launch, draft, context);
  draft.facts.push(...ofLauncher.filter(({ field }) => field === 'parallel.data' || !draft.knows(field)));
  preferStatedGpus(draft, asked);
  leaveOneProcess(launch, draft, asked, context.known);
  readWrittenConfigs(document, program.config, draft, context);
  const written = mapAt(document.root, ['files'])?.entries.map(({ key }) => key.replace(/^\.\//, '')) ?? [];
  expectMade(launch, launches, writtenBy(document), draft);
  enterFolders(launch, launches, draft);
  noteUnread(launch, program, written, draft);
  temperedProblems(launch, draft);
  keepOrder(draft);
  const at = launch.path.split('.');
  draft.keys.push(
    {
      below: [...at, 'arguments'],
      rows: program.keysOf?.(launch) ?? program.keys,
      words: program.words,
      ownScript: program.ownScript,
    },
    { below: [...at, launch.script === undefined ? 'arguments' : 'launcher'], rows: LAUNCHER_KEYS },
    { below: [...at, 'environment'], rows: ENVIRONMENT_KEYS },
    { below: ['sbatch'], rows: SBATCH_KEYS },
  );
  reportOthers(launch, others, draft);
  reportLostFlags(document, draft);
  return draft.reading();
}

/** Files that commands of the script write by `>`. */
function writtenBy({ root }: ConfigDocument): string[] {
  const made = nodeAt(root, ['made']);
  return made?.kind === 'list'
    ? made.items.flatMap((item) => (item.kind === 'scalar' ? [item.text] : []))
    : [];
}

/** Files that another command of the script makes need not be here yet: `generate.py --output_file config.yaml`. */
function expectMade(
  launch: Launch,
  all: readonly Launch[],
  redirected: readonly string[],
  draft: Draft,
): void {
  const made = new Set([
    ...redirected,
    ...all.flatMap(({ path, arguments: flags }) =>
      path === launch.path
        ? []
        : flags.entries.flatMap(({ key, value }) =>
            /^(o|out|output|save|dest)(_|$)/.test(key) && value.kind === 'scalar' ? [value.text] : [],
          ),
    ),
  ]);
  const links = draft.links.map((link) => (made.has(link.path) ? { ...link, optional: true } : link));
  draft.links.splice(0, draft.links.length, ...links);
}

/** Whether a folder that a script enters is another machine's, or one that the environment names. */
export const isElsewhere = (folder: string): boolean => isAbsolutePath(folder) || /[$`~<]|^-/.test(folder);

/**
 * `cd src/trainer` before the launch: relative paths start there. A folder of another machine, or one that the environment
 * names, is not here to be looked into: nothing in it is missing.
 */
function enterFolders(launch: Launch, all: readonly Launch[], draft: Draft): void {
  const before = all.slice(
    0,
    all.findIndex(({ path }) => path === launch.path),
  );
  const entered = before.flatMap(({ program: [command, folder], isCalled, range }) =>
    // What another script enters it leaves with its end.
    command === 'cd' && (!isCalled || beginTogether(range, launch.range)) ? [folder ?? '~'] : [],
  );
  if (entered.length === 0) return;
  const elsewhere = entered.some(isElsewhere);
  const searched = elsewhere ? undefined : [entered.join('/')];
  const links = draft.links.map((link) => {
    if (isAbsolutePath(link.path)) return link;
    return searched
      ? { ...link, searched: [...(link.searched ?? []), ...searched] }
      : { ...link, elsewhere: true };
  });
  draft.links.splice(0, draft.links.length, ...links);
}

/** Of what words of the launch state in several scripts, what was read first counts, as it does in one. */
function keepOrder(draft: Draft): void {
  const taken = new Set<FieldPath>();
  const kept = draft.facts.filter(({ field, origin }) => {
    if (origin.kind === 'file' && taken.has(field)) return false;
    if (origin.kind === 'linked-file') taken.add(field);
    return true;
  });
  draft.facts.splice(0, draft.facts.length, ...kept);
}

/** What is visible never stands against a number that the program itself is given. */
function preferStatedGpus(draft: Draft, asked: MachinesAsked | undefined): void {
  const counts = draft.facts.filter(
    ({ field, origin }) => field === 'hardware.gpus' && /^(?:linked-)?file$/.test(origin.kind),
  );
  const visible = counts.find((fact) => isOfVisible(fact, asked));
  if (!visible || counts.length < 2) return;
  draft.facts.splice(draft.facts.indexOf(visible), 1);
}

/** A script with several training launches: the first counts, and each other one states it. */
function reportOthers(first: Launch, others: readonly Training[], draft: Draft): void {
  const line = placeOfLaunch(first).start.line + 1;
  for (const { launch } of others)
    draft.report(
      'another-launch',
      'information',
      say(
        'The first training launch of this script is read, on line {0}; this one is not estimated.',
        String(line),
      ),
      placeOfLaunch(launch),
      { related: [{ range: placeOfLaunch(first), message: say('the launch that counts') }] },
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

/**
 * Reads the flags of `accelerate launch`. What it takes for granted of precision is given back: what the script's own flags and defaults say goes
 * before it (`transformers/training_args.py`, `ACCELERATE_MIXED_PRECISION`).
 */
function givenBackOfAccelerate(launch: Launch, draft: Draft, context: ReadContext): readonly Fact[] {
  readAccelerateFlags(launch, draft, context);
  const isGranted = ({ field, value, origin }: Fact) =>
    // The script may state another, which decides (`isOutdone`).
    (field === 'parallel.data' && value !== 'zero') ||
    (/^precision\.(?:scheme|weights)$/.test(field) && /^(?:default|inferred)$/.test(origin.kind));
  const granted = draft.facts.filter(isGranted);
  draft.facts.splice(0, draft.facts.length, ...draft.facts.filter((stated) => !isGranted(stated)));
  return granted;
}
