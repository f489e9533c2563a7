import type { ConfigDocument, ConfigFormat, ConfigNode, MapNode } from '../config/node';
import type { Requirement } from '../environment/requirement';
import type { Model } from '../model/model';
import type { FieldPath, RunValues, TrainingRun } from '../run/fields';
import type { OpenQuestion } from '../run/open-question';
import type { Fact } from '../run/origin';
import type { Unread } from '../run/unread';
import type { Versions } from '../run/versions';
import type { DType } from '../terms/dtypes';
import type { UnmodelledFeature } from '../terms/unmodelled-features';
import type { Location, Range } from '../text/place';
import type { Problem } from '../text/problem';
import type { JsonType, ReleasedKeys } from './framework-keys';
import type { LinkRole } from './link-roles';
import type { Words } from './words';

/** One known key of a config family: what hovers, completion, unknown-key checks and the JSON Schema are made from. */
export interface KeySpec {
  /** Dotted path; `*` matches one segment. */
  readonly path: string;
  /** JSON types that the tool accepts. */
  readonly type: JsonType;
  /** Closed set of values, if any. */
  readonly values?: readonly (string | number | boolean)[];
  /** `"auto"` is accepted where Accelerate or HF Trainer fill it in. */
  readonly auto?: boolean;
  /** The framework's default when the key is absent, as people would write it. */
  readonly default?: string | number | boolean | null;
  /** Where it changed with a release: the default is that of the version which the run uses. */
  readonly defaults?: ChangedDefault;
  /** What the key means, one or two sentences of Markdown. */
  readonly doc: string;
  /** `doc` is text of the workspace, not our own Markdown. */
  readonly foreign?: true;
  /** The sentences of `doc` where it is put together: each as it is stated, then what stands in its places. */
  readonly sentences?: readonly (readonly [text: string, ...places: string[]])[];
  /** Framework documentation or source. */
  readonly source?: string;
  /** Run fields that this key shapes: the hover shows their resolved value and what they cost. */
  readonly fields?: readonly FieldPath[];
  /** The one of them that the value states, read by the type of the field: see `Section.take`. */
  readonly sets?: FieldPath;
  /** How the values of that field are spelled here, where they are not written as they are. Serves reading and writing. */
  readonly spellings?: Spellings;
  /** What a value states of that field, where neither its type nor `spellings` say it; undefined states nothing. */
  readonly means?: (node: ConfigNode) => unknown;
  /**
   * The default counts for the run where the key is left out. The address of the framework's source that has it; true where
   * whoever reads the section knows the address.
   */
  readonly assumes?: string | true;
  /** Set on old spellings: the key to use instead. */
  readonly deprecated?: string;
  /** Set on second names that are as good: the path of the first. */
  readonly alias?: string;
  /** The framework divides by the size: a smaller one is none, and no way to say that there is none. */
  readonly least?: 1;
  /** A mapping that names a class is read here, by the name: it leaves nothing open. */
  readonly byClass?: true;
  /** Where the key is on the run has this feature, which no formula holds: there is no verdict. */
  readonly brings?: UnmodelledFeature;
  /** An argument that scripts have of their own: what its words mean is in their code. */
  readonly ofScript?: true;
}

/** A framework whose version no field holds: as pip knows it. */
type FrameworkPackage = 'verl';

/** A default that a release of a library changed. */
interface ChangedDefault {
  /** The field of the library's version, or the framework whose version no field holds: of that the newest is taken where none is named. */
  readonly of: Extract<FieldPath, `version.${string}`> | FrameworkPackage;
  readonly before: Spelled | null;
  /** First release with the new one. */
  readonly since: string;
  readonly after: Spelled | null;
}

/** Words of a framework by the value of the field that they state; the first of several is written. */
export type Spellings = Readonly<Partial<Record<string, Spelled | readonly Spelled[]>>>;
/** A word, number or switch of a config. */
export type Spelled = string | number | boolean;

/** What a dialect reads out of one document. */
export interface Reading {
  /** Statements of this file and defaults of its framework (origin kind `default`), any order. */
  readonly facts: readonly Fact[];
  /** Files that this one names. */
  readonly links: readonly FileLink[];
  /** What the framework would reject or ignore, judged from this file alone. */
  readonly problems: readonly Problem[];
  /** What the framework stops on at values that other files put over those of this one; their places name the files. */
  readonly refusedElsewhere?: readonly Problem[];
  /**
   * Values written as `auto` (or left for the caller to fill): resolved after the run is joined.
   * `range` is the value; `key` its path.
   */
  readonly autos: readonly AutoValue[];
  /** The file is a config only where one that it includes is: a script that nobody knows, with a recipe. */
  readonly joinsOnly?: boolean;
  /** Where problems go that belong to the file as a whole, where that is not its first key: the command that starts the run. */
  readonly wholeAt?: Range;
  /** A trainer that Oomlint does not model: there is no estimate, and nothing is asked for. */
  readonly notModelled?: TrainerNotModelled;
  /** Releases without which its code cannot run: the first that take what it passes. */
  readonly needs?: Partial<Record<FieldPath, string>>;
  /** It hands an optimizer to whoever trains, and that counts in the place of one that other files of the run name. */
  readonly givesOptimizer?: true;
  /**
   * The most weights that lie on a GPU at once before the training starts, of models that are gone then, too. `besideTrained`: those of the
   * model that is trained lie there as well.
   */
  readonly earlier?: { readonly bytes: number; readonly besideTrained: boolean };
  /** How what is missing of its run is asked for. */
  readonly asking?: Asking;
  /** What of this file was not understood. */
  readonly unread?: readonly Unread[];
  /** Keys that count in this document where its family has none of its own (scripts: those of the program they start). */
  readonly keys?: readonly KeyGroup[];
}

