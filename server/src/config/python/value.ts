import type { Range } from '../../text/place';
import type { Lines } from '../lines';
import type { PyImport } from './imports';
import type { MadeSmaller } from './made-smaller';
import type { OwnCopy } from './own-copies';
import type { ParameterChoice } from './parameter-choice';
import type { SyntaxNode } from './syntax-node';

/** A module of the workspace that a text imports. */
export interface PyModule {
  readonly uri: string;
  readonly tree: SyntaxNode;
  readonly lines: Lines;
  /** What it imports itself, by the name that it is written with. */
  readonly imports: ReadonlyMap<string, PyModule>;
}

/** The values that a module binds at its top level. */
export interface Namespace {
  readonly uri: string;
  readonly values: Map<string, PyValue>;
}

/** The module that a statement stands in: its text, and what it reaches of the workspace by name. */
export interface ModuleContext {
  readonly lines: Lines;
  readonly imports: ReadonlyMap<string, PyModule>;
  /** Modules that were imported, by their names here. */
  readonly namespaces: Map<string, Namespace>;
  /** Path of the text, as `__file__` gives it; unset: nobody knows. */
  readonly file?: string;
  /** Address of an imported module; unset: it is the one that is run. */
  readonly uri?: string;
}

/** What an expression of a Python text is known to be. Nothing is run: what is not known from the text is unknown. */
export type PyValue =
  | PyScalar
  | PyList
  | PyDict
  | PyName
  | PyObject
  | PyFunction
  | PyClass
  | PyUnknown
  | PyEither;

interface Valued {
  /** Where it is written: a literal that a name is bound to stands at the literal. */
  readonly range: Range;
}
export interface PyScalar extends Valued {
  readonly kind: 'scalar';
  readonly value: string | number | boolean | null;
  /** The expression that it comes from is more than a literal, such as `BATCH * 2`. */
  readonly computed?: true;
}
export interface PyList extends Valued {
  readonly kind: 'list';
  readonly items: readonly PyValue[];
}
export interface PyDict extends Valued {
  readonly kind: 'dict';
  readonly entries: readonly PyArgument[];
  /** Something was put into it that is not known. */
  readonly open?: true;
  /** Its entries are attributes, too, as OmegaConf and namespaces have them. */
  readonly attributes?: true;
}
/** Something that is imported, by its full name: `torch.bfloat16`. */
interface PyName extends Valued {
  readonly kind: 'name';
  readonly name: string;
}
/** What a call of something imported made, or an item of that where it is taken apart. */
export interface PyObject extends Valued {
  readonly kind: 'object';
  readonly id: number;
  readonly item?: number;
}
export interface PyFunction extends Valued {
  readonly kind: 'function';
  readonly node: SyntaxNode;
  readonly name: string;
  readonly scope: PyScope;
  /** The module in which it is written. */
  readonly home: ModuleContext;
  /** What a decorator passes where a call passes nothing. */
  readonly filled?: readonly PyValue[];
  /** The same by name. */
  readonly filledNamed?: readonly PyArgument[];
  /** What comes before all that a call passes: the object of a method, what `functools.partial` keeps. */
  readonly bound?: Passed;
}
/** A function as it is written. */
export const codeOf = ({ home, node }: PyFunction): string => home.lines.text.slice(node.start, node.end);

