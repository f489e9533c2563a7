import type { LogLine } from './log-line';

/** Kernels that a trainer reported in use, with the line of the log, from 0. */
export interface InUse {
  readonly attention?: {
    readonly kernel: 'flash2' | 'sdpa' | 'eager';
    readonly source: string;
    readonly line: number;
  };
  readonly packed?: { readonly source: string; readonly line: number };
}

/** LLaMA-Factory, `model/model_utils/attention.py`, `print_attn_implementation`. */
const ATTENTION: readonly (readonly [pattern: RegExp, kernel: NonNullable<InUse['attention']>['kernel']])[] =
  [
    [/Using FlashAttention-2 for faster training and inference/, 'flash2'],
    [/Using torch SDPA for faster training and inference/, 'sdpa'],
    [/Using vanilla attention implementation/, 'eager'],
  ];
const PACKED: readonly (readonly [pattern: RegExp, source: string])[] = [
  // `model/model_utils/packing.py`, `configure_packing`.
  [/Using block diagonal attention for sequence packing/, 'LLaMA-Factory'],
  // `axolotl/utils/trainer.py`, `calculate_total_num_steps`.
  [/sample_packing_eff_est across ranks/, 'Axolotl'],
];

/** Reads line by line which kernels and which packing a run uses; the first word counts. */
export class InUseReader {
  #found: InUse = {};

  add({ text, number: line }: LogLine): void {
    if (!this.#found.attention && text.includes('Using ')) {
      const [, kernel] = ATTENTION.find(([pattern]) => pattern.test(text)) ?? [];
      if (kernel) this.#found = { ...this.#found, attention: { kernel, source: 'LLaMA-Factory', line } };
    }
    if (!this.#found.packed && text.includes('packing')) {
      const [, source] = PACKED.find(([pattern]) => pattern.test(text)) ?? [];
      if (source) this.#found = { ...this.#found, packed: { source, line } };
    }
  }

  finish(): InUse {
    return this.#found;
  }
}
