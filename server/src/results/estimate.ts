/** Named parts of GPU memory; what the chart stacks. */
export const CATEGORIES = [
  'weights',
  'quantized-weights',
  'adapters',
  'reference-model',
  'other-models',
  'master-weights',
  'gradients',
  'optimizer-states',
  'optimizer-transients',
  'activations',
  'checkpoints',
  'logits-and-loss',
  'gathered-parameters',
  'communication-buffers',
  'autocast-cache',
  'workspaces',
  'reserved-for-others',
  'allocator-overhead',
  'cuda-context',
] as const;
export type Category = (typeof CATEGORIES)[number];

const MOMENTS = [
  'initialization',
  'forward',
  'loss',
  'backward',
  'gradient-reduction',
  'optimizer-step',
  'parameter-gather',
  'generation',
  'evaluation',
  'saving',
] as const;
export type Moment = (typeof MOMENTS)[number];

export type Verdict = 'fits' | 'tight' | 'exceeds' | 'unknown';

/** Bytes of one category at one instant, on one GPU. */
export interface Part {
  readonly category: Category;
  /** Integer bytes per GPU. */
  readonly bytes: number;
  /** Where the figure comes from, with this run's numbers, for example `8.03B parameters × 2 bytes / 8 GPUs`. */
  readonly formula?: string;
  readonly source?: string;
}

/** One sample of the timeline of an optimizer step. */
export interface Sample {
  readonly moment: Moment;
  /** For people: `layer 31 backward`, `cross-entropy`. */
  readonly label: string;
  /** Allocated bytes per GPU at the highest point of this sample. */
  readonly bytes: number;
  readonly parts: readonly Part[];
  /** Alike layers between the sample before and this one; the level changes by the same amount with each. */
  readonly skipped?: number;
}

export interface Peak {
  /** What `torch.cuda.max_memory_allocated` would say, bytes per GPU. */
  readonly allocatedBytes: number;
  /** What `torch.cuda.max_memory_reserved` would say, bytes per GPU. */
  readonly reservedBytes: number;
  /** What nvidia-smi would show for the process, bytes per GPU: reserved, CUDA context, communicators. */
  readonly processBytes: number;
  /** Band of `processBytes`, from the measured error of its parts. */
  readonly lowerBytes: number;
  readonly upperBytes: number;
  readonly moment: Moment;
  readonly label: string;
  /** Global rank of the worst GPU; 0 where all are equal. */
  readonly rank: number;
}

/** How far a measured figure may lie below and above the estimated one, as shares of it. */
export interface Shares {
  readonly below: number;
  readonly above: number;
}

/** What runs of this kind are published within, for what a program was given and what its allocator holds. */
export interface MeterBands {
  readonly allocated: Shares;
  readonly reserved: Shares;
}

/** A quantity that is known as a range only. */
export interface Spread {
  readonly low: number;
  readonly likely: number;
  readonly high: number;
}

/** Price of one GPU for one hour, US dollars. */
export interface Price {
  readonly usdPerGpuHour: Spread;
  /** Machines whose list prices these are, cheapest first; none where the run states a price. */
  readonly instances: readonly string[];
  /** The oldest of the prices' dates, `2026-07-20`. */
  readonly date?: string;
  readonly source: string;
}

/** Seconds of one step that each kind of work takes at the rated speed of what does it: lower bounds, one by one. */
export interface RatedSeconds {
  /** Operators of all micro batches, with the pipeline's bubble. */
  readonly computing: number;
  readonly optimizer: number;
  /** Weights gathered and gradients reduced between data-parallel GPUs. */
  readonly dataParallel: number;
  readonly tensorParallel: number;
  /** Between GPU and host memory. */
  readonly offload: number;
}

