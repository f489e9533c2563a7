import { checkpointsTrainedAlone, opensInputs } from '../behaviours/accelerated';
import { findAccelerator } from '../hardware/catalog';
import { oncePer } from '../memo/remembered';
import { vectorBank } from '../model/adapters';
import { statedLabels } from '../model/config';
import { endsGroup } from '../model/grown-model';
import type { Flow, Model, Stage } from '../model/model';
import { languageConfig, routedExperts } from '../model/routed-experts';
import { asksForRouterLogits, takesRouterLoss } from '../model/router-loss';
import { ELEMENT_BYTES, type Storage, type Tape, type Tensor, type Weight } from '../model/tape';
import type { AdapterSettings } from '../model/trace-settings';
import { Tracer, type TraceSettings } from '../model/tracer';
import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';
import { runsOldSdpa } from '../run/old-sdpa';
import { writesLayers } from '../run/written-layers';
import { absentPackages } from './absent-packages';
import {
  AdapterSelection,
  isSaved,
  type ModulePlace,
  savedModules,
  trainedBeside,
  WeightSelection,
} from './adapter-selection';
import { compiledInOnePiece, copiesVariableReads, fusedElementwise } from './cheap';
import { compiledTape } from './compiled-tape';
import { type Offloaded, offloadedTape } from './offloaded-tape';
import { documentTokens } from './packed-documents';
import { handlesStacks } from './packed-experts';
import { upcastsRest } from './quantization';
import { withTiles } from './tiled-tape';
import { leafModules } from './zero/leaf-modules';

/** Identical copies of a stage that follow each other, traced once. */
export interface TracedStage {
  readonly stage: Stage;
  /** Copies that behave alike; the copies of one `Stage` may be split where gradients begin. */
  readonly copies: number;
  readonly tape: Tape;
  /** Entry storages that no later stage reads. */
  readonly consumed: ReadonlySet<Storage>;
  /** Keeps all its activations though the run checkpoints layers. */
  readonly whole?: boolean;
  /**
   * Entry tensors that other stages or copies read too, as the encoder's result by every decoder layer: their gradients add
   * up in one tensor (`input_buffer.cpp`), which the last reader's backward begins.
   */
  readonly shared?: ReadonlySet<Tensor>;
  readonly begins?: readonly Tensor[];
  /** Entry storages that others keep too, so that its backward does not free them, and those that go after it. */
  readonly held?: ReadonlySet<Storage>;
  readonly releases?: readonly Storage[];
  /** Entry storages that nobody keeps, gone when all its copies have run. */
  readonly drops?: readonly Storage[];
  /** Weights of it that lie in host memory, by name (`loading.embedding`). */
  readonly hosted?: ReadonlySet<string>;
  /** Paths of its modules that ZeRO 3 takes for one each (`zero_optimization.leaf_module`). */
  readonly leaves?: readonly string[];
  /** Its block of experts is built with the experts before the router. */
  readonly expertsFirst?: boolean;
}

/** Objectives whose samples are pairs of a chosen and a rejected completion, run through the model as one batch. */
const PAIRWISE: ReadonlySet<TrainingRun['method.objective']> = new Set([
  'dpo',
  'ipo',
  'orpo',
  'cpo',
  'simpo',
  'online-dpo',
  'reward',
]);

/** Rows that run through the model per sample of the batch: preference losses see a chosen and a rejected one, questions each answer. */
export function rowsPerSample(run: TrainingRun): number {
  if (run['method.objective'] === 'multiple-choice') return run['batch.choices'];
  return PAIRWISE.has(run['method.objective']) ? 2 : 1;
}

/** Positions that virtual tokens take before the sequence. */
function virtualTokens(run: TrainingRun): number {
  const kind = run['lora.kind'];
  const added = run['method.kind'] === 'lora' && (kind === 'prompt-tuning' || kind === 'p-tuning');
  return added ? run['lora.virtualTokens'] : 0;
}

/**
 * Type of adapter weights: that of the model where the engine casts the whole module (Megatron's `Float16Module`, too), else
 * as PEFT has it.
 */
export function adapterDtype(run: TrainingRun): TrainingRun['lora.dtype'] {
  return behaviours(run).lowersAdapters ? run['precision.compute'] : run['lora.dtype'];
}

/** FSDP 1 through Accelerate: FSDP lowers the weights, and autocast runs around what it wraps. */
function autocastsFsdp(run: TrainingRun): boolean {
  return run['precision.autocast'] && behaviours(run).castsWhenGathered && run['parallel.data'] === 'fsdp1';
}

