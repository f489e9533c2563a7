import type { ModelCode } from '../terms/model-codes';
import type { PrecisionScheme } from '../terms/precision-schemes';

/** Libraries whose versions a run states. */
export const LIBRARIES = [
  'torch',
  'transformers',
  'deepspeed',
  'bitsandbytes',
  'liger',
  'trl',
  'accelerate',
  'peft',
] as const;
export type Library = (typeof LIBRARIES)[number];

/** Libraries that are frameworks, by the names of both. */
const FRAMEWORKS: ReadonlySet<string> = new Set<Library>(['trl', 'accelerate']);

/** Whether a library takes part in the runs of a framework, as far as its own config tells: one that is a framework in its own alone. */
export const takesPart = (library: string, framework: string | undefined) =>
  !FRAMEWORKS.has(library) || library === framework;

/** What a run is made with: all that a behaviour may depend on. */
export interface Products {
  readonly code: ModelCode;
  readonly scheme: PrecisionScheme;
  /** A version may be too short to say (`0.19` is any of its patch releases). */
  readonly versions: Readonly<Record<Library, string>>;
}

/** The code that architectures are read from, and nothing around it. Versions are unknown, which is today's. */
export const REFERENCE: Products = {
  code: 'transformers',
  scheme: 'native',
  versions: {
    torch: '',
    transformers: '',
    deepspeed: '',
    bitsandbytes: '',
    liger: '',
    trl: '',
    accelerate: '',
    peft: '',
  },
};
