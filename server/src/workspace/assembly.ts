import type { ConfigDocument, Problem } from '../config/node';
import { fillAutos } from '../dialects/auto';
import type { Estimate, EstimateInput } from '../estimate';
import type { Accelerator } from '../hardware/accelerator';
import { anonymousAccelerator, findAccelerator, matchAccelerator } from '../hardware/catalog';
import type { DetectedGpus } from '../hardware/detect';
import type { Model } from '../model/model';
import { FIELD_PATHS, type RunValues } from '../run/fields';
import { type Fact, fact } from '../run/origin';
import { type Resolution, resolveRun } from '../run/resolve';
import type { Analysis } from './analysis';
import {
  arithmeticConflicts,
  directiveConflicts,
  linkConflicts,
  rejectedValues,
  unknownNames,
} from './conflicts';
import type { FullReading, TrackedFiles } from './file-cache';
import { hostProblem } from './host-verdict';
import { type ConfigReading, factsOfLinked, followLinks } from './links';
import { findModelOf, type ModelFinding } from './model-source';
import { findParents } from './parents';
import { PROJECT_FILE_NAMES, projectFacts } from './project-file';
import { canonicalUri, foldersUpward } from './uri';
import { firstKey, unknownProblem, verdictProblem } from './verdict';

export interface AssemblyOptions {
  readonly settings?: (uri: string) => RunValues | Promise<RunValues>;
  readonly commandLine?: readonly Fact[];
  readonly detect?: (uri: string) => Promise<DetectedGpus | undefined>;
  readonly estimate: (input: EstimateInput) => Estimate;
}

/** Oomlint failed on this file; the rest of what is known still counts. */
export function internalError(error: unknown, document: ConfigDocument): Problem {
  const reason = error instanceof Error ? error.message : String(error);
  return {
    code: 'internal-error',
    severity: 'warning',
    message: `Oomlint failed on this file: ${reason.slice(0, 200)}. Please report it with the file.`,
    range: firstKey(document),
  };
}

function settingFacts(values: RunValues): Fact[] {
  return FIELD_PATHS.flatMap((field) => {
    const value = values[field];
    return value === undefined
      ? []
      : fact(field, value as never, { kind: 'setting', note: 'setting of the editor' });
  });
}

/** GPUs of this machine count only where nobody names a GPU: the run may go elsewhere. */
function detectedFacts(gpus: DetectedGpus | undefined): Fact[] {
  if (!gpus) {
    return [];
  }
  const origin = { kind: 'detected' as const, note: 'found on this machine by nvidia-smi' };
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
    note: `GPUs of ${instance.name}`,
  };
  const gpus = (match.gpus ?? 1) * (values['hardware.nodes'] ?? 1);
  return [
    fact('hardware.gpu', match.accelerator.name, origin),
    fact('hardware.instance', match.instance.instance, origin),
    fact('hardware.gpus', gpus, origin),
  ];
}

async function nearestProject(uri: string, files: TrackedFiles) {
  for (const folder of foldersUpward(uri)) {
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

/** Files that make up one run with the one at hand, and the facts they add. */
interface Company {
  readonly links: Analysis['links'];
  readonly configs: readonly ConfigReading[];
  readonly problems: readonly Problem[];
}

async function findCompany(config: FullReading, files: TrackedFiles): Promise<Company> {
  const self = canonicalUri(config.uri);
  const { links, linked, problems } = await followLinks(config, files);
  const others: ConfigReading[] = [...linked];
  const add = (other: ConfigReading) => {
    if (canonicalUri(other.uri) !== self && !others.some(({ uri }) => uri === other.uri)) {
      others.push(other);
    }
  };
  // Of several files that use this one the nearest counts: their runs exclude each other.
  const parent = (await findParents(config.uri, files)).find(
    ({ uri }) => !others.some((other) => other.uri === uri),
  );
  if (parent) {
    add(parent);
    (await followLinks(parent, files)).linked.forEach(add);
  }
  return { links, configs: others, problems };
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
  return { ...config, reading: config.dialect.read(config.document, { known: values, model }) };
}

/** What Accelerate and the Trainer put in the place of `auto`, in any file of the run. */
function autoFacts(configs: readonly ConfigReading[], known: RunValues, model: Model | undefined): Fact[] {
  return configs.flatMap(({ uri, dialect, reading }) =>
    fillAutos(dialect.id, reading.autos, { known, hiddenSize: model?.hiddenSize, uri }),
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

/** Joins all that is known about one config into its analysis. */
export async function assemble(
  config: FullReading,
  files: TrackedFiles,
  options: AssemblyOptions,
): Promise<Analysis> {
  const { uri, document, dialect } = config;
  const company = await findCompany(config, files);
  const project = await nearestProject(uri, files);
  const settings = settingFacts((await options.settings?.(uri)) ?? {});
  const instance: Fact[] = [];
  const aroundOf = (others: readonly ConfigReading[]) => [
    ...config.directiveFacts,
    ...others.flatMap(factsOfLinked),
    ...(project ? projectFacts(project, uri) : []),
    ...settings,
    ...instance,
  ];
  const commandLine = options.commandLine ?? [];
  let facts = [...commandLine, ...config.reading.facts, ...aroundOf(company.configs)];
  let resolution = resolveRun(facts);
  instance.push(...instanceFacts(config, resolution.values));
  if (instance.length > 0) resolution = resolveRun([...facts, ...instance]);
  const detected =
    options.detect && resolution.values['hardware.gpu'] === undefined
      ? detectedFacts(await options.detect(uri))
      : [];
  const finding = await findModelOf(resolution.values, resolution.origins, uri, files);

  const again = readAgain(config, resolution.values, finding.model);
  const { reading } = again;
  const others = company.configs.map((other) => readAgain(other, resolution.values, finding.model));
  const autos = autoFacts([again, ...others], resolution.values, finding.model);
  facts = [
    ...commandLine,
    ...reading.facts,
    ...aroundOf(others),
    ...detected,
    ...storedAs(finding),
    ...autos,
  ];
  resolution = noteModel(withModel(resolveRun(facts), finding), finding);
  const accelerator = acceleratorOf(resolution);
  const reckoned = reckon(resolution, finding.model, accelerator, document, options);
  const { estimate, problem } = reckoned;

  const reported = [
    ...document.problems,
    ...reading.problems,
    ...config.directiveProblems,
    ...company.problems,
  ];
  const misnamed = unknownNames(resolution, uri);
  const unnamed = resolution.unknown.filter(({ field }) => !misnamed.some((found) => found.field === field));
  const conflicts = [
    ...misnamed.map(({ field: _field, ...rest }): Problem => rest),
    ...directiveConflicts(resolution, uri),
    ...linkConflicts(facts, uri),
    ...arithmeticConflicts(resolution, uri, reported),
    ...rejectedValues(resolution, uri, reported),
  ];
  // While the syntax is broken, half a file is read: what follows from it would come and go with each key pressed.
  const broken = document.problems.some(({ code, severity }) => code === 'syntax' && severity === 'error');
  const verdict = problem ?? unknownProblem(unnamed, document);
  const verdicts = broken ? [] : [verdict, reckoned.hostProblem].filter((found) => found !== undefined);
  return {
    uri,
    document,
    dialect,
    reading,
    links: company.links,
    files: [
      ...new Set([
        uri,
        ...company.configs.map((other) => other.uri),
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