/** Type of the weights that forward computes with, where nothing casts them per operator. */
function tracedWeightDtype(run: TrainingRun): TrainingRun['precision.weights'] {
  if (behaviours(run).lowersWeights) return run['precision.compute'];
  // `prepare_model_for_kbit_training` casts what is not quantized to fp32.
  return upcastsRest(run) ? 'fp32' : run['precision.weights'];
}

/** The loss as stated, or the one that takes the place of the plain one. */
function tracedLoss(run: TrainingRun): TrainingRun['loss.implementation'] {
  const stated = run['loss.implementation'];
  // Distillation states itself whether Liger compares the logits.
  if (stated !== 'full' || run['loss.divergence'] !== undefined) return stated;
  if (behaviours(run).takesLossOfSplitLogits) return 'vocab-parallel';
  if (run['kernels.liger']) return 'liger';
  return run['kernels.unsloth'] ? 'in-place' : stated;
}

/**
 * 4-bit weights of bitsandbytes are made whole in a type that their config states (`bnb_4bit_compute_dtype`). No other kind has one: 8-bit
 * ones cast whatever comes in to fp16 and round it (0.49, `autograd/_functions.py`, `MatMul8bitLt`), GPTQ's and AWQ's kernels take
 * what comes in and give its type back (gptqmodel 7.1, `nn_modules/qlinear/gemm_awq.py`, `AwqGemmFn`).
 */
function statesOwnCompute(run: TrainingRun): boolean {
  const kind = run['quantization.kind'];
  return kind === 'nf4' || kind === 'fp4';
}

/** Weights that lie in another type than those around them. */
const apart = (
  run: TrainingRun,
): Pick<TraceSettings, 'lowEnds' | 'halfModules' | 'plainModules' | 'raisesListed'> => ({
  plainModules: run['quantization.skippedParts'].map(String),
  lowEnds: upcastsRest(run) && run['quantization.recast'],
  halfModules: run['precision.halfModules'],
  raisesListed: raisesListed(run),
});

/** Whether modules that a class lists lie in fp32: as they were loaded, unless an engine lowers the whole model or shards it. */
function raisesListed(run: TrainingRun): boolean {
  const { raisesListed: rule, lowersWeights } = behaviours(run);
  const { 'parallel.data': data, 'quantization.kind': kind } = run;
  if (lowersWeights || (data !== 'none' && data !== 'ddp')) return false;
  if (rule === 'never' || rule === 'always') return rule === 'always';
  const packed = kind === 'nf4' || kind === 'fp4' || kind === 'int8';
  return run['precision.weights'] === 'fp16' || (rule === 'with-fp16-or-quantized' && packed);
}

/** Cards of at most so much go by tiles whatever the tokens, others from so many on (`fused_linear.py`, `_SMALL_CARD_BYTES`, `_flash_min_rows_auto`). */
const SMALL_CARD_BYTES = 24.5 * 2 ** 30;
const TILED_TOKENS = 4096;

type OfCard = 'oldSdpa' | 'lossTiles' | 'halfLogits' | 'wideHeads' | 'groupsInKernel';

/**
 * What of a trace hangs on the card: kernels of SDPA and Unsloth that it has (`_measured_faster_on`), how Unsloth takes the loss (`_flash_ce_ok`,
 * `_logits_mode`), and whether SDPA's memory-efficient kernel groups heads: on AMD's cards it does not (`sdp_utils.cpp`,
 * `can_use_mem_efficient_attention`).
 */
export function cardSettings(run: TrainingRun): Pick<TraceSettings, OfCard> {
  const chunks = run['loss.implementation'] === 'fused-chunks';
  const oldSdpa = run['attention.implementation'] === 'sdpa' && runsOldSdpa(run);
  const groups = behaviours(run).groupsInEfficientKernel;
  if (!chunks && !run['kernels.wideHeads'] && !groups) return { oldSdpa };
  const card = findAccelerator(run['hardware.gpu']);
  const bytes = run['hardware.gpuMemory'] ?? card?.usableBytes ?? Number.POSITIVE_INFINITY;
  // AMD's are left out by `torch.version.hip`.
  const isRecent = card?.vendor === 'NVIDIA' && Number(card.computeCapability ?? 0) >= 8;
  return {
    oldSdpa,
    groupsInKernel: groups && card?.vendor !== 'AMD',
    wideHeads: run['kernels.wideHeads'] && isRecent,
    ...(chunks && isRecent ? { lossTiles: bytes <= SMALL_CARD_BYTES ? 0 : TILED_TOKENS } : {}),
    halfLogits: chunks && card?.vendor === 'AMD',
  };
}

/** Rows of a micro batch and their length: samples that a mask keeps apart lie in one row, of as many queries and keys as they have together. */
function batchOf(run: TrainingRun, sequence: number): Pick<TraceSettings, 'batch' | 'sequence'> {
  const rows = run['batch.micro'] * rowsPerSample(run);
  const isOne = run['batch.paddingFree'] && run['attention.mask'];
  return isOne ? { batch: 1, sequence: rows * sequence } : { batch: rows, sequence };
}

