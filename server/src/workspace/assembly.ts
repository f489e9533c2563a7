import type { ConfigDocument, Problem } from '../config/node';
import { fillAutos } from '../dialects/auto';
import { duplicateNeoxKeys } from '../dialects/gpt-neox/gpt-neox-duplicates';
import type { Estimate, EstimateInput } from '../estimate';
import type { Accelerator } from '../hardware/accelerator';
import { anonymousAccelerator, findAccelerator, matchAccelerator } from '../hardware/catalog';
import type { DetectedGpus } from '../hardware/detect';
import type { Model } from '../model/model';
import { FIELD_PATHS, type RunValues } from '../run/fields';
import { type Fact, fact, type Location } from '../run/origin';
import { type Resolution, resolveRun } from '../run/resolve';
import { say } from '../wording/say';
import type { Analysis, RunOption } from './analysis';
import {
  arithmeticConflicts,
  directiveConflicts,
  linkConflicts,
  overriddenValues,
  rejectedValues,
  unknownNames,
} from './conflicts';
import type { FullReading, TrackedFiles } from './file-cache';
import { hostProblem } from './host-verdict';
import { type ConfigReading, type FollowedLinks, followLinks, isAround } from './links';
import { findModelOf, type ModelFinding } from './model-source';
import { documentRead, toldByTheirFile } from './overrides';
import { PROJECT_FILE_NAMES, projectFacts } from './project-file';
import { factsOfMember, findRuns, type Member, membersOf, type RunFiles, type RunsOfFile } from './runs';
import { filledAutos, mismatchesBelow, trainerMismatches } from './trainer-match';
import { canonicalUri, fileName, foldersUpward, relativePath } from './uri';
import { firstKey, unknownProblem, verdictProblem, withoutFiles } from './verdict';

export interface AssemblyOptions {
  readonly settings?: (uri: string) => RunValues | Promise<RunValues>;
  readonly commandLine?: readonly Fact[];
  readonly detect?: (uri: string) => Promise<DetectedGpus | undefined>;
  /** Root of the run that the user wants a file to be shown in. */
  readonly chosenRun?: (uri: string) => string | undefined;
  readonly estimate: (input: EstimateInput) => Estimate;
}

/** Oomlint failed on this file; the rest of what is known still counts. */
export function internalError(error: unknown, document: ConfigDocument): Problem {
  const reason = error instanceof Error ? error.message : String(error);
  return {
    code: 'internal-error',
    severity: 'warning',
    message: say('Oomlint failed on this file: {0}. Please report it with the file.', reason.slice(0, 200)),
    range: firstKey(document),
  };
}

function settingFacts(values: RunValues): Fact[] {
  return FIELD_PATHS.flatMap((field) => {
    const value = values[field];
    return value === undefined
      ? []
      : fact(field, value as never, { kind: 'setting', note: say('setting of the editor') });
  });
}

/** GPUs of this machine count only where nobody names a GPU: the run may go elsewhere. */
function detectedFacts(gpus: DetectedGpus | undefined): Fact[] {
  if (!gpus) {
    return [];
  }
  const origin = { kind: 'detected' as const, note: say('found on this machine by nvidia-smi') };
  const memory = findAccelerator(gpus.gpu)
    ? []
    : [fact('hardware.gpuMemory', Math.floor(gpus.totalBytes * 0.98), origin)];
  return [fact('hardware.gpu', gpus.gpu, origin), fact('hardware.gpus', gpus.count, origin), ...memory];
}

/** GPUs of the cloud instance that a file names, over all its machines. */
function instanceFacts({ uri, reading }: ConfigReading, values: RunValues): Fact[] {
  const { instance } = reading;
  const match = instance && matchAccelerator(instance.name.replace(/^ml\./, ''));
  if (!instance || !match?.instance) {
    return [];
  }
  const origin = {
    kind: 'file' as const,
    location: { uri, range: instance.range },
    key: 'ec2_instance_type',
    note: say('GPUs of {0}', instance.name),
  };
  const gpus = (match.gpus ?? 1) * (values['hardware.nodes'] ?? 1);
  return [
    fact('hardware.gpu', match.accelerator.name, origin),
    fact('hardware.instance', match.instance.instance, origin),
    fact('hardware.gpus', gpus, origin),
  ];
}

async function nearestProject(uri: string, files: TrackedFiles) {
  const upward = foldersUpward(uri);
  // A document without a place is meant for the workspace that it is written in.
  for (const folder of upward.length > 0 ? upward : files.folders.slice(0, 1)) {
    for (const name of PROJECT_FILE_NAMES) {
      const candidate = `${folder.replace(/\/$/, '')}/${name}`;
      const project = (await files.exists(candidate)) ? await files.project(candidate) : undefined;
      if (project) {
        return project;
      }
    }
  }
  return undefined;
}

