import type { ConfigDocument, ConfigFormat, ConfigNode, MapNode, Problem } from '../config/node';
import type { DType, FieldPath } from '../run/fields';
import type { Fact, Range } from '../run/origin';

/** One known key of a config family: what hovers, completion, unknown-key checks and the JSON Schema are made from. */
export interface KeySpec {
  /** Dotted path; `*` matches one segment. */
  readonly path: string;
  /** JSON types that the tool accepts. */
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'object' | 'array' | 'any';
  /** Closed set of values, if any. */
  readonly values?: readonly (string | number | boolean)[];
  /** `"auto"` is accepted where Accelerate or HF Trainer fill it in. */
  readonly auto?: boolean;
  /** The framework's default when the key is absent, as people would write it. */
  readonly default?: string | number | boolean | null;
  /** What the key means, one or two sentences of Markdown. */
  readonly doc: string;
  /** The sentences of `doc` where it is put together: each as it is said, then what stands in its places. */
  readonly sentences?: readonly (readonly [text: string, ...places: string[]])[];
  /** Framework documentation or source. */
  readonly source?: string;
  /** Run fields that this key sets: the hover shows their resolved value and what they cost. */
  readonly fields?: readonly FieldPath[];
  /** Set on old spellings: the key to use instead. */
  readonly deprecated?: string;
}

/** What a dialect reads out of one document. */
export interface Reading {
  /** Statements of this file and defaults of its framework (origin kind `default`), any order. */
  readonly facts: readonly Fact[];
  /** Files that this one names. */
  readonly links: readonly FileLink[];
  /** What the framework would reject or ignore, judged from this file alone. */
  readonly problems: readonly Problem[];
  /**
   * Values written as `auto` (or left for the caller to fill): resolved after the run is joined.
   * `range` is the value; `key` its path.
   */
  readonly autos: readonly AutoValue[];
  /** Cloud instance type that the file names (`ec2_instance_type`): the hardware catalog knows its GPUs. */
  readonly instance?: { readonly name: string; readonly range: Range };
  /** Keys that count in this document where its family has none of its own (scripts: those of the program they start). */
  readonly keys?: readonly KeyGroup[];
}

/** Rows for the keys below a place of a document. */
export interface KeyGroup {
  /** Path of the block that holds them. */
  readonly below: readonly string[];
  readonly rows: readonly KeySpec[];
}

/** A value that the caller fills in. */
export interface AutoValue {
  readonly key: string;
  readonly range: Range;
  /** Family whose rules fill it where the file is of another one that holds its config. */
  readonly family?: string;
}

export interface FileLink {
  /** As written. Relative paths are tried against the file's folder, then the workspace folder. */
  readonly path: string;
  readonly range: Range;
  readonly key: string;
  readonly role: 'deepspeed' | 'accelerate' | 'fsdp' | 'model' | 'include';
  /** The tool brings such a file itself: nothing is amiss where it is not here. */
  readonly optional?: boolean;
  /** Values of the file that the one at hand replaces. */
  readonly overrides?: Overrides;
}

/** What a launch gives over the config that it names: `trainer.num_nodes=4 model.micro_batch_size=2`. */
export interface Overrides {
  /** The values in the blocks that they belong to. */
  readonly tree: MapNode;
  /** Words without a block: values at the top, or options of Hydra's groups by the group's path. */
  readonly choices: MapNode;
  /** What they say without the config, of the facts of the reading. Where the config is here, both are read as one. */
  readonly facts: readonly Fact[];
}

/** A config family. A table of keys beside a few lines of code; no formulas, no editor types. */
export interface Dialect {
  readonly id: string;
  /** For people: `DeepSpeed`, `Accelerate`, `Oomlint run`. */
  readonly name: string;
  readonly keys: readonly KeySpec[];
  /** Matches the raw text of every file that `detect` could accept: most files are turned away unparsed. */
  readonly markers: RegExp;
  /** What its files are written in, where that is one thing only. */
  readonly format?: ConfigFormat;
  /** By content, not by name alone: 0 is no, 1 is certain. Must be cheap. */
  detect(root: ConfigNode, fileName: string): number;
  read(document: ConfigDocument, context: ReadContext): Reading;
  /** The row of a key that may stand anywhere, by its path; the others are found by `keys`. */
  rowAt?(path: readonly string[]): KeySpec | undefined;
}

export interface ReadContext {
  /**
   * What is already known from stronger or other sources when rules need it (world size, hidden size for `auto`).
   * Dialects must work when everything is undefined.
   */
  readonly known: Partial<Record<FieldPath, unknown>>;
  /** The model, once it is found. */
  readonly model?: {
    /** Type of the published weights: what `auto` stands for. */
    readonly publishedDtype?: DType;
    readonly maxPositions?: number;
    readonly layers?: number;
    readonly hiddenSize?: number;
    /** `config.json`, as far as it was read. */
    readonly config?: Readonly<Record<string, unknown>>;
  };
}
