import { isNone, isTrue } from '../../config/python/node-of-value';
import type { PyCall, PyProgram, PyValue } from '../../config/python/value';
import { isAtLeast } from '../../terms/version';
import { argumentOf } from './call-block';
import { GIVES_BACK, type ModelChain } from './model-chain';
import { spreadsModel } from './python-model';

/** Where a model lies: on the GPU for sure, on the host, or wherever the code puts it when it runs. */
type Place = 'gpu' | 'host' | 'unsure';

/** Classes of transformers, sentence-transformers and diffusers that hold weights. */
const LOADS = /(?:^|\.)(?:AutoModel\w*|Autoencoder\w+|\w+For[A-Z]\w*|\w+Model|\w+Pipeline)\.from_pretrained$/;
/** Classes of other packages, which lie on the host until they are moved; what reads texts or sounds, or draws steps, has no weights to move. */
const LOADS_ELSE =
  /(?:^|\.)(?!\w*(?:Tokenizer\w*|Processor|FeatureExtractor|Config|Scheduler|Peft\w*)\.)[A-Z]\w*\.from_pretrained$/;
const ADAPTERS = /Peft\w*\.from_pretrained$/;
/** A pipeline of transformers, by its task or by its class. */
const PIPELINE = /^transformers\.(?:\w+\.)*(?:pipeline|\w+Pipeline)$/;
/** Models that go onto the GPU as they are made: `sentence_transformers/SentenceTransformer.py`, `vllm/entrypoints/llm.py`, `whisper/__init__.py`. */
export const PLACES_ITSELF =
  /^(?:sentence_transformers\.(?:\w+\.)*(?:SentenceTransformer|SparseEncoder|CrossEncoder)|vllm\.(?:\w+\.)*LLM|whisper\.load_model)$/;
/** SpeechBrain's models lie on the host unless `run_opts` name a device (`speechbrain/inference/interfaces.py`). */
const OF_HYPERPARAMETERS = /\.from_hparams$/;
/** Unsloth loads onto the GPU (`unsloth/models/loader.py`, `device_map = "sequential"`). */
const UNSLOTH = /(?:^|\.)Fast\w*Model\.from_pretrained$/;
/** The first release whose pipelines go onto the GPU where nothing is stated (transformers 4.47.0, `pipelines/base.py`: `device = 0`; 4.46.3: -1). */
const PIPED = '4.47';

/** Whether a call makes a model that has weights of its own. */
export const makesOther = ({ callee, of }: PyCall): boolean =>
  !of &&
  !ADAPTERS.test(callee) &&
  (LOADS.test(callee) ||
    LOADS_ELSE.test(callee) ||
    PIPELINE.test(callee) ||
    PLACES_ITSELF.test(callee) ||
    OF_HYPERPARAMETERS.test(callee));

/** Whether it makes a pipeline of transformers, which runs and never trains. */
export const isPipeline = ({ callee }: PyCall): boolean => PIPELINE.test(callee);

/** What is given a model and hands it on, or is it: methods one after the other, `.eval().cuda()`, Accelerate, and pipelines. */
export function handedOn({ calls }: PyProgram, call: PyCall): PyCall[] {
  const found: PyCall[] = [];
  const ids = new Set([call.id]);
  const holds = (value: PyValue | undefined): boolean => value?.kind === 'object' && ids.has(value.id);
  for (const one of calls) {
    const given = PIPELINE.test(one.callee)
      ? holds(argumentOf(one, 'model', pipedAt(one)))
      : one.callee === 'prepare' && one.positional.some(holds);
    if (!given && !(one.of && ids.has(one.of.id))) continue;
    found.push(one);
    if (PIPELINE.test(one.callee) || GIVES_BACK.test(one.callee)) ids.add(one.id);
  }
  return found;
}

/** Where a model lies when the training starts; undefined where nothing of it is a model of its own. */
export function placementOf(
  program: PyProgram,
  load: PyCall,
  steps: readonly PyCall[],
  release: string | undefined,
): Place | undefined {
  let place = placedBy(program, load, release);
  for (const step of steps) {
    const { callee, positional, conditions } = step;
    if (callee === 'cuda') place = 'gpu';
    else if (callee === 'prepare') place = 'gpu';
    else if (PIPELINE.test(callee)) place = pipedTo(program, step, release, place);
    else if (callee === 'cpu' || callee === 'to') {
      const device = callee === 'cpu' ? undefined : (argumentOf(step, 'device') ?? positional[0]);
      const moved = callee === 'cpu' ? 'host' : deviceOf(program, device);
      // It is gone only where nothing decides whether it moves.
      if (moved && !(moved === 'host' && conditions.length > 0)) place = moved;
    }
  }
  return place;
}

/**
 * The call that moves the model of a loop to the CPU, where the code does that alone: every move of it before that point names the CPU, by
 * its word and on no condition.
 */