function acceleratorOf({ values }: Resolution): Accelerator | undefined {
  const name = values['hardware.gpu'];
  const known = name === undefined ? undefined : findAccelerator(name);
  const memory = values['hardware.gpuMemory'];
  if (memory === undefined) {
    return known;
  }
  const base = known ?? { ...anonymousAccelerator(memory), name: name ?? anonymousAccelerator(memory).name };
  return {
    ...base,
    usableBytes: memory,
    totalBytes: Math.max(memory, base.totalBytes),
    usableIsDerived: false,
  };
}

/** A model that is named but not known keeps the run from being complete. */
function withModel(resolution: Resolution, finding: ModelFinding): Resolution {
  if (finding.model || finding.reason === undefined) {
    return resolution;
  }
  return {
    ...resolution,
    unknown: [{ field: 'model.id', reason: finding.reason }, ...resolution.unknown],
    run: undefined,
  };
}

/**
 * A file's reading made with what is known by now: rules about world size can speak, and what a key means may depend on
 * the other files of the run.
 */
function readAgain<C extends ConfigReading>(config: C, values: RunValues, model: Model | undefined): C {
  return { ...config, reading: config.dialect.read(documentRead(config), { known: values, model }) };
}

/** Files that a config of the run is merged with, the one at hand apart. */
function partsBeside(uri: string, whole: ConfigReading['whole']): string[] {
  const own = canonicalUri(uri);
  const around = whole?.parts.filter((part) => part.uri !== own && isAround(whole.block, part.package));
  return around?.map((part) => part.uri) ?? [];
}

/** What Accelerate and the Trainer put in the place of `auto`, in any file of the run. */
function autoFacts(configs: readonly ConfigReading[], known: RunValues, model: Model | undefined): Fact[] {
  return configs.flatMap(({ uri, dialect, reading }) =>
    reading.autos.flatMap((auto) =>
      fillAutos(auto.family ?? dialect.id, [auto], { known, hiddenSize: model?.hiddenSize, uri }),
    ),
  );
}

/** What the name of a repackaged model says of its weights. */
function storedAs({ values, note }: ModelFinding): Fact[] {
  return settingFacts(values ?? {}).map((stated) => ({
    ...stated,
    origin: { kind: 'default' as const, note },
  }));
}

/** A note on the model's origin where what was taken is not exactly what was named. */
function noteModel(resolution: Resolution, finding: ModelFinding): Resolution {
  const field = resolution.values['model.path'] === undefined ? 'model.id' : 'model.path';
  const origin = resolution.origins[field];
  return finding.note && origin
    ? { ...resolution, origins: { ...resolution.origins, [field]: { ...origin, note: finding.note } } }
    : resolution;
}

/** Files that GPT-NeoX merges into one run must not have keys in common. */
function doubledKeys(config: FullReading, members: readonly Member[]): Problem[] {
  if (config.dialect.id !== 'gpt-neox') return [];
  const beside = members.filter(
    (member) => member.relation === 'beside' && member.config.dialect.id === 'gpt-neox',
  );
  return duplicateNeoxKeys(
    config.document,
    beside.map((member) => member.config.document),
  );
}

function inFileOrder(problems: readonly Problem[]): Problem[] {
  return [...problems].sort(
    (a, b) => a.range.start.line - b.range.start.line || a.range.start.character - b.range.start.character,
  );
}

interface Reckoning {
  readonly estimate?: Estimate;
  readonly problem?: Problem;
  /** Of the host's memory. */
  readonly hostProblem?: Problem;
}

function reckon(
  resolution: Resolution,
  model: Model | undefined,
  accelerator: Accelerator | undefined,
  document: ConfigDocument,
  options: AssemblyOptions,
): Reckoning {
  const { run } = resolution;
  if (!run || !model || !accelerator) {
    return {};
  }
  try {
    const estimate = options.estimate({ run, model, accelerator });
    return {
      estimate,
      problem: verdictProblem(estimate, accelerator, resolution, document),
      hostProblem: hostProblem(estimate, resolution, document),
    };
  } catch (error) {
    return { problem: internalError(error, document) };
  }
}

/** The optimizer that a DeepSpeed file builds is the run's: the Trainer leaves its own out. */
const TRAINER_OPTIMIZER =
  'https://github.com/huggingface/transformers/blob/main/src/transformers/integrations/deepspeed.py';