/** How a person is asked for what is missing of a run, where it is of another kind than most. */
export interface Asking {
  /** Values that make a useful start, as they are written. */
  readonly examples: Partial<Record<FieldPath, string>>;
  /** What the model itself fixes: nothing of it is missing once the model is known. */
  readonly fixedByModel?: readonly FieldPath[];
}

/** A trainer that is recognised and not modelled, as reports name it. */
export interface TrainerNotModelled {
  readonly name: string;
  /** What it trains. */
  readonly trains: string;
}

/** Rows for the keys below a place of a document. */
export interface KeyGroup {
  /** Path of the block that holds them. */
  readonly below: readonly string[];
  readonly rows: readonly KeySpec[];
  /** How their family writes what its rows do not say. */
  readonly words?: Words;
  /** They are given to a script of a project's own, whose code may do more than they say. */
  readonly ownScript?: boolean;
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
  readonly role: LinkRole;
  /** The tool brings such a file itself: nothing is amiss where it is not here. */
  readonly optional?: boolean;
  /** It lies below a folder of another machine: that it is not here is no fault, but what it states is not known. */
  readonly elsewhere?: boolean;
  /** The path is that of a script, whose `@hydra.main` names the file. */
  readonly byMain?: boolean;
  /** Folders that are looked into where the path leads nowhere, as `hydra.searchpath` writes them. */
  readonly searched?: readonly string[];
  /** Values of the file that the one at hand replaces. */
  readonly overrides?: Overrides;
}

/** What a launch gives over the config that it names: `trainer.num_nodes=4 model.micro_batch_size=2`. */
interface Overrides {
  /** The values in the blocks that they belong to. */
  readonly tree: MapNode;
  /** Words without a block: values at the top, options of Hydra's groups by the group's path, or all that a script in Python is given. */
  readonly choices: MapNode;
  /** What they say without the config, of the facts of the reading. Where the config is here, both are read as one. */
  readonly facts: readonly Fact[];
  /** What the framework stops on of them, whatever the config states. */
  readonly refused?: () => readonly Problem[];
}

/** What is known when autos are filled. */
export interface AutoKnowledge {
  readonly known: ReadContext['known'];
  /** `hidden_size` of the model, or the largest of `hidden_sizes`. */
  readonly hiddenSize?: number;
  /** File that the autos stand in, for their origin. */
  readonly uri?: string;
}

/** A value that a file leaves open as `auto`, and what the caller's value makes of it. */
export interface FilledAuto {
  readonly key: string;
  readonly value: string;
  /** Argument that it comes from; undefined where the caller always fills in the same. */
  readonly argument?: string;
  readonly location?: Location;
  readonly source: string;
}

/**
 * How another file of the run stands to the one at hand: it is taken in and overridden by it, it takes this one in and
 * overrides it, or both speak side by side and must agree (a DeepSpeed file and the recipe that names it).
 */
type Relation = 'overrides' | 'overridden' | 'beside';

/** A file of a run as its family reads it, and how it stands to the file at hand. */
export interface RunMember {
  readonly config: {
    readonly uri: string;
    readonly document: ConfigDocument;
    readonly dialect: Dialect;
    readonly reading: Reading;
  };
  readonly relation: Relation | 'self';
}

/** A file that the one at hand names, where it was found. */
export interface FollowedLink {
  readonly range: Range;
  readonly uri?: string;
}

/** What a family states of the files of a run together. Each is asked once for every family that the run has files of. */
export interface Joins {
  /** What decides the run and none of its files states. */
  questions?(members: readonly RunMember[], values: RunValues): OpenQuestion[];
  /** Facts that follow from values written as `auto`, once the model and what the caller states are known. */
  fillAutos?(autos: readonly AutoValue[], knowledge: AutoKnowledge): Fact[];
  /** What the callers put in the place of `auto` in one of the run's files, for people. */
  filled?(self: RunMember['config'], members: readonly RunMember[]): FilledAuto[];
  /** Whether a file of this family puts a statement of another family's file out of effect; undefined where none. */
  replaces?(own: readonly Fact[]): ((stated: Fact) => boolean) | undefined;
  /** Whether a statement of a file of this family counts only where none of the run's other statements decides the same. */
  givesWay?(stated: Fact, all: readonly Fact[]): boolean;
  /** Problems at statements of a file that this family replaced; `winner` is what counts in their place. */
  reportReplaced?(replaced: readonly Fact[], winner: (field: FieldPath) => Fact | undefined): Problem[];
  /** What stops the run because its files do not go together, at places of the file at hand. */
  check?(self: RunMember['config'], members: readonly RunMember[]): Problem[];
  /** The same between two other files, at the links of the file at hand that lead to them. */
  checkLinked?(
    self: RunMember['config'],
    members: readonly RunMember[],
    links: readonly FollowedLink[],
  ): Problem[];
}

