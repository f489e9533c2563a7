import { documentTokens } from '../compute/packed-documents';
import type { Flow, Model, Stage } from '../model/model';
import type { Storage, Tape, Tensor } from '../model/tape';
import { type AdapterSettings, Tracer, type TraceSettings } from '../model/tracer';
import type { TrainingRun } from '../run/fields';
import { compiledInOnePiece, fusedElementwise } from './cheap';

/** Identical copies of a stage that follow each other, traced once. */
export interface TracedStage {
  readonly stage: Stage;
  /** Copies that behave alike; the copies of one `Stage` may be split where gradients begin. */
  readonly copies: number;
  readonly tape: Tape;
  /** Entry storages that no later stage reads. */
  readonly consumed: ReadonlySet<Storage>;
}

/** Samples that run through the model per sample of the batch: preference losses see a chosen and a rejected one. */
function samplesPerExample(run: TrainingRun): number {
  return run['method.objective'] === 'dpo' || run['method.objective'] === 'reward' ? 2 : 1;
}

/** Settings of the trace that a run implies. Sizes are per GPU. */
export function traceSettings(run: TrainingRun, model: Model): TraceSettings {
  const scheme = run['precision.scheme'];
  const compute = run['precision.compute'];
  const quantized = run['quantization.kind'] !== 'none';
  let weightDtype = run['precision.weights'];
  if (scheme === 'deepspeed' || scheme === 'megatron' || scheme === 'fsdp') weightDtype = compute;
  // `prepare_model_for_kbit_training` casts what is not quantized to fp32.
  else if (quantized && run['quantization.prepared']) weightDtype = 'fp32';
  const autocast = scheme === 'autocast' && compute !== 'fp32';
  const sequenceRanks = run['parallel.context'] * run['parallel.ulysses'];
  const sequence = Math.ceil(run['batch.sequence'] / sequenceRanks);
  const method = run['method.kind'];
  const code = run['model.code'];
  let loss = run['loss.implementation'];
  if (loss === 'full') {
    if (code === 'megatron') loss = 'vocab-parallel';
    else if (run['kernels.liger']) loss = 'liger';
  }
  return {
    batch: run['batch.micro'] * samplesPerExample(run),
    sequence,
    targetSequence: Math.ceil((run['batch.targetSequence'] ?? run['batch.sequence']) / sequenceRanks),
    images: run['batch.images'],
    weightDtype,
    computeDtype: autocast || quantized ? compute : weightDtype,
    autocast,
    attention: run['attention.implementation'],
    attentionMask: run['attention.mask'],
    liger: run['kernels.liger'],
    loss,
    code: run['model.code'],
    fusedLayerNorm: run['kernels.fusedLayerNorm'],
    fusedSoftmax: run['kernels.fusedSoftmax'],
    fusedGelu: run['kernels.fusedGelu'],
    normDtype: run['precision.layerNorm'],
    tokenShare: run['loss.tokenShare'],
    onePiece: run['model.code'] === 'tensorflow' && compiledInOnePiece(run),
    keptLogits: run['loss.keptLogits'],
    compiled: run['kernels.compile'],
    objective: run['method.objective'],
    tensorParallel: run['parallel.tensor'],
    sequenceParallel: run['parallel.sequence'],
    contextParallel: run['parallel.context'],
    contextMethod: run['parallel.contextMethod'] ?? (code === 'megatron' ? 'ring' : 'all-gather'),
    ulysses: run['parallel.ulysses'],
    expertTensorParallel: expertTensorParallel(run),
    capacityFactor: run['parallel.capacityFactor'],
    vocabularyMultiple: run['parallel.vocabularyMultiple'] ?? (code === 'megatron' ? 128 : undefined),
    sequenceRanks,
    documentTokens: documentTokens(run),
    expertParallel: run['parallel.expert'],
    quantization: run['quantization.kind'],
    quantizedHead: run['quantization.head'],
    quantizedKeepsInput: keepsQuantizedInput(run['version.bitsandbytes']),
    adapter:
      method === 'lora'
        ? {
            rank: run['lora.rank'],
            dropout: run['lora.dropout'],
            dtype: scheme === 'deepspeed' || scheme === 'fsdp' ? compute : run['lora.dtype'],
            dora: run['lora.dora'],
            targets: targetMatcher(run, model),
          }
        : undefined,
    inputRequiresGrad:
      method === 'lora' &&
      run['activations.checkpointing'] !== 'none' &&
      (run['model.code'] === undefined || run['model.code'] === 'transformers'),
    trainable: method === 'lora' ? (name) => isModuleToSave(name, run['lora.modulesToSave']) : () => true,
  };
}

/** Tensor parallelism inside experts: that of the rest, which torchtitan gives to expert parallelism instead. */
export function expertTensorParallel(run: TrainingRun): number {
  const borrows = run['model.code'] === 'torchtitan' && run['parallel.expert'] > 1;
  return run['parallel.expertTensor'] ?? (borrows ? 1 : run['parallel.tensor']);
}

/**
 * `MatMul4Bit` of bitsandbytes kept its input beside the packed weight until 0.43.1 (`autograd/_functions.py`:
 * `ctx.tensors = (A, B)`, since 0.43.2 `(None, B)`).
 */
function keepsQuantizedInput(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  return major === 0 && (minor < 43 || (minor === 43 && patch < 2));
}

