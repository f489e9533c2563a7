import type { Asking } from '../../dialects/dialect';
import type { Accelerator } from '../../hardware/accelerator';
import { anonymousAccelerator, findAccelerator } from '../../hardware/catalog';
import { lacksTargets } from '../../memory/adapter-selection';
import { promptGap } from '../../memory/prompt-gap';
import { taskOfClass } from '../../model/class-task';
import { ofTransformers } from '../../model/families/llama-like';
import type { Model, SampleLength } from '../../model/model';
import { lacksKernel, languageType, precedesSdpa, predatesSdpa } from '../../run/behaviours';
import { modelParallelSize, unevenLayout } from '../../run/derive';
import type { FieldPath, RunValues } from '../../run/fields';
import { linearPattern } from '../../run/linear-pattern';
import type { Needs } from '../../run/oldest-releases';
import { type Fact, fact, isStated, type Origin, type OriginKind } from '../../run/origin';
import { fieldError } from '../../run/parse-field';
import { type Resolution, sameValue, strongest } from '../../run/resolve';
import { isAtLeast } from '../../terms/version';
import { isSameLocation } from '../../text/place';
import { say } from '../../wording/say';
import { withoutUnread } from '../doubt';
import { type MovedMeasurement, resolvedWithMeasured } from '../measured-facts';
import type { Member } from '../member';
import type { ModelFinding } from '../model-source';
import { neededReleases } from '../needed-releases';
import { leavesTrainerOpen } from '../open-trainer';
import { type Collected, factsOfValues } from './collect';
import type { Known } from './know';
import type { Read } from './read';
import type { SettledRun } from './settle';