interface Gathered {
  readonly facts: readonly Fact[];
  /** Statements about the optimizer that DeepSpeed's own replaces. */
  readonly replaced: readonly Fact[];
}

/** What the files of a run say, in reading order. */
function gather(members: readonly Member[]): Gathered {
  const builds = members.some(
    ({ config: { dialect, reading } }) =>
      dialect.id === 'deepspeed' &&
      reading.facts.some(({ field, origin }) => field === 'optimizer.name' && origin.kind === 'file'),
  );
  const replaced: Fact[] = [];
  const facts = members.flatMap((member) => {
    const said = factsOfMember(member, members);
    if (!builds || member.config.dialect.id === 'deepspeed') return said;
    return said.filter((stated) => {
      const keeps = !stated.field.startsWith('optimizer.') || stated.origin.kind === 'directive';
      if (!keeps && stated.origin.kind !== 'default') replaced.push(stated);
      return keeps;
    });
  });
  return { facts, replaced };
}

/** At the key that names an optimizer which is never built. */
function replacedOptimizer(replaced: readonly Fact[], resolution: Resolution, uri: string): Problem[] {
  const mine = replaced.find(
    ({ field, origin }) =>
      field === 'optimizer.name' && origin.kind === 'file' && origin.location?.uri === uri,
  );
  const winner = resolution.winners.get('optimizer.name');
  const there = winner?.origin.location;
  if (!mine?.origin.location || !winner || !there) return [];
  return [
    {
      code: 'replaced-optimizer',
      severity: 'information',
      message: say(
        'The optimizer of the DeepSpeed file ({0}) is built; `{1}` has no effect beside it.',
        String(winner.value),
        mine.origin.key ?? 'optim',
      ),
      range: mine.origin.location.range,
      source: TRAINER_OPTIMIZER,
      related: [{ ...there, message: say('optimizer {0}', String(winner.value)) }],
    },
  ];
}

/** DeepSpeed's file and those that hand their arguments to the Trainer, in one run. */
function pairsOf(members: readonly Member[]) {
  const configs = members.map(({ config }) => config);
  const callers = configs.filter(({ dialect }) => dialect.id !== 'deepspeed' && dialect.id !== 'accelerate');
  const deepspeed = configs.filter(({ dialect }) => dialect.id === 'deepspeed');
  return { callers, deepspeed };
}

const RANK = { exceeds: 0, tight: 1, unknown: 2, fits: 3 } as const;

/** Worst first: what does not fit, then what is tight, by how full the GPU gets. */
function worse(a: Analysis, b: Analysis): number {
  const rank = ({ estimate }: Analysis) => RANK[estimate?.verdict ?? 'unknown'];
  const share = ({ estimate }: Analysis) =>
    estimate ? estimate.peak.processBytes / Math.max(1, estimate.capacityBytes) : 0;
  return rank(a) - rank(b) || share(b) - share(a);
}

function optionOf(root: string, { estimate }: Analysis, folders: readonly string[]): RunOption {
  const inside = folders.flatMap((folder) => relativePath(folder, root) ?? []);
  return {
    root,
    name: inside.sort((a, b) => a.length - b.length)[0] ?? fileName(root),
    verdict: estimate?.verdict ?? 'unknown',
    peakBytes: estimate?.peak.processBytes,
    capacityBytes: estimate?.capacityBytes,
  };
}

/**
 * Joins all that is known about one config into its analysis. A file that several runs use is looked at in each of them:
 * the one that the user chose is shown, else the worst. `start` is the config that a file is merged into, where it shows no
 * family by itself.
 */
export async function assemble(
  config: FullReading,
  files: TrackedFiles,
  options: AssemblyOptions,
  start?: ConfigReading,
): Promise<Analysis> {
  const followed = await followLinks(config, files);
  const { runs, uses } = start ? partOf(config, start) : await findRuns(config, files);
  const usedBy = uses.map((use): Location => ({ uri: use.config.uri, range: use.link.range }));
  const all: { root: string; analysis: Analysis }[] = [];
  for (const run of runs) {
    all.push({ root: run.root.uri, analysis: await assembleIn(config, run, followed, files, options) });
  }
  all.sort((a, b) => worse(a.analysis, b.analysis));
  const wanted = options.chosenRun?.(config.uri);
  const shown = all.find(({ root }) => root === wanted) ?? all[0];
  if (!shown) throw new Error('A file is part of no run.');
  if (usedBy.length === 0) return shown.analysis;
  return {
    ...shown.analysis,
    runs: all.map(({ root, analysis }) => optionOf(root, analysis, files.folders)),
    run: shown.root,
    usedBy,
  };
}