/** PEFT matches a target against the last parts of the module path. */
function targetMatcher(run: TrainingRun, model: Model): AdapterSettings['targets'] {
  const targets = run['lora.targets'].length > 0 ? run['lora.targets'] : model.loraDefaultTargets;
  if (targets.includes('all-linear')) return (_path, role) => role === 'matrix';
  return (path) => targets.some((target) => path === target || path.endsWith(`.${target}`));
}

function isModuleToSave(weight: string, modules: readonly string[]): boolean {
  return modules.some((module) => weight.startsWith(`${module}.`) || weight.includes(`.${module}.`));
}

/** What identical copies must agree in: which tensors flow, their shapes, types and need of gradients. */
function signature(flow: Flow): string {
  let text = '';
  for (const [name, x] of flow) text += `${name}:${x.shape}:${x.dtype}:${x.requiresGrad};`;
  return text;
}

/** A stage played once, and how to play it again: what it entered by name, and what it left in the flow. */
interface Played {
  readonly tape: Tape;
  /** Parallel to the tape's entry: name in the flow, for tensors that an earlier stage made. */
  readonly entered: readonly (string | undefined)[];
  /** What the stage set, by name. */
  readonly left: ReadonlyMap<string, Tensor>;
  /** Names that it took out of the flow. */
  readonly removed: readonly string[];
  readonly repeats: boolean;
}

/** One use of a played stage in the model. */
interface Use {
  readonly stage: Stage;
  readonly copies: number;
  readonly tape: Tape;
  /** Outer tensors that its entries stand for. */
  readonly origins: readonly (Tensor | undefined)[];
  readonly after: Flow;
}

function play(stage: Stage, settings: TraceSettings, flow: Flow): Played {
  const before = new Map(flow);
  const asBefore = signature(flow);
  const tracer = new Tracer(settings);
  stage.trace(tracer, flow);
  const left = new Map<string, Tensor>();
  for (const [name, x] of flow) {
    if (before.get(name) === x) continue;
    tracer.output(x);
    left.set(name, x);
  }
  const played = tracer.finish();
  const tape = settings.onePiece === true ? fusedElementwise(played) : played;
  const names = new Map([...before].map(([name, x]) => [x, name]));
  return {
    tape,
    entered: tape.origins.map((origin) => (origin ? names.get(origin) : undefined)),
    left,
    removed: [...before.keys()].filter((name) => !flow.has(name)),
    repeats: signature(flow) === asBefore,
  };
}

/** Puts into the flow what the stage leaves, as tensors of their own. */
function replay(played: Played, flow: Flow): void {
  for (const [name, x] of played.left) flow.set(name, { ...x });
  for (const name of played.removed) flow.delete(name);
}

/**
 * Traces every distinct stage of the model once. Copies of a stage are told apart only where they behave differently,
 * such as the first layer under LoRA, whose input needs no gradient; stages that alternate share their tapes.
 * `evaluating`: the model is in evaluation mode, without dropout.
 */
export function traceRun(model: Model, run: TrainingRun, evaluating = false): TracedStage[] {
  const settings = { ...traceSettings(run, model), evaluating };
  const frozen: TraceSettings = { ...settings, trainable: () => false };
  const freeze = run['method.kind'] === 'freeze';
  const layers = model.stages.reduce((sum, s) => sum + (s.role === 'layer' ? s.count : 0), 0);
  const firstTrained = freeze ? layers - (run['method.trainableLayers'] ?? 2) : 0;
  const known = new Map<Stage['trace'], Map<string, Played>>();
  const uses: Use[] = [];
  const flow: Flow = new Map();
  let layer = 0;
  for (const stage of model.stages) {
    let remaining = stage.count;
    while (remaining > 0) {
      const isFrozen = freeze && (stage.role !== 'layer' || layer < firstTrained);
      const before = new Map(flow);
      const key = `${isFrozen}:${signature(flow)}`;
      const variants = known.get(stage.trace) ?? new Map<string, Played>();
      known.set(stage.trace, variants);
      let played = variants.get(key);
      if (played) replay(played, flow);
      else {
        played = play(stage, isFrozen ? frozen : settings, flow);
        variants.set(key, played);
      }
      let copies = played.repeats ? remaining : 1;
      if (isFrozen && stage.role === 'layer') copies = Math.min(copies, firstTrained - layer);
      const origins = played.entered.map((name) => (name === undefined ? undefined : before.get(name)));
      uses.push({ stage, copies, tape: played.tape, origins, after: new Map(flow) });
      remaining -= copies;
      if (stage.role === 'layer') layer += copies;
    }
  }
  return withConsumed(uses);
}

/**
 * Entry storages that a stage is the last to read: what they stand for has left the flow, or no later stage enters it.
 */
function withConsumed(uses: readonly Use[]): TracedStage[] {
  const lastReader = new Map<Tensor, number>();
  uses.forEach(({ origins }, index) => {
    for (const origin of origins) if (origin) lastReader.set(origin, index);
  });
  return uses.map(({ stage, copies, tape, origins, after }, index) => {
    const still = new Set(after.values());
    const consumed = new Set<Storage>();
    tape.entry.forEach((x, position) => {
      const origin = origins[position];
      if (!origin) return;
      if (!still.has(origin) || (lastReader.get(origin) === index && copies === 1)) consumed.add(x.storage);
    });
    return { stage, copies, tape, consumed };
  });
}
