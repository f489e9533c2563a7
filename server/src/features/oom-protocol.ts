import type { RunValues } from '../run/fields';

/** What client and server say to each other about out-of-memory messages. Plain data and names. */

/** Command of the editor's side: explains the message at a place, in a selection, or in the clipboard. */
export const EXPLAIN_OOM_COMMAND = 'oomlint.explainOutOfMemory';
/** Only argument of `EXPLAIN_OOM_COMMAND` where a code lens names the message. */
export interface ExplainOomArguments {
  readonly uri: string;
  /** From 0. */
  readonly line: number;
}

/** Request, client to server: `OomParams` -> `ExplainedOom`. */
export const EXPLAIN_OOM_REQUEST = 'oomlint/explainOutOfMemory';
export interface OomParams {
  /** A log, or a part of one with a message. */
  readonly text: string;
  /** Folder of the log: the run's config is looked for there. */
  readonly folder?: string;
  /** Config of the run, where the person names it. */
  readonly config?: string;
  /** Where messages stand and what they are, nothing more: cheap. */
  readonly titlesOnly?: boolean;
}

/** A message of the text. */
export interface OomCard {
  /** From 0. */
  readonly line: number;
  /** `CUDA out of memory: 3.9 GiB asked for`. */
  readonly title: string;
  /** The explanation; empty where only titles were asked for. */
  readonly markdown: string;
  /** Changes of the config that would have made room, estimated; what `APPLY_REQUEST` takes. */
  readonly reliefs?: readonly OomRelief[];
}

export interface OomRelief {
  readonly title: string;
  readonly values: RunValues;
  readonly fix?: string;
}

export interface ExplainedOom {
  readonly messages: readonly OomCard[];
  /** Config that they were held to; absent where none was found. */
  readonly config?: string;
}