/** NeMo's own make room for scores anew in each layer (`common/megatron/attention.py`). */
const hasMegatronModules = (run: TrainingRun): boolean =>
  run['kernels.transformerEngine'] === false && run.framework !== 'nemo';

/** Settings of the trace that a run implies. Sizes are per GPU. */
export function traceSettings(run: TrainingRun, model: Model): TraceSettings {
  const does = behaviours(run);
  const compute = run['precision.compute'];
  const weightDtype = tracedWeightDtype(run);
  const autocast = compute !== 'fp32' && (does.castsPerOperator || autocastsFsdp(run));
  const sequenceRanks = run['parallel.context'] * run['parallel.ulysses'];
  const sequence = Math.ceil((run['batch.sequence'] + virtualTokens(run)) / sequenceRanks);
  const method = run['method.kind'];
  const adapter = method === 'lora' ? new AdapterSelection(run, model, adapterDtype(run)).at({}) : undefined;
  return {
    ...batchOf(run, sequence),
    targetSequence: Math.ceil((run['batch.targetSequence'] ?? run['batch.sequence']) / sequenceRanks),
    ...shown(run),
    ownCode: run['model.ownCode'],
    labels: run['model.labels'] ?? statedLabels(model.config),
    weightDtype,
    computeDtype: autocast || statesOwnCompute(run) ? compute : weightDtype,
    autocast,
    wideActivations: run['precision.wideActivations'] && !autocast,
    attention: run['attention.implementation'],
    attentionMask: run['attention.mask'],
    groupsMasked: run['attention.groupsMasked'],
    // What Unsloth compiles, or would, keeps its own norms and MLP.
    liger: run['kernels.liger'] || writesLayers(run),
    unsloth: run['kernels.unsloth'],
    ownLayers: writesLayers(run),
    fusedLora: run['kernels.lora'],
    absentPackages: absentPackages(run),
    fp8: run['precision.fp8'],
    loss: tracedLoss(run),
    ...cardSettings(run),
    divergence: run['loss.divergence'],
    behaviours: does,
    ...apart(run),
    ownHead: run['model.tied'] === undefined ? does.hasOwnHead : !run['model.tied'],
    fusedLayerNorm: run['kernels.fusedLayerNorm'],
    fusedSoftmax: run['kernels.fusedSoftmax'],
    ownModules: hasMegatronModules(run),
    fusedGelu: run['kernels.fusedGelu'],
    normDtype: run['precision.layerNorm'],
    tokenShare: run['loss.tokenShare'],
    onePiece: does.buildsGraph && compiledInOnePiece(run),
    copiedReads: does.buildsGraph && copiesVariableReads(run),
    keptLogits: run['loss.keptLogits'],
    labelSmoothing: run['loss.labelSmoothing'],
    zLoss: run['loss.zLoss'],
    routerLoss: balancesExperts(model, run) ? routerLoss(model, run) : undefined,
    completion: run['rollout.completion'],
    returnedHidden: run['method.valueTogether']
      ? run['batch.micro'] * sequence * model.hiddenSize * (model.layers + 1)
      : undefined,
    noisyEmbeddings: run['method.noisyEmbeddings'],
    compiled: run['kernels.compile'],
    partitioned: run['kernels.compile'] && !keepsOperators(run),
    objective: run['method.objective'],
    tensorParallel: run['parallel.tensor'],
    sequenceParallel: run['parallel.sequence'],
    ...embeddingOf(run),
    headOutput: run['parallel.headOutput'],
    contextParallel: run['parallel.context'],
    contextMethod: run['parallel.contextMethod'] ?? does.contextMethod,
    ulysses: run['parallel.ulysses'],
    expertTensorParallel: expertTensorParallel(run),
    capacityFactor: run['parallel.capacityFactor'],
    vocabularyMultiple: run['parallel.vocabularyMultiple'] ?? does.vocabularyMultiple,
    sequenceRanks,
    documentTokens: documentTokens(run),
    expertParallel: run['parallel.expert'],
    quantization: run['quantization.kind'],
    tiledMlp: run['kernels.tiledMlp'],
    fakeQuantization: run['quantization.fake'],
    quantizedExperts: run['quantization.experts'] ?? quantizesExperts(run, model),
    linearExperts: hasLinearExperts(run, model),
    unpacksExpertsAgain: handlesStacks(run, model.modelType) && behaviours(run).groupsProductsAnywhere,
    quantizedHead: run['quantization.head'],
    adapter,
    ...underCheckpoints(run),
    ...trained(run, model, adapter),
  };
}

