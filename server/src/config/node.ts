import type { Range } from '../run/origin';

/**
 * A parsed value with its place in the text. Every syntax (JSON with comments, YAML, TOML, flag files, command
 * lines) is read into this one tree, so dialects never see a syntax.
 */
export type ConfigNode = MapNode | ListNode | ScalarNode;

interface NodeBase {
  /** The whole value. */
  readonly range: Range;
}
export interface MapNode extends NodeBase {
  readonly kind: 'map';
  /** In file order; a duplicate key appears once (the one that the format lets win) and is reported as a problem. */
  readonly entries: readonly MapEntry[];
}
export interface MapEntry {
  readonly key: string;
  readonly keyRange: Range;
  readonly value: ConfigNode;
}
export interface ListNode extends NodeBase {
  readonly kind: 'list';
  readonly items: readonly ConfigNode[];
}
export interface ScalarNode extends NodeBase {
  readonly kind: 'scalar';
  /** As the format types it (YAML 1.1 for YAML files, as PyYAML does); blank values are null. */
  readonly value: string | number | boolean | null;
  /** As written, without quotes. */
  readonly text: string;
  readonly quoted: boolean;
  /** Shell only: the variable that stands for the value where it is used; `range` is where the variable is set. */
  readonly used?: Range;
}

export type Severity = 'error' | 'warning' | 'information' | 'hint';

/** Something wrong with a file, at the place where it is wrong. Plain data: editors and the command line render it. */
export interface Problem {
  /** Stable identifier, kebab-case: `does-not-fit`, `duplicate-key`, `batch-triangle`. */
  readonly code: string;
  readonly severity: Severity;
  readonly message: string;
  readonly range: Range;
  /** Other places that take part in it. */
  readonly related?: readonly { readonly uri: string; readonly range: Range; readonly message: string }[];
  /** Address of the documentation or source of the rule. */
  readonly source?: string;
  /** Machine-readable detail for fixes. */
  readonly data?: Readonly<Record<string, unknown>>;
}

export type ConfigFormat = 'json' | 'yaml' | 'toml' | 'shell' | 'flags';

/** A config file read as far as it can be read. Reading never throws on user text. */
export interface ConfigDocument {
  readonly uri: string;
  readonly format: ConfigFormat;
  /** Null where not even a partial tree could be built. */
  readonly root: ConfigNode | null;
  /** Syntax problems: broken syntax, duplicate keys, alias bombs, conflict markers, too large. */
  readonly problems: readonly Problem[];
  /** Directive comments (`# oomlint: ...` or `// oomlint: ...`) with their text after the colon. */
  readonly directives: readonly { readonly text: string; readonly range: Range }[];
  /** True when comments or trailing commas occur (JSON only): legal for DeepSpeed, not for strict readers. */
  readonly relaxedJson: boolean;
}