/** A class of the file that makes the value of a field anew for each object: `field(default_factory=Data)`. */
export interface FieldFactory {
  readonly made: PyClass;
  readonly node: SyntaxNode;
}
export interface PyClass extends Valued {
  readonly kind: 'class';
  readonly name: string;
  readonly bases: readonly PyValue[];
  /** Fields with a value, as dataclasses have them. */
  readonly fields: Map<string, PyValue>;
  readonly factories?: ReadonlyMap<string, FieldFactory>;
  readonly isDataclass: boolean;
  /** Functions that its body defines. */
  readonly methods: ReadonlyMap<string, PyFunction>;
}
/** Parameters of a model that a text has chosen. */
export interface ChosenParameters {
  readonly of: PyObject;
  readonly choice: ParameterChoice;
}
export interface PyUnknown extends Valued {
  readonly kind: 'unknown';
  /** Who gives it: the command that launches the script, or nobody that could be asked. */
  readonly given?: 'launch';
  /** The object that it is a part of, and the way there: `config` of `model.config`. */
  readonly of?: number;
  readonly path?: string;
  /** It is how many tokens the tokenizer has that this call has loaded, or the processor around it. */
  readonly countOf?: number;
  /** It is an entry, by a name, of what this call made, as it was made: `load_dataset("glue")["train"]`. */
  readonly entryOf?: number;
  /** What was taken of the data that this call made, and what was done with it since. */
  readonly data?: { readonly of: number; readonly steps: readonly DataStep[] };
  /** The file whose content it is, open or read, by the path that names it. */
  readonly file?: string;
  /** The value that this is the text of, as `json.dumps` makes it. */
  readonly serialized?: PyValue;
  /** It holds parameters of a model, or their names. */
  readonly chosen?: ChosenParameters;
  /** It is the GPU's memory in bytes, times this. */
  readonly ofMemory?: number;
  /** It is how many GPUs there are: a run that is estimated has one. */
  readonly countsGpus?: true;
  /** How many items it gives one after the other, as `range(4)` does. */
  readonly times?: PyValue;
  /** It is a number, and no larger: `min(tokenizer.model_max_length, 1024)`. */
  readonly most?: PyScalar;
  /** It is a text, whatever stands in it, or a list of nothing else. */
  readonly text?: 'one' | 'list';
  /** It is the tokens of texts, put together with what else stands in the row: the calls that made them. */
  readonly joins?: readonly number[];
  /** It is a tensor of so many samples: `ids.unsqueeze(0)`. */
  readonly rows?: number;
  /** What is left of a number when another value, which stands at that place, is taken away: `2048 - longest`. */
  readonly left?: { readonly of: PyScalar; readonly without: Range };
}
/** A part of a data set by its name, or a method that was called on it. */
export type DataStep = { readonly key: string } | { readonly method: string; readonly passed: Passed };

/** One of several, as a condition decides that the text does not settle. */
export interface PyEither extends Valued {
  readonly kind: 'either';
  readonly options: readonly PyValue[];
  /** The condition. */
  readonly because: Range;
  /** What it asks of the GPU, or of a published model: the first option holds where that is so, the second where it is not. */
  readonly probe?: Probe;
}
/** Libraries that may take every GPU to compute in bf16. */
export type Emulating = 'torch' | 'transformers';
/**
 * Whether a GPU computes in bf16, or a library takes it to, be it emulated; whether it has so many bytes of memory and more; whether a
 * model that a call loads as it is published is of a type.
 */
export type Probe =
  | 'bf16'
  | { readonly emulatedBy: Emulating }
  | { readonly bytes: number }
  | { readonly typeOf: number; readonly is: 'bf16' | 'fp16' };

/** Whether bf16 is asked about, of the GPU or of a library. */
export const asksForBf16 = (probe: Probe | undefined): boolean =>
  probe === 'bf16' || (typeof probe === 'object' && 'emulatedBy' in probe);

/** A value by its name: an argument of a call, or an entry of a dictionary. */
export interface PyArgument {
  readonly key: string;
  readonly keyRange: Range;
  readonly value: PyValue;
  /** The expression that stands there, which may be a name for a value that is written elsewhere. */
  readonly used: Range;
  /** The same as it is written, shortened. */
  readonly text: string;
  /** Not every way through the text passes it: a condition puts it into the dictionary that it comes from. */
  readonly maybe?: true;
}

/** A value by a name that stands nowhere beside it: a field, a variable. */
export const argumentAt = (key: string, value: PyValue): PyArgument => ({
  key,
  keyRange: value.range,
  value,
  used: value.range,
  text: key,
});

/** Names and what they are bound to, of a module or of one call of a function. */
export interface PyScope {
  values: Map<string, PyValue>;
  readonly outer?: PyScope;
}

/** A call of something that is imported, or of a method of what such a call made, in the order of execution. */
export interface PyCall {
  readonly id: number;
  /** Full name of what is called: `trl.SFTConfig`, or the method's name where `of` is set. */
  readonly callee: string;
  /** The object whose method it is. */
  readonly of?: PyObject;
  readonly positional: readonly PyValue[];
  readonly named: readonly PyArgument[];
  /** `**more` whose content is not known: it may hold any argument. */
  readonly open?: Range;
  /** What is open is no `**`: `*more`, or text that is no Python. */
  readonly openBy?: '*' | 'broken';
  /** The whole call, what is called, and the arguments with their brackets. */
  readonly range: Range;
  readonly calleeRange: Range;
  readonly argumentsRange: Range;
  /** Conditions that the text does not settle and that the call hangs on. */
  readonly conditions: readonly Range[];
  /** It stands in a loop that may run more than once. */
  readonly repeated: boolean;
  /** Those loops, from the outermost on. */
  readonly loops: readonly PyLoop[];
  /** How many of the conditions stand around the outermost of them: those after decide about a round. */
  readonly outside?: number;
  /** It stands in `with torch.no_grad():`: what it makes holds no graph. */
  readonly graphless?: true;
  /** A class of the file that inherits from `callee`, and may do otherwise. */
  readonly subclass?: string;
  /** What its class hands on to `callee`, by name: `super().__init__(model=student)`. */
  readonly handed?: readonly PyArgument[];
  readonly parsed?: Passed['parsed'];
}

