import type { Range } from '../text/place';
import type { Problem } from '../text/problem';
import type { MachinesAsked } from './job-manifest';
import type { Lines } from './lines';
import type { Install } from './python/magics';
import type { PyProgram } from './python/value';
import type { PlacedText } from './shell/placed-text';
import type { ScriptRun } from './shell/run-script';
import type { TrainingJob } from './training-job';

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
  /** Path of the key that states it, where that stands elsewhere than the block: an argument of another call of a Python file. */
  readonly path?: string;
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
  /** Shell and Python: the name that stands for the value where it is used; `range` is where it is set. */
  readonly used?: Range;
  /** Shell and Python: something in it is not known, such as a variable that the script never sets; it stands there as written. */
  readonly open?: 'unset' | 'unknown';
  /** Shell and Python: the condition that decides about the value, where the script does not settle it. */
  readonly guessed?: Range;
}

export type ConfigFormat = 'json' | 'yaml' | 'toml' | 'shell' | 'flags' | 'python';

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
  /** Shell only: the command that counts, by its place in the script, where that starts several runs. */
  readonly command?: number;
  /** Shell only: the trees of the other ways at a condition that the script does not settle. */
  readonly otherWays?: (condition: Range) => readonly MapNode[];
  /** Shell only: other scripts that it runs. */
  readonly runs?: readonly ScriptRun[];
  /** Shell only: its script, where that stands among other text, with the lines of that text. */
  readonly heldIn?: { readonly lines: Lines; readonly script: PlacedText };
  /** Shell only: what those run that are here stands among its own commands. */
  readonly follows?: boolean;
  /** Shell only: a text for people shows the commands. */
  readonly isShown?: boolean;
  /** Where problems go that belong to the file as a whole; its first key where it is left out. */
  readonly wholeAt?: Range;
  /** Python only: what the text does, as far as it states it. */
  readonly program?: PyProgram;
  /** Python only: packages that cells install. */
  readonly installs?: readonly Install[];
  /** Shell only: the job of SageMaker whose command this is. */
  readonly job?: TrainingJob<{ readonly key: string; readonly text: string; readonly range: Range }>;
  /** Shell only: what the manifest that holds the commands asks of machines. */
  readonly manifest?: MachinesAsked;
  /** Python only: cells of a notebook, which one process runs. */
  readonly inNotebook?: true;
  /** Notebooks only: the GPU that they ask their service for. */
  readonly asksFor?: { readonly name: string; readonly range: Range };
  /** Notebooks only: the GPU that they ask their service for, and another that they printed. */
  readonly ranElsewhere?: { readonly asked: string; readonly ran: string; readonly range: Range };
}
