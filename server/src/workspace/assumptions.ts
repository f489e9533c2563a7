import { entryOf } from '../config/lookup';
import type { ConfigDocument, ConfigNode } from '../config/node';
import { LOADS } from '../config/python/made-of';
import { flagOf } from '../config/scalar';
import { ofTransformers } from '../model/families/llama-like';
import { type Behaviours, behavioursOfValues, takesPart } from '../run/behaviours';
import { FIELD_PATHS, type FieldPath, type RunValues } from '../run/fields';
import { runsOldSdpa } from '../run/old-sdpa';
import { ORIGIN_KINDS, type Origin, type OriginKind } from '../run/origin';
import { isAssumed } from '../run/resolve';
import { type AdapterKind, RANKED_ADAPTERS } from '../terms/adapters';
import { UNKNOWN_PACKAGES } from '../terms/state-packages';
import { fileName } from '../text/uri';
import { say } from '../wording/say';
import type { Analysis } from './analysis';

/** Who states a value where no file is named. */
export const KIND_LABELS: Readonly<Record<OriginKind, string>> = {
  'command-line': 'command line',
  'overriding-file': 'overriding file',
  file: 'this file',
  directive: 'directive in this file',
  'linked-file': 'linked file',
  project: 'oomlint.yaml',
  setting: 'setting of the editor',
  environment: 'environment',
  detected: 'found on this machine',
  default: 'default',
  inferred: 'inferred',
};

/** Who states a value, for people: `zero3.json`, `DeepSpeed 0.19 default`. */
function originName(origin: Origin): string {
  const { kind, location, note } = origin;
  const named =
    (kind === 'linked-file' || kind === 'overriding-file' || kind === 'project') && location !== undefined;
  const who = named ? fileName(location.uri) : say(KIND_LABELS[kind]);
  if (note === undefined || note === who) {
    return who;
  }
  return kind === 'inferred' ||
    kind === 'default' ||
    kind === 'detected' ||
    kind === 'environment' ||
    note.startsWith(who)
    ? note
    : `${who}: ${note === 'directive' ? say('directive') : note}`;
}

/** Adapters that scale by a numerator (`tuners/<kind>/config.py` of peft 0.21). */
const SCALED: ReadonlySet<AdapterKind> = new Set(['lora', 'adalora', 'loha', 'lokr']);

/** One process has nobody to share with (Lightning takes `SingleDeviceStrategy`, Accelerate and the Trainer wrap nothing); Megatron's wrapper stays. */
const isOneReplica = (values: RunValues): boolean =>
  values['parallel.data'] === 'ddp' &&
  values['hardware.gpus'] === 1 &&
  values['hardware.nodes'] === 1 &&
  values['model.code'] !== 'megatron';