/** A loop that may go round more than once. */
export interface PyLoop {
  /** What it goes through, or its condition. */
  readonly range: Range;
  /** How often, where the text states it. */
  readonly times?: PyValue;
  /** What it goes through, where each item is known, and the value that its name has meanwhile. */
  readonly each?: { readonly items: readonly PyValue[]; readonly name: string; readonly bound: PyValue };
}

/** What is passed to a call. */
export interface Passed {
  readonly positional: readonly PyValue[];
  readonly named: readonly PyArgument[];
  /** A parser of flags passes it: among the named arguments are fields of other classes, too. */
  readonly parsed?: true;
  readonly open?: Range;
  readonly openBy?: PyCall['openBy'];
}

/** `object.attribute = value`. */
export const NOBODY = -1;
export interface PyAssignment {
  /** The call that made the owner; `NOBODY` where that is not known. */
  readonly of: number;
  readonly attribute: string;
  /** The part of it that the attribute is of: `config` in `model.config.use_cache = False`. */
  readonly within?: string;
  readonly value: PyValue;
  readonly range: Range;
  readonly conditions: readonly Range[];
  /** Calls that came before. */
  readonly after: number;
  /** Loops that it stands in, from the outermost on. */
  readonly loops: readonly PyLoop[];
}

/** A loop over weights of a model, or over its modules, that gives them another type: `param.data = param.data.float()`. */
export interface WeightCast {
  readonly of: PyObject;
  readonly each: 'parameter' | 'module';
  /** Which of them it does that to. */
  readonly choice: ParameterChoice;
  /** The type, as PyTorch names it or its method; undefined where that is not known. */
  readonly to: string | undefined;
  readonly range: Range;
  /** Conditions around the loop that the text does not settle. */
  readonly conditions: readonly Range[];
  /** Calls that came before. */
  readonly after: number;
}

/** A file of data that a program loads, by what it names it with. */
export interface DataRequest {
  /** As the program names it: a path, relative or not. */
  readonly path: string;
  /** Hydra's: a config of a folder beside the script, together with what its `defaults:` name. */
  readonly composed?: true;
  /** The call that loads it. */
  readonly range: Range;
}

/** A Python module or notebook, as far as it states what it does. */
export interface PyProgram {
  readonly calls: readonly PyCall[];
  readonly assignments: readonly PyAssignment[];
  readonly casts: readonly WeightCast[];
  /** Attributes that were set on what calls made, by the call. */
  readonly attributes: ReadonlyMap<number, ReadonlyMap<string, PyValue>>;
  /** Models that were loaded and that no name holds any more, with how many calls came before. */
  readonly released: ReadonlyMap<number, number>;
  /** Modules that are imported: `trl`, `torch.nn`. */
  readonly modules: ReadonlySet<string>;
  /** Names of the classes that the file defines, and of what they inherit from. */
  readonly classes: readonly PyClass[];
  /** Variables of the environment that the text sets. */
  readonly environment: readonly PyArgument[];
  /** Some of its values hang on how much memory the GPU has, on whether it computes in bf16, or on the type that a model is published in. */
  readonly asks?: true;
  /** Evaluation was given up: the text does more than can be followed. */
  readonly truncated: boolean;
  /** Every import of the text, followed or not. */
  readonly imports: readonly PyImport[];
  /** Words that stand in it as strings of their own, followed or not. */
  readonly words: () => ReadonlySet<string>;
  /** Code of it, followed or not, fills samples up by what they lack of a length. */
  readonly fillsSamples: () => boolean;
  /** A call of it, followed or not, that makes images smaller. */
  readonly madeSmaller: () => MadeSmaller | undefined;
  /** Packages that it imports from a folder of the project. */
  readonly ownCopies: () => readonly OwnCopy[];
  /** Addresses of the modules and the files of data of the workspace that values were taken from. */
  readonly taken: readonly string[];
  /** What its names are bound to at its end. */
  readonly bound: ReadonlyMap<string, PyValue>;
  /** The command that starts it is known. */
  readonly isLaunched?: true;
  /** Flags of that command with what they are given, and its other words. */
  readonly command?: { readonly flags: readonly PyArgument[]; readonly words: readonly PyValue[] };
  /** Files of data that it loads, at hand or not. */
  readonly wanted: readonly DataRequest[];
  /** Files that it writes, by their paths, and what it writes there; undefined where that is not known. */
  readonly written: ReadonlyMap<string, PyValue | undefined>;
}