/** Whether checkpointing makes embedded tokens require a gradient: with adapters, and where layers are frozen by whose checkpoints they are. */
function opensEmbedded(run: TrainingRun): boolean {
  const does = behaviours(run);
  if (run['method.kind'] === 'lora') return does.makesInputsRequireGradients;
  if (run['method.kind'] !== 'freeze' || checkpointsTrainedAlone(run.framework)) return false;
  return does.differentiatesFrozenLayers || opensInputs(run.framework);
}

/** What activation checkpointing changes of a layer's inputs. */
function underCheckpoints(run: TrainingRun): Pick<TraceSettings, 'inputRequiresGrad' | 'withoutCache'> {
  const recomputes = run['activations.checkpointing'] !== 'none';
  return {
    inputRequiresGrad: recomputes && opensEmbedded(run),
    // Unsloth's patch hands keys over without one (`unsloth_zoo/temporary_patches/gemma3n.py`).
    withoutCache: recomputes && !run['kernels.unsloth'],
  };
}

/** Which base weights are trained, and as copies of their own. */
function trained(
  run: TrainingRun,
  model: Model,
  adapter: AdapterSettings | undefined,
): Pick<TraceSettings, 'trainable' | 'copied' | 'tiesCopies' | 'raisesCopies'> {
  if (!adapter) return { trainable: () => true };
  const saved = savedModules(run, model);
  return {
    trainable: trainedBeside(run, model, adapter.targets),
    copied: (name) => isSaved(name, saved),
    tiesCopies: run['lora.tiesCopies'],
    // Unsloth makes fp32 of those in fp16 (`unsloth/models/llama.py`, `_offload_frozen_module_for_training`).
    raisesCopies: writesLayers(run) && run['precision.weights'] === 'fp16',
  };
}

/** What samples hold beside text. */
function shown(run: TrainingRun): Pick<TraceSettings, 'images' | 'imagePixels' | 'imageTiles' | 'sound'> {
  return {
    images: run['batch.images'],
    imagePixels: run['batch.imagePixels'],
    imageTiles: run['batch.imageTiles'],
    sound: run['batch.sound'],
  };
}

/** Whether tensor parallelism splits the embedding: as stated, else as the model's code does; and what becomes of its gradient. */
function embeddingOf(run: TrainingRun): Pick<TraceSettings, 'embeddingSplit' | 'leavesPartialGradients'> {
  const stated = run['parallel.embedding'];
  const split = stated === undefined ? behaviours(run).splitsEmbedding : stated === 'split';
  return { embeddingSplit: split, leavesPartialGradients: run['parallel.data'] === 'none' };
}

/** transformers 4 has linear layers in its experts, but for gpt-oss and Llama 4. */
function hasLinearExperts(run: TrainingRun, model: Model): boolean {
  const stated = run['model.linearExperts'];
  if (stated !== undefined) return stated;
  return !behaviours(run).stacksExperts && !/^(gpt_oss|llama4)/.test(model.modelType);
}

/** Every quantizer replaces linear layers; the stacked parameters of transformers 5 are left by all but Unsloth, which packs them in 4 bits. */
function quantizesExperts(run: TrainingRun, model: Model): boolean {
  const kind = run['quantization.kind'];
  if (kind === 'fp8' || kind === 'mxfp4') return true;
  if ((kind === 'nf4' || kind === 'fp4') && handlesStacks(run, model.modelType)) return true;
  return hasLinearExperts(run, model);
}

/** Whether the loss holds the balance of the experts: as the run states, else as the model's own config asks. */
export function balancesExperts({ config }: Model, run: TrainingRun): boolean {
  const stated = run['loss.routerLogits'];
  if (!behaviours(run).balancesByConfig) return stated === true;
  return takesRouterLoss(config) && (stated ?? asksForRouterLogits(config));
}

/** What the balance of the experts is taken over, where the model has some. */
function routerLoss(model: Model, run: TrainingRun): TraceSettings['routerLoss'] {
  const experts = routedExperts(model.config);
  const chosen = languageConfig(model.config).num_experts_per_tok;
  if (experts === 0 || typeof chosen !== 'number') return undefined;
  const reached = run['activations.checkpointing'] !== 'full' || !run['activations.reentrant'];
  return { layers: model.layers, experts, chosen, reached };
}

/** Selective checkpointing states itself, operator by operator, what is kept; by modules of a compiled layer the partitioner does. */
function keepsOperators(run: TrainingRun): boolean {
  const byModules = run['activations.modules'].length > 0 && !behaviours(run).recomputesModules;
  return run['activations.checkpointing'] === 'selective' && !byModules;
}

