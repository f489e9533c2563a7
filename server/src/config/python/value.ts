import type { Range } from '../../text/place';
import type { PyImport } from './imports';
import type { SyntaxNode } from './syntax-node';

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
}
/** Something that is imported, by its full name: `torch.bfloat16`. */
export interface PyName extends Valued {
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
}
export interface PyClass extends Valued {
  readonly kind: 'class';
  readonly name: string;
  readonly bases: readonly PyValue[];
  /** Fields with a value, as dataclasses have them. */
  readonly fields: Map<string, PyValue>;
  readonly isDataclass: boolean;
  /** Functions that its body defines. */
  readonly methods: ReadonlyMap<string, PyFunction>;
}
export interface PyUnknown extends Valued {
  readonly kind: 'unknown';
  /** Who gives it: the command that launches the script, or nobody that could be asked. */
  readonly given?: 'launch';
  /** The object that it is a part of. */
  readonly of?: number;
}
/** One of several, as a condition decides that the text does not settle. */
export interface PyEither extends Valued {
  readonly kind: 'either';
  readonly options: readonly PyValue[];
  /** The condition. */
  readonly because: Range;
  /** It asks whether the GPU computes in bf16: the first option holds where it does, the second where it does not. */
  readonly probe?: true;
}

/** A value by its name: an argument of a call, or an entry of a dictionary. */
export interface PyArgument {
  readonly key: string;
  readonly keyRange: Range;
  readonly value: PyValue;
  /** The expression that stands there, which may be a name for a value that is written elsewhere. */
  readonly used: Range;
  /** The same as it is written, shortened. */
  readonly text: string;
}

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
  /** The whole call, what is called, and the arguments with their brackets. */
  readonly range: Range;
  readonly calleeRange: Range;
  readonly argumentsRange: Range;
  /** Conditions that the text does not settle and that the call hangs on. */
  readonly conditions: readonly Range[];
  /** It stands in a loop that may run more than once. */
  readonly repeated: boolean;
  /** A class of the file that inherits from `callee`, and may do otherwise. */
  readonly subclass?: string;
}

/** What is passed to a call. */
export interface Passed {
  readonly positional: readonly PyValue[];
  readonly named: readonly PyArgument[];
  readonly open?: Range;
}

/** `object.attribute = value`. */
export interface PyAssignment {
  readonly of: number;
  readonly attribute: string;
  readonly value: PyValue;
  readonly range: Range;
  readonly conditions: readonly Range[];
  /** Calls that came before. */
  readonly after: number;
}

/** A Python module or notebook, as far as it states what it does. */
export interface PyProgram {
  readonly calls: readonly PyCall[];
  readonly assignments: readonly PyAssignment[];
  /** Attributes that were set on what calls made, by the call. */
  readonly attributes: ReadonlyMap<number, ReadonlyMap<string, PyValue>>;
  /** Modules that are imported: `trl`, `torch.nn`. */
  readonly modules: ReadonlySet<string>;
  /** Names of the classes that the file defines, and of what they inherit from. */
  readonly classes: readonly PyClass[];
  /** Variables of the environment that the text sets. */
  readonly environment: readonly PyArgument[];
  /** Evaluation was given up: the text does more than can be followed. */
  readonly truncated: boolean;
  /** Every import of the text, followed or not. */
  readonly imports: readonly PyImport[];
  /** Addresses of the modules of the workspace that values were taken from. */
  readonly taken: readonly string[];
}
