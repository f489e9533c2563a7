import type { Objective } from '../terms/objectives';
import type { StatePackage } from '../terms/state-packages';
import type { UnmodelledFeature } from '../terms/unmodelled-features';
import type { Tensor } from './tape';
import type { Tracer } from './tracer';

/** Length of a sample where the model itself fixes or bounds it: patches of an image, positions of a decoder. */
export interface SampleLength {
  /** What the field means for the model, in tokens. */
  readonly tokens: number;
  /** It is the longest that the model takes: samples may be shorter. */
  readonly bounds?: true;
  /** The same of images whose pixels the run states. */
  readonly ofPixels?: (pixels: number) => number;
  /** For people, in their language. */
  readonly note: () => string;
}

/** The decoder of a model that has an encoder before it: the part that generates. */
export interface DecoderPart {
  readonly layers: number;
  /** Tokens that the encoder hands over of every sample, where they are not those of the sample. */
  readonly encoded?: number;
}

/** A note on the images that samples hold: nothing to runs whose samples hold none. */
export interface ImageNote {
  /** For people, in their language. */
  readonly text: string;
  /** It holds only of a run that states none of these. */
  readonly unless?: readonly ('batch.imagePixels' | 'batch.imageTiles')[];
}

/** What a run states of its images, as far as notes on them ask. */
type StatedOfImages = Readonly<
  Partial<Record<'batch.images' | 'batch.imagePixels' | 'batch.imageTiles', number>>
>;

/** A Hugging Face `config.json`, as far as it was read. Nested text, vision and audio configs stay nested. */
export type ModelConfig = Readonly<Record<string, unknown>> & { readonly model_type: string };

/** Parameter counts in elements, whole model, tied weights once, no buffers. */
export interface ParameterCount {
  readonly total: number;
  /** Parameters that one token passes through: dense weights and the chosen experts. */
  readonly active: number;
  readonly embedding: number;
}

/** An architecture that can be traced: one description from which parameters, activations and FLOPs are read. */
export interface Model {
  /** As the user named it, or the path of its config. */
  readonly id: string;
  readonly config: ModelConfig;
  readonly modelType: string;
  readonly origin: 'catalog' | 'config.json' | 'inline';
  /** Type of the published weights. */
  readonly publishedDtype?: 'fp32' | 'bf16' | 'fp16' | 'fp8';
  readonly hiddenSize: number;
  readonly layers: number;
  readonly attentionHeads: number;
  readonly keyValueHeads: number;
  readonly vocabulary: number;
  readonly maxPositions?: number;
  /** Length of a sample where the model itself fixes it, for runs that state none. */
  readonly sampleLength?: SampleLength;
  /** The same of what a decoder of its own makes. */
  readonly targetLength?: SampleLength;
  /** The decoder behind an encoder; absent where the model is one stack. */
  readonly decoder?: DecoderPart;
  readonly parameters: ParameterCount;
  /** Stages in forward order, built for one micro batch: see `tracer.ts`. */
  readonly stages: readonly Stage[];
  /** Stages of the published checkpoint, where they differ: its parameters are counted from these. */
  readonly counted?: readonly Stage[];
  /** What the tower computes of images is not known: runs that show it any are not estimated. */
  readonly playsImages?: false;
  /** What the tower for sound computes is not estimated: no run whose samples hold any is sure to fit. */
  readonly playsSound?: false;
  /** What every run of it computes, and no stage plays. */
  readonly unplayed?: readonly UnmodelledFeature[];
  /** Packages whose kernels its layers run where they are installed; absent where none do. */
  readonly statePackages?: readonly StatePackage[];
  /** It sees an image in tiles, as many as the run states or the processor makes at most. */
  readonly seesTiles?: true;
  /** Objectives whose head is counted, and not played. */
  readonly countedHeads?: readonly Objective[];
  /** Its class takes no activation checkpointing: a run that asks for it stops. */
  readonly recomputes?: false;
  /** It has the heads that label tokens, that look for an answer, and that choose one of several. */
  readonly scoresTokens?: true;
  /** Module names that PEFT adapts when the run names none. */
  readonly loraDefaultTargets: readonly string[];
  /** For people, where something is assumed: "unknown model_type treated as Llama-like". */
  readonly notes: readonly string[];
  /** For people, of images. */
  readonly imageNotes?: readonly ImageNote[];
  readonly sources: readonly string[];
}

/**
 * A stretch of the model that repeats. `count` identical copies follow each other; each is traced once.
 * `layer` stages are what activation checkpointing and FSDP wrap.
 */
export interface Stage {
  readonly name: string;
  readonly role: 'embedding' | 'layer' | 'norm' | 'head';
  readonly count: number;
  /** Compiled as layers are, though no checkpoint is set around it. */
  readonly compiles?: true;
  /**
   * It lies in a module of several stages that is checkpointed as a whole, as each of its layers is (`SwinStage`, `SwinLayer`). `last`:
   * what enters its last layer is the last that the module's checkpoint looks for.
   */
  readonly enclosed?: 'inside' | 'last';
  /** What the stage computes is not played where a sample feeds it: memory that is missing where it is trained. */
  readonly unplayed?: UnmodelledFeature;
  /** Plays the stage's forward pass on the tracer. Reads and writes `flow`. */
  readonly trace: (tracer: Tracer, flow: Flow) => void;
}

/** Tensors that pass between stages, by name: `hidden` always; `encoder`, `residual` and so on where a family needs them. */
export type Flow = Map<string, Tensor>;

/** Notes on a model; on images, where samples may hold any and the run leaves open what a note takes them for. */
export function notesOf(
  model: Pick<Model, 'notes' | 'imageNotes'> | undefined,
  run: StatedOfImages,
): readonly string[] {
  const { notes = [], imageNotes = [] } = model ?? {};
  if (run['batch.images'] === 0) return notes;
  const open = imageNotes.filter(({ unless = [] }) => unless.every((field) => run[field] === undefined));
  return [...notes, ...open.map(({ text }) => text)];
}