/** Tensor parallelism inside experts: that of the rest, which torchtitan gives to expert parallelism instead. */
export function expertTensorParallel(run: TrainingRun): number {
  const borrows = behaviours(run).lendsTensorRanksToExperts && run['parallel.expert'] > 1;
  return run['parallel.expertTensor'] ?? (borrows ? 1 : run['parallel.tensor']);
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
  /** Parallel to them: every copy enters another one, which the copy before it left. */
  readonly passedOn: readonly boolean[];
  readonly after: Flow;
}

/**
 * A stage's tape as it is compiled. `torch.compile` is described for layers of plain weights: quantized ones and routed experts
 * break its graphs, but for Unsloth, whose 4-bit products are operators of their own (`_block_compile.py`, `_nf4_in_blocks`).
 */
function compiledOf(stage: Stage, settings: TraceSettings, tape: Tape): Tape {
  if (settings.onePiece === true) return fusedElementwise(tape);
  const breaks = (quantization: Weight['quantization']) => quantization !== 'none' && !settings.unsloth;
  const whole = !tape.weights.some(({ expert, quantization }) => expert || breaks(quantization));
  const compiles = stage.role === 'layer' || stage.compiles === true;
  return settings.partitioned === true && compiles && whole
    ? compiledTape(tape, settings.behaviours.compilesWholeModel && !settings.unsloth)
    : tape;
}