/** How long, how much energy, how much money. Ranges, from published runs; see docs/compute.md. */
export interface TimeEstimate {
  /** Seconds of one optimizer step. */
  readonly stepSeconds: Spread;
  readonly tokensPerSecondPerGpu: Spread;
  /** Share of the rated speed in the type that is computed in, of `modelFlopsPerStep`. */
  readonly mfu?: Spread;
  /** `mfu` and `hfu` leave out pairs of tokens that kernels skip: over all pairs they would be above 1. */
  readonly withoutMasked?: true;
  /** The same of `hfuFlopsPerStep`. */
  readonly hfu?: Spread;
  /** Of the whole run, where its length is known. */
  readonly runSeconds?: Spread;
  readonly gpuHours?: Spread;
  /** GPUs at rated power, with the building's share. */
  readonly energyKwh?: Spread;
  readonly costUsd?: Spread;
  readonly price?: Price;
  readonly ratedSeconds: RatedSeconds;
  /** On which runs the range rests. */
  readonly source: string;
  /** What takes time and is not counted, for people. */
  readonly leftOut: readonly string[];
  /** The run evaluates between its steps, which time, energy and cost of the whole run leave out. */
  readonly withoutEvaluations?: true;
}

export interface ComputeEstimate {
  /**
   * FLOPs that the GPUs do in one optimizer step, over all of them; a multiply-add is two. Recomputation and reference
   * forwards included; fused attention skips what a causal mask or a window hides.
   */
  readonly flopsPerStep: number;
  /** What MFU counts: no recomputation, attention over all pairs of tokens (PaLM, arXiv 2204.02311, appendix B). */
  readonly modelFlopsPerStep: number;
  /** What HFU counts: as MFU, with what activation checkpointing computes again. */
  readonly hfuFlopsPerStep: number;
  /** What PyTorch's `FlopCounterMode` would print: as `flopsPerStep`, with attention over all pairs. */
  readonly profiledFlopsPerStep: number;
  readonly forwardFlopsPerStep: number;
  /** Of `flopsPerStep`: forward work that activation checkpointing does again. */
  readonly recomputedFlopsPerStep: number;
  /** Of `flopsPerStep`: forward of the frozen model that a preference objective compares with. */
  readonly referenceFlopsPerStep: number;
  readonly tokensPerStep: number;
  readonly pflopDaysPerStep: number;
  /** Over the whole run where its length is known. */
  readonly pflopDaysTotal?: number;
  readonly time?: TimeEstimate;
  /** Why there is no time, for people. */
  readonly timeUnknown?: string;
  /** Training tokens per parameter, where a model is trained from the beginning. */
  readonly tokensPerParameter?: number;
}

export interface ModelFigures {
  /** Elements that the run holds, as `model.parameters()` lists them: adapters and copies that PEFT trains in full among them. */
  readonly totalParameters: number;
  readonly trainableParameters: number;
  /** Parameters that one token passes through; equals the total for dense models. */
  readonly activeParameters: number;
}

export interface HostPart {
  readonly label: string;
  /** Bytes of one node, over all its processes. */
  readonly bytes: number;
}

export type HostMoment = 'loading' | 'training' | 'evaluation' | 'saving';

/** Host memory of one node; what Python and CUDA themselves take is not counted. */
export interface HostMemory {
  readonly bytesPerNode: number;
  /** They add up to `bytesPerNode`. */
  readonly parts: readonly HostPart[];
  readonly moment: HostMoment;
  /** Where the run states what a node has. */
  readonly capacityBytes?: number;
  readonly verdict: 'fits' | 'exceeds' | 'unknown';
}

/** Samples of a micro batch that a framework finds by lowering it after each error of memory. */
export interface FoundBatch {
  readonly micro: number;
  readonly from: number;
}

/** The answer: what one GPU holds at the worst moment of a step, and what the step computes. */
export interface Estimate {
  readonly verdict: Verdict;
  readonly peak: Peak;
  /** Parts at the peak; they add up to `peak.processBytes`. */
  readonly parts: readonly Part[];
  readonly timeline: readonly Sample[];
  /** Bytes that the GPU offers to the process. */
  readonly capacityBytes: number;
  /** Host memory per node, at the moment that needs most of it. */
  readonly host: HostMemory;
  readonly model: ModelFigures;
  readonly compute: ComputeEstimate;
  readonly bands: MeterBands;
  /** Features of the run that are not in its figures (`terms/unmodelled-features.ts`); absent where there are none. */
  readonly unmodelled?: readonly string[];
  /** Tokens that images and sound take of a sample, where they are more than it has: no sample is like that. */
  readonly crowdsText?: number;
  /** The micro batch that these figures are of, where the framework looks for one that fits, and the one that it begins with. */
  readonly foundBatch?: FoundBatch;
  /** Limits of this estimate worth saying, for people. */
  readonly notes: readonly string[];
}