export function movedToCpu(program: PyProgram, { ids }: ModelChain, before: PyCall): PyCall | undefined {
  const moves = program.calls.filter(
    ({ callee, of, id }) =>
      of !== undefined && ids.has(of.id) && id < before.id && /^(?:to|cuda|cpu)$/.test(callee),
  );
  const isHost = (step: PyCall) =>
    step.conditions.length === 0 &&
    (step.callee === 'cpu' ||
      (step.callee === 'to' &&
        deviceOf(program, argumentOf(step, 'device') ?? step.positional[0]) === 'host'));
  return moves.every(isHost) ? moves.at(-1) : undefined;
}

/** Where the call that makes it puts it. */
function placedBy(program: PyProgram, load: PyCall, release: string | undefined): Place | undefined {
  if (PIPELINE.test(load.callee)) {
    const model = argumentOf(load, 'model', pipedAt(load));
    // One that it is given is a step of that one.
    if (load.open || (model && model.kind !== 'scalar')) return undefined;
    return pipedTo(program, load, release, 'host');
  }
  if (PLACES_ITSELF.test(load.callee)) {
    const device = argumentOf(load, 'device');
    return device && !isNone(device) ? deviceOf(program, device) : 'gpu';
  }
  if (OF_HYPERPARAMETERS.test(load.callee)) {
    const options = argumentOf(load, 'run_opts');
    if (options?.kind !== 'dict') return options ? 'unsure' : 'host';
    return deviceOf(program, options.entries.find(({ key }) => key === 'device')?.value) ?? 'host';
  }
  if (!LOADS.test(load.callee)) return 'host';
  const map = argumentOf(load, 'device_map');
  if (map && !isNone(map)) return mapped(program, map);
  // Quantized weights go onto the GPU (`quantizers/quantizer_bnb_4bit.py`, `update_device_map`).
  const quantized = load.named.some(
    ({ key, value }) => /^(?:quantization_config|load_in_[48]bit)$/.test(key) && isGiven(value),
  );
  return UNSLOTH.test(load.callee) || quantized ? 'gpu' : 'host';
}

const isGiven = (value: PyValue): boolean =>
  value.kind === 'object' || value.kind === 'dict' || isTrue(value);

/** The model of a pipeline comes second; its classes take it first. */
const pipedAt = ({ callee }: PyCall): number => (/\.pipeline$/.test(callee) ? 1 : 0);

/** Where a pipeline puts its model; one that lies on the GPU stays there where nothing is stated. */
function pipedTo(
  program: PyProgram,
  call: PyCall,
  release: string | undefined,
  before: Place | undefined,
): Place | undefined {
  const map = argumentOf(call, 'device_map');
  if (map && !isNone(map)) return mapped(program, map);
  const device = argumentOf(call, 'device');
  // Negative numbers leave it where it is.
  if (device?.kind === 'scalar' && typeof device.value === 'number' && device.value < 0) return before;
  if (device && !isNone(device)) return deviceOf(program, device) ?? before;
  return isAtLeast(release, PIPED) === false ? before : 'gpu';
}

function mapped(program: PyProgram, map: PyValue): Place {
  if (map.kind === 'dict') {
    const places = map.entries.map(({ value }) => deviceOf(program, value) ?? 'unsure');
    const sure = places.find((place) => place === 'gpu');
    return sure ?? (map.open || places.includes('unsure') ? 'unsure' : 'host');
  }
  if (spreadsModel(map)) return 'gpu';
  return deviceOf(program, map) ?? 'unsure';
}

/** What gives the device of the process as an attribute: `accelerator.device`. */
const KNOWS_DEVICE = /(?:^|\.)(?:Accelerator|PartialState|AcceleratorState|Fabric)$/;

/** The device that a value names; undefined where it is none, as a type. */
function deviceOf(program: PyProgram, value: PyValue | undefined): Place | undefined {
  if (value?.kind === 'scalar') {
    if (typeof value.value === 'number') return value.value < 0 ? 'host' : 'gpu';
    const name = String(value.value);
    return /^cuda/.test(name) ? 'gpu' : /^(?:cpu|meta|disk)/.test(name) ? 'host' : undefined;
  }
  if (value?.kind === 'object') {
    const made = program.calls[value.id];
    return made?.callee === 'torch.device' ? deviceOf(program, made.positional[0]) : 'unsure';
  }
  if (value?.kind === 'either') {
    const [first, ...others] = value.options.map((option) => deviceOf(program, option));
    return others.every((other) => other === first) ? first : 'unsure';
  }
  if (value?.kind !== 'unknown') return undefined;
  const owner = value.of === undefined ? undefined : program.calls[value.of];
  return owner && KNOWS_DEVICE.test(owner.callee) ? 'gpu' : 'unsure';
}
