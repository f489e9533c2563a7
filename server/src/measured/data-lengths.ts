import type { LogLine } from './log-line';

/** Tokens of the samples of a run's data, as its log counts them. */
export interface DataLengths {
  /** Who printed it. */
  readonly source: string;
  readonly longest?: number;
  readonly shortest?: number;
  readonly mean?: number;
  /** Samples that were counted. */
  readonly samples?: number;
  /** Line of the log, from 0. */
  readonly line: number;
}

/** Tokens that a run had read after so many optimizer steps of its first epoch, padding left out. */
export interface TokensRead {
  readonly tokens: number;
  readonly steps: number;
  readonly line: number;
}

/** `swift/utils/np_utils.py`, `stat_array`. */
const SWIFT =
  /Dataset Token Length: (\d{1,9}(?:\.\d{1,9})?)±\d{1,9}(?:\.\d{1,9})?, min=(\d{1,9})(?:\.\d{1,9})?, max=(\d{1,9})(?:\.\d{1,9})?, size=(\d{1,12})/;
/** `axolotl/utils/data/utils.py`: before those are dropped that are longer than `sequence_len`. */
const AXOLOTL = /\b(min|max)_input_len: (\d{1,9})\b/;
/** The Trainer's state is JSON with a line for each key, sorted: of one entry `epoch`, `num_tokens`, `step`. */
const EPOCH = /^\s{0,12}"epoch": (\d{1,6}(?:\.\d{1,20})?(?:e-\d{1,3})?),?\s*$/;
const TOKENS = /^\s{0,12}"num_tokens": (\d{1,15}(?:\.\d{1,3})?),?\s*$/;
const STEP = /^\s{0,12}"step": (\d{1,12}),?\s*$/;

/** Reads lengths line by line; what it keeps does not grow with the log. */
export class DataLengthsReader {
  #lengths: DataLengths | undefined;
  #read: TokensRead | undefined;
  #shortest: number | undefined;
  #epoch: number | undefined;
  #tokens: number | undefined;

  add({ text, number }: LogLine): void {
    if (text.includes('Length: ')) this.#swift(text, number);
    else if (text.includes('_input_len: ')) this.#axolotl(text, number);
    else if (text.includes('"')) this.#state(text, number);
  }

  finish(): { readonly lengths?: DataLengths; readonly tokensRead?: TokensRead } {
    return {
      ...(this.#lengths ? { lengths: this.#lengths } : {}),
      ...(this.#read ? { tokensRead: this.#read } : {}),
    };
  }

  /** The set of the most samples is the one that is trained on. */
  #swift(text: string, line: number): void {
    const [, mean, shortest, longest, size] = SWIFT.exec(text) ?? [];
    const samples = Number(size);
    if (size === undefined || samples <= (this.#lengths?.samples ?? 0)) return;
    this.#lengths = {
      source: 'ms-swift',
      mean: Number(mean),
      shortest: Number(shortest),
      longest: Number(longest),
      samples,
      line,
    };
  }

  #axolotl(text: string, line: number): void {
    const [, end, tokens] = AXOLOTL.exec(text) ?? [];
    if (end === 'min') this.#shortest = Number(tokens);
    const longest = Number(tokens);
    if (end !== 'max' || longest <= (this.#lengths?.longest ?? 0)) return;
    const shortest = this.#shortest === undefined ? {} : { shortest: this.#shortest };
    this.#lengths = { source: 'Axolotl', longest, ...shortest, line };
  }

  /** TRL counts the tokens of all ranks (`trl/trainer/sft_trainer.py`). In the first epoch every batch is whole. */
  #state(text: string, line: number): void {
    const epoch = EPOCH.exec(text)?.[1];
    if (epoch !== undefined) {
      this.#epoch = Number(epoch);
      this.#tokens = undefined;
      return;
    }
    const tokens = TOKENS.exec(text)?.[1];
    if (tokens !== undefined) {
      this.#tokens = Number(tokens);
      return;
    }
    const step = STEP.exec(text)?.[1];
    if (step === undefined) return;
    if (this.#tokens !== undefined && this.#epoch !== undefined && this.#epoch < 1 && Number(step) > 0)
      this.#read = { tokens: this.#tokens, steps: Number(step), line };
    this.#tokens = undefined;
  }
}
