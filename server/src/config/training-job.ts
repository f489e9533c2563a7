/** A value of a job with its place, by offsets into the code of the notebook. */
export interface JobValue {
  readonly key: string;
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** How the processes of a job are started on its machines (`distribution`). */
export type JobStart = 'torchrun' | 'data-parallel' | 'model-parallel' | 'one-process' | 'unknown';

/** What an estimator of SageMaker states of a job beside the command that it starts. */
export interface TrainingJob<P = JobValue> {
  readonly instance?: P;
  readonly machines?: P;
  readonly start: JobStart;
  /** What decides about that, or the call. */
  readonly startedBy: P;
  /** Releases in the container, by package. */
  readonly releases: readonly { readonly name: 'torch' | 'transformers'; readonly value: P }[];
  /** `compiler_config`: the training is compiled for XLA. */
  readonly compiler?: P;
}