/** `begins`: it is the model's first stage, which holds what all modules share. */
function play(stage: Stage, settings: TraceSettings, flow: Flow, begins: boolean): Played {
  const before = new Map(flow);
  const asBefore = signature(flow);
  const tracer = new Tracer(settings);
  if (begins && settings.adapter?.kind === 'vblora') vectorBank(tracer, settings.adapter);
  stage.trace(tracer, flow);
  const left = new Map<string, Tensor>();
  for (const [name, x] of flow) {
    if (before.get(name) === x) continue;
    tracer.output(x);
    left.set(name, x);
  }
  const played = tracer.finish();
  const tape = withTiles(compiledOf(stage, settings, played));
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
 * Traces every distinct stage of the model once. Copies of a stage are distinguished only where they behave differently,
 * such as the first layer under LoRA, whose input needs no gradient; stages that alternate share their tapes.
 * `overrides` go before what the run implies, as evaluation has it.
 */
export function traceRun(
  model: Model,
  run: TrainingRun,
  overrides: Partial<TraceSettings> = {},
): TracedStage[] {
  const turn = run['method.valueTurn'] ? { objective: 'reward' as const } : {};
  const settings = { ...traceSettings(run, model), ...turn, ...overrides };
  const uses: Use[] = [];
  // Both models play the same layers; their heads differ, in role too.
  const known: PlayedStages = new Map();
  const skipped = run['quantization.skippedParts'].map(String);
  if (run['method.valueTogether'] && overrides.evaluating !== true) {
    const score = { ...settings, objective: 'reward' as const, returnedHidden: undefined };
    uses.push(...usesOf(valueStages(model), settingsByPlace(model, run, score), known, skipped));
  }
  const trained = run['method.valueTurn'] ? valueStages(model) : model.stages;
  uses.push(...usesOf(trained, settingsByPlace(model, run, settings), known, skipped));
  const checkpointed = run['activations.checkpointing'] === 'full';
  const offloads = run['activations.offload'] && run['activations.checkpointing'] === 'none';
  const played = withHosted(withConsumed(uses, checkpointed), model, run);
  const away =
    offloads && overrides.evaluating !== true ? offloaded(played, run['activations.offloadOverlap']) : played;
  const traced = withLeaves(away, model, run);
  const { returnedHidden, autocast, weightDtype } = settings;
  if (returnedHidden === undefined) return traced;
  // Hidden states that the policy returns live on: in its layers, and while the value model runs backward after it. Those
  // that Accelerate converts are counted with the logits.
  const converted = autocast && weightDtype !== 'fp32';
  const behind = converted ? 0 : returnedHidden * ELEMENT_BYTES[weightDtype];
  return traced.map((one) => {
    if (isOfValueModel(one)) return beside(one, behind);
    return autocast || checkpointed ? one : keepingEntry(one);
  });
}

/** The stages with what ZeRO 3 gathers as one module, whatever the stage is: traces do not hang on it. */
function withLeaves(stages: TracedStage[], { modelType }: Model, run: TrainingRun): TracedStage[] {
  if (run['parallel.data'] !== 'zero') return stages;
  const expertsFirst = behaviours(run).buildsExpertsFirst.includes(modelType);
  return stages.map((one) => {
    const leaves = one.stage.role === 'layer' ? leafModules(one.tape, modelType, run) : [];
    return leaves.length > 0 ? { ...one, leaves, expertsFirst } : one;
  });
}

/** Tables that are no model's input go to the host from this size on (`vision.py`, `_EXTRA_EMBEDDING_MIN_BYTES`). Bytes. */
const LEAST_EXTRA_TABLE = 256 * 2 ** 20;

/**
 * The stages with the frozen tables that stay in host memory: the input embedding, which a head that shares it keeps on the GPU, and other
 * large ones (Unsloth's `vision.py`, `_resolve_offload_embedding`, `offload_spare_embeddings`).
 */
function withHosted(stages: TracedStage[], model: Model, run: TrainingRun): TracedStage[] {
  const place = run['loading.embedding'];
  if (place !== 'host' && place !== 'spare-to-host') return stages;
  const shared = new Set(stages.flatMap(({ tape }) => tape.weights.flatMap(({ tiedTo }) => tiedTo ?? [])));
  const isInput = ({ shape }: Weight) => (shape[0] ?? 0) >= model.vocabulary;
  const tables = (traced: TracedStage) =>
    traced.tape.weights.filter(
      (weight) =>
        weight.role === 'embedding' &&
        weight.tiedTo === undefined &&
        (isInput(weight) || weight.elements * ELEMENT_BYTES[weight.dtype] >= LEAST_EXTRA_TABLE),
    );
  const isShared = ({ name }: Weight) => shared.has(name);
  if (place === 'host' && stages.some((traced) => tables(traced).some(isShared))) return stages;
  return stages.map((traced) => {
    const hosted = tables(traced).filter((weight) => !isShared(weight) && !weight.trainable);
    return hosted.length === 0 ? traced : { ...traced, hosted: new Set(hosted.map(({ name }) => name)) };
  });
}

/** All stages with their saved tensors in host memory. Most copies of a layer come after one like themselves. */
function offloaded(stages: readonly TracedStage[], overlaps: boolean): TracedStage[] {
  let waiting: Offloaded['stash'] = [];
  return stages.map((one) => {
    const own = one.copies > 1 ? offloadedTape(one.tape, overlaps).stash : waiting;
    const { tape, stash } = offloadedTape(one.tape, overlaps, own);
    waiting = stash;
    return { ...one, tape };
  });
}

/** A stage that runs backward beside so many bytes of something else. */
function beside(traced: TracedStage, bytes: number): TracedStage {
  if (bytes === 0) return traced;
  const operations = traced.tape.operations.map((operation) => ({
    ...operation,
    backwardScratch: operation.backwardScratch + bytes,
  }));
  return { ...traced, tape: { ...traced.tape, operations } };
}

const VALUE = 'value.';

/** A stage of the value model that runs with the policy. */
export function isOfValueModel({ stage }: TracedStage): boolean {
  return stage.name.startsWith(VALUE);
}

/** The model once more with a score for every token: it runs before the policy (TRL, `PolicyAndValueWrapper`). */
const valueStages = oncePer(({ stages }: Model): readonly Stage[] =>
  stages.map((stage) => ({
    ...stage,
    name: VALUE + stage.name,
    role: stage.role === 'head' ? ('norm' as const) : stage.role,
  })),
);

/** A layer of the policy whose input stays until its backward. */
function keepingEntry(traced: TracedStage): TracedStage {
  const { stage, tape } = traced;
  const [first, ...others] = tape.operations;
  const hidden = tape.entry[0];
  if (stage.role !== 'layer' || !first || !hidden) return traced;
  const operations = [{ ...first, saves: [...first.saves, hidden.storage] }, ...others];
  return { ...traced, tape: { ...tape, operations } };
}

/** What was played, by what a stage's settings and what enters it are. */
type PlayedStages = Map<Stage['trace'], Map<string, Played>>;

/** The stages in order, each played where it differs from those before. */
function usesOf(
  stages: readonly Stage[],
  choose: SettingsByPlace,
  known: PlayedStages,
  skipped: readonly string[],
): Use[] {
  const uses: Use[] = [];
  const flow: Flow = new Map();
  const indices = new Map<string, number>();
  for (const stage of stages) {
    const list = stage.role === 'layer' ? stage.name.replace(VALUE, '') : undefined;
    let index = indices.get(stage.name) ?? 0;
    let remaining = stage.count;
    while (remaining > 0) {
      const place = list === undefined ? {} : { list, index };
      const before = new Map(flow);
      const entering = signature(flow);
      const variants = known.get(stage.trace) ?? new Map<string, Played>();
      known.set(stage.trace, variants);
      const begins = stage === stages[0] && index === 0;
      const variant = `${begins}:${stage.role}:${choose.key(place)}:${entering}`;
      let played = variants.get(variant);
      if (played) replay(played, flow);
      else {
        const settings = choose.at(place);
        const isPlain = skipped.includes(stage.name.split('.')[0] ?? '');
        played = play(stage, isPlain ? { ...settings, quantization: 'none' } : settings, flow, begins);
        // Which modules the stage has is known only now.
        variants.set(`${begins}:${stage.role}:${choose.key(place)}:${entering}`, played);
      }
      let copies = played.repeats ? remaining : 1;
      if (list !== undefined) copies = Math.min(copies, choose.alike(list, index, copies));
      const origins = played.entered.map((name) => (name === undefined ? undefined : before.get(name)));
      const { left } = played;
      const passedOn = played.entered.map((name) => name !== undefined && left.has(name));
      uses.push({ stage, copies, tape: played.tape, origins, passedOn, after: new Map(flow) });
      remaining -= copies;
      index += copies;
    }
    indices.set(stage.name, index);
  }
  return uses;
}

/** Settings that differ between stages and layers: which weights are trained, which modules are adapted. */
interface SettingsByPlace {
  /** Equal for places whose settings are. */
  readonly key: (place: ModulePlace) => string;
  readonly at: (place: ModulePlace) => TraceSettings;
  /** How many layers from `index` on, at most `limit`, have the settings of that one. */
  readonly alike: (list: string, index: number, limit: number) => number;
}

function settingsByPlace(model: Model, run: TrainingRun, settings: TraceSettings): SettingsByPlace {
  if (run['method.kind'] === 'lora') {
    const selection = new AdapterSelection(run, model, adapterDtype(run));
    return bySelection(selection, (place) => {
      const adapter = selection.at(place);
      return { ...settings, adapter, trainable: trainedBeside(run, model, adapter.targets) };
    });
  }
  const { 'method.kind': kind } = run;
  if (kind !== 'freeze' && kind !== 'block' && kind !== 'lisa') {
    return { key: () => '', at: () => settings, alike: (_list, _index, limit) => limit };
  }
  if (run['method.trainable'].length > 0) {
    const selection = new WeightSelection(run['method.trainable']);
    return bySelection(selection, (place) => {
      const trainable = selection.at(place);
      return { ...settings, trainable, raisesInput: (module) => trainable(`${module}._requires_grad`) };
    });
  }
  return lastLayers(model, run, settings);
}

function bySelection(
  selection: AdapterSelection | WeightSelection,
  at: (place: ModulePlace) => TraceSettings,
): SettingsByPlace {
  const key = ({ list, index }: ModulePlace) =>
    list === undefined || index === undefined ? '' : selection.signature(list, index);
  const alike = (list: string, index: number, limit: number) => {
    if (!selection.tellsLayersApart) return limit;
    const own = selection.signature(list, index);
    let copies = 1;
    while (copies < limit && selection.signature(list, index + copies) === own) copies++;
    return copies;
  };
  return { key, at, alike };
}

/**
 * The last layers are trained, or the first where the number is negative; all else is frozen, but for embedding and head
 * with LISA. Of the layers that it draws the first need most, as the first block does.
 */
function lastLayers(model: Model, run: TrainingRun, settings: TraceSettings): SettingsByPlace {
  const frozen: TraceSettings = { ...settings, trainable: () => false };
  // Of the blocks that take turns the first needs most: gradients go through all layers above it.
  const drawn = run['method.kind'] === 'lisa';
  const block = drawn || run['method.kind'] === 'block';
  const stated = run['method.trainableLayers'];
  const trained = block ? -Math.abs(stated ?? 1) : (stated ?? 2);
  const totals = new Map<string, number>();
  for (const { name, role, count } of model.stages) {
    if (role === 'layer') totals.set(name, (totals.get(name) ?? 0) + count);
  }
  if (run['method.spreadLayers'] && !block) {
    // Equal for every layer of a group but its last.
    const ends = ({ list, index }: ModulePlace) =>
      list !== undefined &&
      index !== undefined &&
      endsGroup(index, totals.get(list) ?? 0, Math.abs(trained) || 1);
    return {
      key: (place) => String(ends(place)),
      at: (place) => (ends(place) ? settings : frozen),
      alike: (list, index, limit) => {
        let copies = 1;
        while (copies < limit && ends({ list, index: index + copies }) === ends({ list, index })) copies++;
        return copies;
      },
    };
  }
  const border = (list: string) => (trained < 0 ? -trained : Math.max(0, (totals.get(list) ?? 0) - trained));
  const isFrozen = ({ list, index }: ModulePlace) =>
    list === undefined || index === undefined ? !drawn : index < border(list) === trained >= 0;
  return {
    key: (place) => String(isFrozen(place)),
    at: (place) => (isFrozen(place) ? frozen : settings),
    alike: (list, index, limit) => (index < border(list) ? Math.min(limit, border(list) - index) : limit),
  };
}

/**
 * Entry storages that a stage is the last to read: what they stand for has left the flow, or no later stage enters it. What
 * the stage that made it keeps for its own backward is not one of them, except where a run of layers takes it over.
 */
function withConsumed(uses: readonly Use[], checkpointed: boolean): TracedStage[] {
  const lastReader = new Map<Tensor, number>();
  uses.forEach(({ origins }, index) => {
    for (const origin of origins) if (origin) lastReader.set(origin, index);
  });
  const readers = readersOf(uses);
  const keptByMaker = new Set<Storage>();
  for (const { stage, tape } of uses) {
    // A layer that is computed again keeps other ones for itself.
    if (checkpointed && stage.role === 'layer') continue;
    for (const storage of keptResults(tape)) keptByMaker.add(storage);
  }
  const takenOver = new Set<Storage>();
  const traced = uses.map((use, index) => {
    const { stage, copies, tape, origins, after } = use;
    const still = new Set(after.values());
    const consumed = new Set<Storage>();
    const entries = sharedEntries(use, readers, keptByMaker);
    const drops: Storage[] = [];
    tape.entry.forEach((x, position) => {
      const origin = origins[position];
      if (!origin || entries.held?.has(x.storage)) return;
      if (still.has(origin) && (lastReader.get(origin) !== index || copies > 1)) {
        if (lastReader.get(origin) === index && !use.passedOn[position] && !readers.get(origin)?.saved)
          drops.push(x.storage);
        return;
      }
      if (keptByMaker.has(origin.storage)) takenOver.add(origin.storage);
      consumed.add(x.storage);
    });
    return { stage, copies, tape, consumed, ...entries, ...(drops.length > 0 ? { drops } : {}) };
  });
  return takenOver.size === 0
    ? traced
    : traced.map((one) => ({ ...one, tape: without(one.tape, takenOver) }));
}

/** Who reads a tensor of the flow. */
interface Readers {
  /** Copies of stages that do, and those of them that give it a gradient. */
  count: number;
  graded: number;
  /** The use whose backward comes last, and of those that give it a gradient the one whose comes first. */
  readonly first: Use;
  last?: Use;
  /** One of them keeps it for its backward. */
  saved: boolean;
}

function readersOf(uses: readonly Use[]): Map<Tensor, Readers> {
  const readers = new Map<Tensor, Readers>();
  for (const use of uses) {
    const saved = savedBy(use.tape);
    use.tape.entry.forEach((x, position) => {
      const origin = use.origins[position];
      if (!origin) return;
      const known = readers.get(origin) ?? { count: 0, graded: 0, first: use, saved: false };
      const copies = use.passedOn[position] ? 1 : use.copies;
      known.count += copies;
      known.saved ||= saved.has(x.storage);
      if (x.requiresGrad) {
        known.graded += copies;
        known.last = use;
      }
      readers.set(origin, known);
    });
  }
  return readers;
}

function savedBy(tape: Tape): ReadonlySet<Storage> {
  return new Set(tape.operations.flatMap(({ saves }) => saves));
}

type SharedEntries = Pick<TracedStage, 'shared' | 'begins' | 'held' | 'releases'>;

function sharedEntries(
  use: Use,
  readers: ReadonlyMap<Tensor, Readers>,
  keptByMaker: ReadonlySet<Storage>,
): SharedEntries {
  const shared = new Set<Tensor>();
  const begins: Tensor[] = [];
  const held = new Set<Storage>();
  const releases: Storage[] = [];
  use.tape.entry.forEach((x, position) => {
    const origin = use.origins[position];
    const reader = origin && readers.get(origin);
    if (!reader || (use.passedOn[position] && use.copies > 1)) return;
    const made = keptByMaker.has(origin.storage);
    if (made || (reader.saved && reader.count > 1)) {
      held.add(x.storage);
      if (!made && reader.first === use) releases.push(x.storage);
    }
    if (reader.graded < 2 || !x.requiresGrad) return;
    shared.add(x);
    if (reader.last === use) begins.push(x);
  });
  return {
    ...(shared.size > 0 ? { shared, begins } : {}),
    ...(held.size > 0 ? { held, releases } : {}),
  };
}

/** Results of a stage that it keeps for its own backward as well. */
function keptResults(tape: Tape): Storage[] {
  const leaving = new Set(tape.exit.map((x) => x.storage));
  return tape.operations.flatMap(({ saves }) => saves.filter((storage) => leaving.has(storage)));
}

/** A tape that keeps some of its results no more. */
function without(tape: Tape, storages: ReadonlySet<Storage>): Tape {
  if (!keptResults(tape).some((storage) => storages.has(storage))) return tape;
  const operations = tape.operations.map((operation) => ({
    ...operation,
    saves: operation.saves.filter((storage) => !storages.has(storage)),
  }));
  return { ...tape, operations };
}