/** Fields that decide nothing unless something else is switched on. */
const CONDITIONS: readonly {
  readonly group: RegExp;
  readonly holds: (values: RunValues, does: Behaviours) => boolean;
}[] = [
  { group: /^lora\./, holds: (values) => values['method.kind'] === 'lora' },
  // LN tuning trains copies in the type of their originals (`ln_tuning/model.py`, `_cast_adapter_dtype`).
  { group: /^lora\.dtype$/, holds: (values) => values['lora.kind'] !== 'ln-tuning' },
  { group: /^lora\.rank$/, holds: (values) => RANKED_ADAPTERS.has(values['lora.kind'] ?? 'lora') },
  { group: /^lora\.alpha$/, holds: (values) => SCALED.has(values['lora.kind'] ?? 'lora') },
  { group: /^batch\.choices/, holds: (values) => values['method.objective'] === 'multiple-choice' },
  { group: /^lora\.vector/, holds: (values) => values['lora.kind'] === 'vblora' },
  {
    group: /^lora\.virtualTokens/,
    holds: (values) => /^(?:prompt|prefix|p)-tuning$/.test(values['lora.kind'] ?? ''),
  },
  // Adapters whose branch is scaled by it (peft 0.21, `tuners/`): the others have a scale of their own, or none.
  {
    group: /^lora\.alpha/,
    holds: (values) => /^(?:lora|adalora|loha|lokr)$/.test(values['lora.kind'] ?? 'lora'),
  },
  // `bnb_4bit_quant_storage` and `bnb_4bit_use_double_quant`.
  {
    group: /^quantization\.(?:storage|double)/,
    holds: (values) => /^(?:nf4|fp4)$/.test(values['quantization.kind'] ?? 'none'),
  },
  // Without autocast nothing is cast: what multiplies whole or 8-bit weights does so in their own type or that of its input.
  {
    group: /^precision\.compute/,
    holds: (values) =>
      values['precision.scheme'] !== 'native' ||
      !/^(?:none|int8)$/.test(values['quantization.kind'] ?? 'none'),
  },
  { group: /^quantization\.(?!kind)/, holds: (values) => (values['quantization.kind'] ?? 'none') !== 'none' },
  {
    group: /^zero\.stage/,
    holds: (values) => values['parallel.data'] === 'zero' || values['parallel.data'] === 'horovod',
  },
  { group: /^zero\.(?!stage)/, holds: (values) => values['parallel.data'] === 'zero' },
  { group: /^zero\.sequenceReduce/, holds: (values) => (values['parallel.ulysses'] ?? 1) > 1 },
  { group: /^parallel\.(fusionBuffer|variable)/, holds: (values) => values['parallel.data'] === 'horovod' },
  {
    group: /^(kernels\.(xla|resourceVariables|fused)|loss\.tokenShare|precision\.layerNorm)/,
    holds: (_, { buildsGraph }) => buildsGraph,
  },
  {
    group: /^(version\.(torch|transformers|bitsandbytes|liger)|(attention|loss)\.implementation)/,
    holds: (_, { buildsGraph }) => !buildsGraph,
  },
  {
    group: /^zero\.(prefetch|persistence|maxLive|maxReuse|subGroup|hpz|mics|leaf)/,
    holds: (values) => values['zero.stage'] === 3,
  },
  { group: /^fsdp\./, holds: (values) => /^fsdp/.test(values['parallel.data'] ?? '') },
  { group: /^ddp\./, holds: (values) => values['parallel.data'] === 'ddp' },
  { group: /^(?:parallel\.data|ddp\.)/, holds: (values) => !isOneReplica(values) },
  {
    group: /^offload\.optimizerRatio/,
    holds: (values) => (values['offload.optimizer'] ?? 'none') !== 'none',
  },
  {
    group: /^offload\.pinMemory/,
    holds: (values) =>
      (values['offload.optimizer'] ?? 'none') !== 'none' ||
      (values['offload.parameters'] ?? 'none') !== 'none',
  },
  { group: /^offload\.optimizerBuffers/, holds: (values) => values['offload.optimizer'] === 'nvme' },
  {
    group: /^offload\.parameter(Buffer|sInHost)/,
    holds: (values) => values['offload.parameters'] === 'nvme',
  },
  {
    group: /^activations\.offloadOverlap/,
    holds: (values) =>
      values['activations.offload'] === true && (values['activations.checkpointing'] ?? 'none') === 'none',
  },
  {
    group: /^precision\.masterWeights/,
    holds: (values) => !/^(?:native|autocast)$/.test(values['precision.scheme'] ?? ''),
  },
  {
    group: /^activations\.(checkpointEvery|reentrant)/,
    holds: (values) => (values['activations.checkpointing'] ?? 'none') !== 'none',
  },
  {
    group: /^parallel\.(pipelineSchedule|virtualStages)/,
    holds: (values) => (values['parallel.pipeline'] ?? 1) > 1,
  },
  { group: /^parallel\.sequence/, holds: (values) => (values['parallel.tensor'] ?? 1) > 1 },
  { group: /^version\.bitsandbytes/, holds: (values) => (values['quantization.kind'] ?? 'none') !== 'none' },
  // Kernels that take less without a mask are no matter.
  {
    group: /^attention\.unmaskedBatches/,
    holds: (values) => values['precision.compute'] === 'fp32' || runsOldSdpa(values),
  },
  { group: /^version\.liger/, holds: (values) => values['kernels.liger'] === true },
  {
    group: /^optimizer\.(rank|targets)/,
    holds: (values) => /galore|apollo/.test(values['optimizer.name'] ?? ''),
  },
  {
    group: /^parallel\.(stage|firstStage|lastStage)Layers/,
    holds: (values) => (values['parallel.pipeline'] ?? 1) > 1,
  },
  { group: /^evaluation\.(?!enabled)/, holds: (values) => values['evaluation.enabled'] === true },
  { group: /^rollout\./, holds: (values) => (values['rollout.engine'] ?? 'none') !== 'none' },
  // vLLM takes as many sequences at a time as its share of the memory has room for.
  { group: /^rollout\.(?:steps|batch)/, holds: (values) => values['rollout.engine'] === 'transformers' },
  { group: /^version\.deepspeed/, holds: (values) => values['parallel.data'] === 'zero' },
  { group: /^(framework|schedule|batch\.images)/, holds: () => false },
];

/** Sizes of 1, empty lists and switches that are off say nothing where nobody set them. */
const isIdle = (field: FieldPath, value: unknown) =>
  (value === 1 && /^(parallel\.|activations\.checkpointEvery|rollout\.tensor)/.test(field)) ||
  (value === false && !/^(fsdp|zero)\./.test(field)) ||
  value === 'none' ||
  value === 0 ||
  (Array.isArray(value) && value.length === 0) ||
  (typeof value === 'object' && value !== null && Object.keys(value).length === 0);

function matters(field: FieldPath, values: RunValues, does: Behaviours, origin: Origin): boolean {
  if (CONDITIONS.some(({ group, holds }) => group.test(field) && !holds(values, does))) return false;
  if (field.startsWith('version.') && !takesPart(field.slice('version.'.length), values.framework))
    return false;
  return origin.kind !== 'default' || !isIdle(field, values[field]);
}