/** The run, joined from all statements. */
export interface Resolved {
  /** Every statement that counts, strongest origin not first. */
  readonly facts: readonly Fact[];
  readonly resolution: Resolution;
  readonly accelerator?: Accelerator;
  /** What was measured, and does not count since the run is another. */
  readonly moved: readonly MovedMeasurement[];
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

/** Where a run states which model it has. */
const MODEL_NAMES = ['model.id', 'model.path', 'model.config'] as const satisfies readonly FieldPath[];

/** A model that is named but not known keeps the run from being complete. */
function withModel(resolution: Resolution, finding: ModelFinding): Resolution {
  if (finding.model || finding.reason === undefined) {
    return resolution;
  }
  // Another model than the one that is named is no example of it.
  const example = finding.unnamed ? {} : { example: '...' };
  const kinds = MODEL_NAMES.map((field) => resolution.origins[field]?.kind);
  const stated = kinds.some((kind) => kind !== undefined && BY_THE_FILE.has(kind));
  const missing = { field: 'model.id', reason: finding.reason, ...example } as const;
  return {
    ...resolution,
    unknown: [{ ...missing, ...(stated ? { stated } : {}) }, ...resolution.unknown],
    run: undefined,
  };
}

/** An adapter whose modules neither the run nor PEFT names cannot be made: nothing is estimated. Names that are not known are names. */
function withTargets(resolution: Resolution, model: Model | undefined): Resolution {
  const named = resolution.unknown.some(({ field }) => field === 'lora.targets');
  if (!model || named || !lacksTargets(resolution.values, model)) return resolution;
  const reason = say(
    'PEFT lists no modules for model_type "{0}" (as of {1}) and stops where the run names none: `target_modules` is needed, such as `all-linear`.',
    model.modelType,
    '0.21',
  );
  return {
    ...resolution,
    unknown: [...resolution.unknown, { field: 'lora.targets', reason }],
    run: undefined,
  };
}

/** PEFT stops on a regular expression that Python cannot read, and nobody adapts what it lists for the model in its place. */
function withPattern(resolution: Resolution): Resolution {
  const { 'lora.targetPattern': pattern, 'method.kind': method } = resolution.values;
  if (pattern === undefined || method !== 'lora' || linearPattern(pattern, true)) return resolution;
  const shown = pattern.length > LONGEST_SHOWN ? `${pattern.slice(0, LONGEST_SHOWN)}...` : pattern;
  const reason = say('The regular expression of the modules cannot be read: `{0}`.', shown);
  return {
    ...resolution,
    unknown: [...resolution.unknown, { field: 'lora.targets', reason }],
    run: undefined,
  };
}

/** Characters of a pattern that are quoted. */
const LONGEST_SHOWN = 40;

/** Statements that none in a comment or a project file outweighs. */
const BY_THE_FILE: ReadonlySet<OriginKind> = new Set([
  'command-line',
  'overriding-file',
  'file',
  'directive',
]);

/** GPUs that do not divide into the groups that the run asks for: nothing starts on them, and nothing is estimated. */
function withLayout(resolution: Resolution): Resolution {
  const { values, unknown } = resolution;
  const reason = unevenLayout(values);
  if (reason === undefined || unknown.some(({ field }) => field === 'hardware.gpus')) return resolution;
  const kind = resolution.origins['hardware.gpus']?.kind;
  const supplied =
    kind !== undefined && BY_THE_FILE.has(kind)
      ? { stated: true as const }
      : { example: String(modelParallelSize(values)) };
  return {
    ...resolution,
    unknown: [...unknown, { field: 'hardware.gpus', reason, ...supplied }],
    run: undefined,
  };
}

/** What is missing with values that go with the run's kind; what the model fixes is not asked for beside the model. */
function withExamples(
  resolution: Resolution,
  asking: Asking | undefined,
  model: Model | undefined,
): Resolution {
  if (!asking) return resolution;
  const { examples, fixedByModel = [] } = asking;
  const asked = resolution.unknown.filter(
    ({ field }) => model !== undefined || !fixedByModel.includes(field),
  );
  const named = resolution.values['model.id'] !== undefined;
  const unknown = asked.map((missing) => {
    // A model that is named and not known is of a family that nobody knows: one of another stands for nothing.
    const isOther = named && /^model\./.test(missing.field);
    const example = missing.example ?? (isOther ? '...' : examples[missing.field]);
    return example === undefined ? missing : { ...missing, example };
  });
  return { ...resolution, unknown };
}

/** The lengths of a sample that the model itself fixes or bounds, where no file states them. */
function ownLengths({ sampleLength, targetLength }: Partial<Model>, stated: readonly Fact[]): Fact[] {
  const own = (field: 'batch.sequence' | 'batch.targetSequence', length: SampleLength | undefined) => {
    const known = stated.some(
      (other) => other.field === field && fieldError(field, other.value) === undefined,
    );
    if (!length || known) return [];
    const { note, bounds, ofPixels } = length;
    const pixels = ofPixels && strongest(stated, 'batch.imagePixels')?.value;
    if (ofPixels && typeof pixels === 'number') {
      const words = say('what an image of {0} pixels gives', pixels);
      return [fact(field, ofPixels(pixels), { kind: 'inferred', note: words })];
    }
    return [
      fact(field, length.tokens, { kind: 'inferred', note: note(), ...(bounds ? { guess: true } : {}) }),
    ];
  };
  return [...own('batch.sequence', sampleLength), ...own('batch.targetSequence', targetLength)];
}

/**
 * How long the targets of an encoder with a decoder are, which nothing states: as long as the source, beside another length that may be as
 * right. What labels or scores a text gives both sides the same.
 */
function supposedTargets(model: Model | undefined, stated: readonly Fact[]): Fact[] {
  const field = 'batch.targetSequence';
  const source = strongest(stated, 'batch.sequence')?.value;
  const objective = strongest(stated, 'method.objective')?.value ?? 'lm';
  const isOpen = objective === 'lm' && typeof source === 'number' && strongest(stated, field) === undefined;
  // What hears hands over as much of every sample.
  if (!isOpen || !model?.decoder || model.decoder.encoded !== undefined) return [];
  const note = say('assumed targets as long as the source: `{0}` states another length', field);
  const orElse = String(Math.max(1, Math.ceil(source / SHORTER)));
  return [fact(field, source, { kind: 'inferred', note, guess: true, orElse })];
}

/** How much shorter than its source a target may well be, such as a summary. */
const SHORTER = 4;

/** First release of PyTorch that transformers runs SDPA with (`import_utils.py`, `is_torch_sdpa_available`). */
const RUNS_SDPA = '2.1.1';

/** Whether code that is read loads the model itself, wherever its name stands: what it leaves to transformers is chosen there. */
function loadsModel(members: readonly Member[]): boolean {
  return members.some(
    ({ config: { document, reading } }) =>
      document.format === 'python' && reading.facts.some(({ field }) => field === 'model.id'),
  );
}

/**
 * The attention that transformers runs where nobody asks for any: the eager one where the class of the model has no SDPA, or runs it on demand
 * alone, and SDPA of the others, which is certain of code that loads the model itself. Older releases than have SDPA choose it for no model,
 * whichever it is. `values`: versions.
 */
function ownAttention(
  model: Model | undefined,
  stated: readonly Fact[],
  values: RunValues,
  isLoaded: boolean,
): Fact[] {
  const release = values['version.transformers'];
  const field = 'attention.implementation';
  const code = stated.find((other) => other.field === 'model.code')?.value ?? 'transformers';
  if (code !== 'transformers' || stated.some((other) => other.field === field)) return [];
  if (!model) {
    if (!precedesSdpa(release)) return [];
    const note = say('transformers {0} chooses no SDPA', release ?? '');
    return [fact(field, 'eager', { kind: 'inferred', note })];
  }
  const { config, modelType } = model;
  // Towers beside a language model have kernels of their own.
  const isAlone = languageType(config) === config.model_type;
  const lacks = isAlone ? lacksKernel('sdpa', modelType, release) : predatesSdpa(modelType, release);
  if (lacks) {
    // Another release may well choose it.
    const note =
      release === undefined
        ? say('transformers chooses no SDPA for `{0}`', modelType)
        : say('transformers {0} chooses no SDPA for `{1}`', release, modelType);
    return [fact(field, 'eager', { kind: 'inferred', note })];
  }
  if (!isLoaded || !isAlone || !ofTransformers(modelType)) return [];
  if (isAtLeast(values['version.torch'], RUNS_SDPA) === false) {
    const note = say('transformers runs no SDPA before PyTorch {0}', RUNS_SDPA);
    return [fact(field, 'eager', { kind: 'inferred', note })];
  }
  const note = say('transformers {0} chooses SDPA for `{1}`', release ?? '', modelType);
  return [fact(field, 'sdpa', { kind: 'inferred', note })];
}

/**
 * What a model is trained for where nobody states which class loads it: what the head is for that its `config.json` names, which
 * `AutoModel` of a trainer for it makes again. A script that is read names the class itself.
 */
function ownObjective(model: Model | undefined, stated: readonly Fact[], members: readonly Member[]): Fact[] {
  const field = 'method.objective';
  const architectures = model?.config.architectures;
  const named: unknown = Array.isArray(architectures) ? architectures[0] : undefined;
  const task = typeof named === 'string' ? taskOfClass(named) : undefined;
  if (typeof named !== 'string' || task === undefined || strongest(stated, field) !== undefined) return [];
  const files = members.map(({ config }) => config);
  if (!leavesTrainerOpen(files) || files.some(({ dialect }) => dialect.format === 'python')) return [];
  const note = say('the `config.json` of the model names `{0}`', named);
  return [fact(field, task, { kind: 'inferred', note, guess: true, orElse: 'lm' })];
}

/** What the name of a repackaged model states of its weights. */
function storedAs({ values, note, because = {} }: ModelFinding): Fact[] {
  if (!values) return [];
  return factsOfValues(values).map((stated) => ({
    ...stated,
    origin: { kind: 'default' as const, note: because[stated.field] ?? note },
  }));
}

/** Whether the same is stated in the same order, for the same reasons and at the same places. */
function isSameList(some: readonly Fact[], others: readonly Fact[]): boolean {
  return some.length === others.length && some.every((stated, index) => isSameFact(stated, others[index]));
}

function isSameNeeds(one: Needs, other: Needs): boolean {
  const fields = Object.keys(one) as FieldPath[];
  return fields.length === Object.keys(other).length && fields.every((field) => one[field] === other[field]);
}

function isSameFact(one: Fact, other: Fact | undefined): boolean {
  if (one === other) return true;
  if (one.field !== other?.field || !sameValue(one.value, other.value)) return false;
  const { location: here, ...reason } = one.origin;
  const { location: there, ...otherReason } = other.origin;
  return isSameLocation(here, there) && isSameReason(reason, otherReason);
}

function isSameReason(one: Omit<Origin, 'location'>, other: Omit<Origin, 'location'>): boolean {
  const keys = Object.keys(one) as (keyof typeof one)[];
  return keys.length === Object.keys(other).length && keys.every((key) => one[key] === other[key]);
}

/** A note on the model's origin where what was taken is not exactly what was named. */
function noteModel(resolution: Resolution, finding: ModelFinding): Resolution {
  const field = resolution.values['model.path'] === undefined ? 'model.id' : 'model.path';
  const origin = resolution.origins[field];
  return finding.note && origin
    ? { ...resolution, origins: { ...resolution.origins, [field]: { ...origin, note: finding.note } } }
    : resolution;
}

/** A run whose virtual tokens do not come into its model stops, and is not estimated. */
function withPrompts(resolution: Resolution, model: Model | undefined): Resolution {
  const reason = model && resolution.run && promptGap(resolution.run, model);
  if (reason === undefined) return resolution;
  return { ...resolution, unknown: [...resolution.unknown, { field: 'lora.kind', reason }], run: undefined };
}

/** What some towers compute is not known: a run that shows them images is not estimated. */
function withImages(resolution: Resolution, model: Model | undefined): Resolution {
  if (model?.playsImages !== false || resolution.values['batch.images'] === 0) return resolution;
  const reason = say(
    'What the vision tower of {0} computes is not known. Set 0 images per sample where samples are text alone.',
    model.modelType,
  );
  return {
    ...resolution,
    unknown: [...resolution.unknown, { field: 'batch.images', reason }],
    run: undefined,
  };
}

/**
 * Who wins for each field, the model and the card that the run is on. What was settled holds where nothing else is stated now than
 * then: no file reads otherwise with what is known of the run, and neither the model nor this machine adds a statement. Else it
 * is another question: the world's size changes what `auto` and many a key mean, and these statements may win or lose.
 */
export function resolve(
  { commandLine, around, measured, members }: Collected,
  { finding, detected, values }: Known,
  { facts: stated, autos, unread, notModelled, self, members: again }: Read,
  settled?: SettledRun,
): Resolved {
  const all = [...commandLine, ...stated, ...around, ...detected, ...storedAs(finding), ...autos];
  // Who trains on CPUs copies the model to no GPU, whatever its framework does by default.
  const onCpu = unread.some((one) => one.onCpu);
  const read = onCpu ? all.filter((one) => one.field !== 'parallel.data' || isStated(one.origin)) : all;
  // Arguments that are not known may be this one, too.
  const isLeft = unread.some(({ fields }) =>
    fields?.some((field) => field === 'attention.implementation' || field === 'quantization.kind'),
  );
  const attention = ownAttention(finding.model, read, values, !isLeft && loadsModel(members));
  const objective = ownObjective(finding.model, read, members);
  const lengths = ownLengths(finding.model ?? {}, read);
  const targets = supposedTargets(finding.model, [...read, ...objective, ...lengths]);
  const stating = [...read, ...objective, ...lengths, ...targets, ...attention];
  const isOfLibrary = values['model.code'] === 'transformers' && values['model.ownCode'] !== true;
  const needs = neededReleases(again, isOfLibrary ? finding.model : undefined);
  const joined =
    settled && isSameList(stating, settled.stating) && isSameNeeds(needs, settled.joined.resolution.needs)
      ? settled.joined
      : resolvedWithMeasured(stating, measured, members, needs);
  const facts = [...stating, ...joined.facts];
  const whole = withModel(withoutUnread(joined.resolution, unread), finding);
  const pictured = withImages(withPattern(withTargets(whole, finding.model)), finding.model);
  const noted = noteModel(withLayout(withPrompts(pictured, finding.model)), finding);
  const asked = withExamples(noted, self.reading.asking, finding.model);
  const resolution = notModelled ? { ...asked, unknown: [], run: undefined } : asked;
  return { facts, resolution, accelerator: acceleratorOf(resolution), moved: joined.moved };
}