/** The run of a config that starts from a file. */
function partOf({ uri }: ConfigReading, start: ConfigReading): RunsOfFile {
  const bases = start.reading.links.filter(({ role }) => role === 'include');
  const link = bases.find(({ path }) => canonicalUri(uri).endsWith(`/${path}`)) ?? bases[0];
  const uses = link ? [{ config: start, link }] : [];
  return { runs: [{ root: start, above: uses }], uses };
}

/** The analysis of a config as part of one run. */
async function assembleIn(
  config: FullReading,
  runFiles: RunFiles,
  followed: FollowedLinks,
  files: TrackedFiles,
  options: AssemblyOptions,
): Promise<Analysis> {
  const { uri, document, dialect } = config;
  const members = await membersOf(config, followed.linked, runFiles, files);
  const told = toldByTheirFile(members);
  const project = await nearestProject(uri, files);
  const settings = settingFacts((await options.settings?.(uri)) ?? {});
  const around = [...(project ? projectFacts(project, uri) : []), ...settings];
  const commandLine = options.commandLine ?? [];
  let resolution = resolveRun([...commandLine, ...gather(told).facts, ...around]);
  const instance = members.flatMap((member) => instanceFacts(member.config, resolution.values));
  if (instance.length > 0) {
    around.push(...instance);
    resolution = resolveRun([...commandLine, ...gather(told).facts, ...around]);
  }
  const detected =
    options.detect && resolution.values['hardware.gpu'] === undefined
      ? detectedFacts(await options.detect(uri))
      : [];
  const finding = await findModelOf(resolution.values, resolution.origins, uri, files);

  const again = toldByTheirFile(
    members.map(({ config: member, relation }) => ({
      config: readAgain(member, resolution.values, finding.model),
      relation,
    })),
  );
  const self = again.find(({ relation }) => relation === 'self')?.config ?? config;
  const { reading } = self;
  const configs = again.map((member) => member.config);
  const autos = autoFacts(configs, resolution.values, finding.model);
  const { facts: said, replaced } = gather(again);
  const facts = [...commandLine, ...said, ...around, ...detected, ...storedAs(finding), ...autos];
  resolution = noteModel(withModel(resolveRun(facts), finding), finding);
  const accelerator = acceleratorOf(resolution);
  const reckoned = reckon(resolution, finding.model, accelerator, document, options);
  const { estimate, problem } = reckoned;

  const { callers, deepspeed } = pairsOf(again);
  const mismatches = deepspeed.flatMap((other) => trainerMismatches(self, other, callers));
  const reported = [
    ...document.problems,
    ...reading.problems,
    ...config.directiveProblems,
    ...followed.problems,
    ...doubledKeys(config, members),
    ...mismatches,
  ];
  const misnamed = unknownNames(resolution, uri);
  const unnamed = resolution.unknown.filter(({ field }) => !misnamed.some((found) => found.field === field));
  const overridden = new Set(
    again.flatMap(({ config: other, relation }) => (relation === 'overridden' ? [other.uri] : [])),
  );
  const conflicts = [
    ...misnamed.map(({ field: _field, ...rest }): Problem => rest),
    ...directiveConflicts(resolution, uri),
    ...overriddenValues(facts, uri),
    ...replacedOptimizer(replaced, resolution, uri),
    ...linkConflicts(
      facts.filter(({ origin }) => !overridden.has(origin.location?.uri ?? '')),
      uri,
      reported,
    ),
    ...mismatchesBelow(self, followed.links, deepspeed, callers),
    ...arithmeticConflicts(resolution, uri, reported),
    ...rejectedValues(resolution, uri, reported),
  ];
  // While the syntax is broken, half a file is read: what follows from it would come and go with each key pressed.
  const broken = document.problems.some(({ code, severity }) => code === 'syntax' && severity === 'error');
  const verdict = (problem && withoutFiles(problem, followed)) ?? unknownProblem(unnamed, document);
  const verdicts = broken ? [] : [verdict, reckoned.hostProblem].filter((found) => found !== undefined);
  return {
    uri,
    document,
    dialect,
    reading,
    links: followed.links,
    filled: dialect.id === 'deepspeed' ? filledAutos(self, callers) : [],
    files: [
      ...new Set([
        uri,
        ...configs.map((other) => (other === self ? uri : other.uri)),
        ...configs.flatMap(({ whole }) => partsBeside(uri, whole)),
        ...(project ? [project.uri] : []),
        ...(finding.uri ? [finding.uri] : []),
      ]),
    ],
    resolved: resolution,
    model: finding.model,
    accelerator,
    estimate,
    problems: inFileOrder([...reported, ...conflicts, ...verdicts]),
  };
}