/** Whether the code of a checkpoint's own repository may run, where it has any: whose code it is only the repository knows. */
function bringsCode({ root, program }: ConfigDocument): boolean {
  const isOn = (node: ConfigNode | undefined) => flagOf(node) === true;
  if (root?.kind === 'map' && isOn(entryOf(root, 'trust_remote_code')?.value)) return true;
  const loads = program?.calls.filter(({ callee }) => LOADS.test(callee)) ?? [];
  return loads.some(({ named }) =>
    named.some(
      ({ key, value }) => key === 'trust_remote_code' && value.kind === 'scalar' && value.value === true,
    ),
  );
}

/** What the code that loads a model decides. */
const OF_LOADING: ReadonlySet<FieldPath> = new Set(['method.kind', 'precision.weights', 'lora.dtype']);

/** What the model decides itself: whose code it runs, which of its kernels, and how large what its caller fills in by its width is. */
const OF_MODEL: ReadonlySet<FieldPath> = new Set(['model.code', 'attention.implementation']);
const FILLED_BY_WIDTH: Readonly<Partial<Record<FieldPath, string>>> = {
  'zero.reduceBucket': 'zero_optimization.reduce_bucket_size',
  'zero.prefetchBucket': 'zero_optimization.stage3_prefetch_bucket_size',
  'zero.persistenceThreshold': 'zero_optimization.stage3_param_persistence_threshold',
};

/**
 * What is taken of a run by its model where that is not known: the type that it is loaded in, and in code, which may train on pictures and sound,
 * the task and the mask of padding, which only models of text have as a rule.
 */
function isOfUnknown(
  field: FieldPath,
  value: unknown,
  origin: Origin | undefined,
  { format }: ConfigDocument,
): boolean {
  const isCode = format === 'python';
  if (isAssumed(origin)) return field === 'precision.weights' || (field === 'method.objective' && isCode);
  const masks = /^attention\.(?:mask|unmaskedBatches)$/.test(field) && value === true;
  return masks && isCode && origin?.kind === 'inferred';
}

/** That nothing is known of the packages of kernels is no value: what is taken then is asked about (`open-questions.ts`). */
const namesNoKernels = (values: RunValues): boolean =>
  values['kernels.states']?.every((name) => name === UNKNOWN_PACKAGES) ?? true;

interface Assumption {
  readonly field: FieldPath;
  readonly value: unknown;
  readonly source: string;
  readonly link?: string;
  readonly kind: OriginKind;
}

/**
 * Values of a run that the file itself does not state, with who states it: guesses first, then the strongest who states it. What is asked for is not assumed,
 * nor what hangs on it.
 */
export function assumptionsOf({ document, resolved, model, unread = [], members }: Analysis): Assumption[] {
  const { origins } = resolved;
  const asked = new Set<FieldPath>(resolved.unknown.map(({ field }) => field));
  const values = Object.fromEntries(
    Object.entries(resolved.values).filter(([field]) => !asked.has(field as FieldPath)),
  ) as RunValues;
  const does = behavioursOfValues(values);
  const left = new Set(unread.flatMap(({ fields = [] }) => fields));
  // Of a run that is not estimated nothing is taken in the place of what its code states.
  const isRefused = unread.some(({ kind }) => kind === 'refused');
  const autos = new Set(members?.flatMap(({ reading }) => reading.autos.map(({ key }) => key)));
  const isAuto = (field: FieldPath) => autos.has(FILLED_BY_WIDTH[field] ?? '');
  const type = model?.config?.model_type;
  const found = FIELD_PATHS.flatMap((field): Assumption[] => {
    const origin = origins[field];
    if (field === 'kernels.states' && (!model?.statePackages || namesNoKernels(values))) return [];
    if (field === 'model.code' && isAssumed(origin) && bringsCode(document)) return [];
    // The file states it, with something that is not known: the default is no answer to that.
    if (isAssumed(origin) && (isRefused || left.has(field))) return [];
    // Code that is not seen loads the model: how it does, and what it trains of it, is no default.
    if (isAssumed(origin) && document.format === 'python' && asked.has('model.id') && OF_LOADING.has(field))
      return [];
    // A type that transformers has not runs by code of its own, whatever loads it.
    if (isAssumed(origin) && OF_MODEL.has(field) && typeof type === 'string' && !ofTransformers(type))
      return [];
    if (isAssumed(origin) && model === undefined && (OF_MODEL.has(field) || isAuto(field))) return [];
    // What a model that is not known, or not read, is published in, is trained for and is given beside its samples, nobody knows.
    if ((isRefused || asked.has('model.id')) && isOfUnknown(field, values[field], origin, document))
      return [];
    if (asked.has(field) || !origin || origin.kind === 'file' || !matters(field, values, does, origin)) {
      return [];
    }
    const { kind, source: link } = origin;
    return [{ field, value: values[field], source: originName(origin), link, kind }];
  });
  // What stands in for a value that decides what the run needs comes before all that somebody states.
  const rank = ({ field, kind }: Assumption) =>
    origins[field]?.guess === true ? -1 : ORIGIN_KINDS.indexOf(kind);
  return found.sort((a, b) => rank(a) - rank(b));
}