/** What the JSON Schema of a family states beyond its rows. */
interface SchemaRules {
  /** Its readers check the type of every value; those of others convert, or look at few. */
  readonly strict?: boolean;
  /** Keys without which a file is no config of the family. */
  readonly required?: readonly string[];
  /** Any value may be blank, and a bare NO, which YAML reads as false, may stand for a text. */
  readonly blank?: boolean;
  /** Inside of its blocks, `auto` is dropped and the default taken. */
  readonly dropsAuto?: boolean;
  /** What may stand in the place of any value. */
  readonly instead?: Readonly<Record<string, unknown>>;
  /** Its keys are the fields of a run. */
  readonly ofFields?: boolean;
}

/** What a family states of a model's split over GPUs beside its keys. */
export interface SplitWays {
  /** Its key states how a script has split the model, and splits none itself. */
  readonly ofScripts?: true;
  /** Values without which it splits no samples. */
  readonly contextNeeds?: RunValues;
  /** Whether it stops on a run that is split, or leaves a part of it whole without a word. */
  refuses(run: TrainingRun, model: SplitModel): boolean;
}

/** What of a model decides how it is split. */
export interface SplitModel {
  readonly modelType: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly keyValueHeads: number;
}

/** A config family. A table of keys beside a few lines of code; no formulas, no editor types. */
export interface Dialect {
  readonly id: string;
  /** For people: `DeepSpeed`, `Accelerate`, `Oomlint run`. */
  readonly name: string;
  readonly keys: readonly KeySpec[];
  /** The same keys as the framework's releases have them. */
  readonly released?: ReleasedKeys;
  /** Matches the raw text of every file that `detect` could accept, in linear time: most files are turned away unparsed. */
  readonly markers: { test(text: string): boolean };
  /** What its files are written in, where that is one thing only. */
  readonly format?: ConfigFormat;
  /** The highest score of `detect`, where asking it is dear: it is not asked where another family is as sure. */
  readonly surest?: number;
  /** By content, not by name alone: 0 is no, 1 is certain. Must be cheap. */
  detect(root: ConfigNode, fileName: string): number;
  read(document: ConfigDocument, context: ReadContext): Reading;
  /** Names of optimizers as its files spell them, where no row lists them; unset: those of transformers. */
  readonly optimizers?: readonly string[];
  /** Its keys take what the run fields that they set take. */
  readonly takesFieldValues?: boolean;
  /** Its files show how a run is started: where one takes part, the launch is known. */
  readonly startsRuns?: boolean;
  /** Its files are a library's: a script states what is trained and calls it. */
  readonly isLibrary?: boolean;
  /** Its files are code of a project's own, or are given to such: that may do more than they say. */
  readonly ownScript?: boolean;
  /** What it states of the files of a run together. */
  readonly joins?: Joins;
  readonly schema?: SchemaRules;
  /** How the family writes what its rows do not say plainly. */
  readonly words?: Words;
  /** How it splits a model over GPUs, for the search of what fits. */
  readonly splits?: SplitWays;
  /** Releases of frameworks that a file itself holds: of the one that wrote it, or that its cells install. */
  releases?(document: ConfigDocument): readonly Requirement[];
  /** A block that is a whole config of its own where a file has it: what stands in it refers to it. */
  readonly wraps?: string;
  /** Files of the framework's repository that define its arguments: a changed copy around a config may know more than the releases. */
  readonly definitions?: readonly string[];
  /** The row of a key that may stand anywhere, by its path; the others are found by `keys`. */
  rowAt?(path: readonly string[]): KeySpec | undefined;
}

export interface ReadContext {
  /**
   * What is already known from stronger or other sources when rules need it (world size, hidden size for `auto`).
   * Dialects must work when everything is undefined.
   */
  readonly known: Partial<Record<FieldPath, unknown>>;
  /** Versions of packages with how surely they are known; empty as long as nobody looked. */
  readonly versions?: Versions;
  /** The model, once it is found. */
  readonly model?: {
    /** Type of the published weights: what `auto` stands for. */
    readonly publishedDtype?: DType;
    readonly maxPositions?: number;
    readonly layers?: number;
    readonly hiddenSize?: number;
    /** Where it is a decoder behind an encoder. */
    readonly decoder?: Model['decoder'];
    /** `config.json`, as far as it was read. */
    readonly config?: Readonly<Record<string, unknown>>;
  };
}
