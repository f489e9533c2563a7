import type { Range } from '../text/place';
import type { PlacedText } from './shell/placed-text';

/** What runs the commands of a manifest. */
type JobSystem = 'Kubernetes' | 'SkyPilot' | 'dstack' | 'HuggingFace';

/** A value that a manifest asks for, where it stands there. */
export interface AskedValue {
  readonly key: string;
  readonly text: string;
  readonly range: Range;
}

/** What a manifest asks of machines for the commands that it runs. */
export interface MachinesAsked {
  readonly system: JobSystem;
  /** GPUs of each machine. */
  readonly gpus?: AskedValue;
  /** Name of the GPU, as the system calls it. */
  readonly card?: AskedValue;
  /** Profile of the slices of a GPU that are asked for in its place: `3g.40gb`. */
  readonly slice?: AskedValue;
  /** Type of the machine in a cloud. */
  readonly instance?: AskedValue;
  readonly machines?: AskedValue;
  /** Container that the commands run in. */
  readonly image?: AskedValue;
}

/** The commands of a manifest, as one script of a shell, and what they run on. */
export interface ManifestJob {
  readonly script: PlacedText;
  readonly asked: MachinesAsked;
}
