import type { ConfigDocument, MapEntry, MapNode } from '../../config/node';
import { LIBRARY } from '../../config/python/imports';
import { isForeign, nodeOf } from '../../config/python/node-of-value';
import { callNames } from '../../config/python/python';
import type { PyArgument, PyCall, PyEither, PyProgram, PyValue } from '../../config/python/value';
import type { FieldPath } from '../../run/fields';
import { mayShapeMemory } from '../../run/unread';
import { isWithin, type Range } from '../../text/place';
import { say } from '../../wording/say';
import { DEEPSPEED_TABLE } from '../deepspeed/deepspeed-keys';
import type { Draft } from '../draft';
import { MODEL_ARGUMENTS_TABLE } from '../hf/model-arguments-keys';
import { PEFT_TABLE } from '../hf/peft-config-keys';
import type { KeyTable } from '../key-table';
import { Section } from '../section';
import { parallelismOf } from './parallelism-config';
import { asWritten } from './written-files';

/** What reading the calls of a program needs. */
export interface Calls {
  readonly program: PyProgram;
  readonly draft: Draft;
  /** Whether the GPU computes in bf16; undefined while it is not known. */
  readonly bf16: boolean | undefined;
  /** What cells install, in their order. */
  readonly installs?: ConfigDocument['installs'];
}

/** Arguments that are read by those that know what makes them. */
const READ_APART = /^(quantization_config|peft_config|model|args|ref_model|teacher_model)$/;

/** Arguments that are settings, or the file that holds them (`TrainingArguments`). */
const TAKES_FILE = /^(?:deepspeed|fsdp_config|accelerator_config)$/;

/** Switches that save memory: where a branch decides about one, it is taken to be off. */
const SAVES =
  /gradient_checkpointing|load_in_[48]bit|liger|double_quant|flash|offload|fp16|bf16|packing_free|padding_free|^use_cpu$|^no_cuda$/;

/** Lists of modules of the model. */
const NAMES_MODULES = /^(?:target_modules|modules_to_save|lora_target_modules)$/;

/** Of several values the one that needs the most: the largest number, no saving, more of what is no saving. */
export function worst({ options }: PyEither, key = ''): PyValue {
  const [first] = options;
  const numbers = options.flatMap((option) =>
    option.kind === 'scalar' && typeof option.value === 'number' ? [[option.value, option] as const] : [],
  );
  // Of what is not known nobody can tell whether it needs more.
  const known = options.filter(isKnown);
  // -1 is no limit of steps: the epochs count.
  const endless = key === 'max_steps' ? numbers.find(([steps]) => steps <= 0) : undefined;
  if (endless) return endless[1];
  if (numbers.length > 0 && numbers.length === known.length) {
    const [most] = [...numbers].sort(([a], [b]) => b - a);
    if (most) return most[1];
  }
  const lists = options.filter((option) => option.kind === 'list');
  // Each names modules of another model: those that the model has need most together.
  if (NAMES_MODULES.test(key) && first && lists.length > 1 && lists.length === known.length)
    return { kind: 'list', items: lists.flatMap(({ items }) => items), range: first.range };
  const types = options.map((option) => (option.kind === 'name' ? BYTES[option.name] : undefined));
  if (types.every((bytes) => bytes !== undefined))
    return options[types.indexOf(Math.max(...types))] ?? first ?? NOWHERE;
  const off = options.find(
    (option) => option.kind === 'scalar' && (option.value === false || option.value === null),
  );
  const on = options.filter((option) => option !== off);
  // What a call made is no list of modules.
  const most = on.find((one) => isKnown(one) && !(isMade(one) && NAMES_MODULES.test(key))) ?? on[0];
  const chosen = SAVES.test(key) ? (off ?? most) : most;
  return chosen ?? first ?? NOWHERE;
}
const ZERO = { line: 0, character: 0 };
const NOWHERE: PyValue = { kind: 'unknown', range: { start: ZERO, end: ZERO } };
/** Bytes of an element of PyTorch's types. */
const BYTES: Readonly<Record<string, number>> = {
  'torch.float64': 8,
  'torch.double': 8,
  'torch.float32': 4,
  'torch.float': 4,
  'torch.float16': 2,
  'torch.half': 2,
  'torch.bfloat16': 2,
};

/** Of a value that a branch decides, for people: `4 or 8`. */
function shown(value: PyEither): string {
  const flat = (one: PyValue): readonly PyValue[] =>
    one.kind === 'either' ? one.options.flatMap(flat) : [one];
  const one = (option: PyValue): string =>
    option.kind === 'scalar' ? JSON.stringify(option.value) : option.kind === 'name' ? option.name : '?';
  const words = flat(value).map((option) =>
    option.kind === 'list' ? `[${option.items.map(one).join(', ')}]` : one(option),
  );
  return [...new Set(words)].join(say(' or '));
}

/** What is taken of a value that a branch decides. */
function branchWords(key: string, value: PyEither): string {
  if (!value.options.every(isKnown))
    return say(
      '`{0}` is {1}: that depends on a condition which the text does not settle. What is known of it is taken.',
      key,
      shown(value),
    );
  // Copies in 16 bits need more beside weights in fp32, and save activations: which of both needs more depends on the rest.
  return MIXED.test(key)
    ? say(
        '`{0}` is {1}: that depends on a condition which the text does not settle. It is taken to be off, which may need more or less.',
        key,
        shown(value),
      )
    : say(
        '`{0}` is {1}: that depends on a condition which the text does not settle. The one that needs more is taken.',
        key,
        shown(value),
      );
}
const MIXED = /^(?:fp16|bf16)$/;

function isKnown(value: PyValue): boolean {
  if (value.kind === 'either')
    return value.probe === 'bf16' ? value.options.every(isKnown) : value.options.some(isKnown);
  if (value.kind === 'list') return value.items.every(isKnown);
  return value.kind !== 'unknown' && !isForeign(value);
}

/** Whether a list of modules is filled with what is not known: that it begins without any is no choice of none. */
function isCollected(key: string, value: PyValue): boolean {
  if (!NAMES_MODULES.test(key) || value.kind !== 'either' || value.options.every(isKnown)) return false;
  return value.options.filter(isKnown).every((option) => option.kind === 'list' && option.items.length === 0);
}

const isMade = ({ kind }: PyValue): boolean => kind === 'object' || kind === 'function' || kind === 'class';

/**
 * Arguments that every way through the text passes: none where a condition chooses what is called, nor those of a parser, which may be
 * fields of another class.
 */
export function surelyPassed({ calls }: PyProgram, call: PyCall | undefined): readonly PyArgument[] {
  if (!call || call.parsed) return [];
  const isHere = ({ range }: PyCall) => isWithin(range, call.range) && isWithin(call.range, range);
  const isChosen = calls.some((other) => other.callee !== call.callee && isHere(other));
  return isChosen ? [] : call.named.filter(({ maybe }) => !maybe);
}

/** The named arguments of a call; what is set on the object later counts like one: `args.bf16 = True`. */
export function argumentsOf(program: PyProgram, call: PyCall): PyArgument[] {
  const set = program.attributes.get(call.id);
  if (!set) return [...call.named];
  const places = new Map(
    program.assignments.flatMap((one) => (one.of === call.id ? [[one.attribute, one.range] as const] : [])),
  );
  const later = [...set].flatMap(([key, value]): PyArgument[] => {
    const range = places.get(key);
    return range ? [{ key, keyRange: range, value, used: value.range, text: key }] : [];
  });
  return [...call.named.filter(({ key }) => !later.some((other) => other.key === key)), ...later];
}

/** Why a call may have any argument beside those that are read, and what stands there. */
export function openOf({ openBy }: PyCall): { readonly shown: string; readonly words: string } {
  if (openBy === 'broken')
    return {
      shown: '(…)',
      words: say('The arguments here are no valid Python: what could not be read may be any argument.'),
    };
  const shown = openBy ?? '**';
  return { shown, words: say('What `{0}` passes here is not known: it may be any argument.', shown) };
}

/** The arguments of a call that are known, as a block; those that are not are left with a word, and state nothing. */
export function blockOf(
  calls: Calls,
  call: PyCall,
  rows: KeyTable,
  extra: readonly MapEntry[] = [],
): MapNode {
  const { program, draft } = calls;
  if (call.open) {
    const fields = withholdDefaults(draft, call, rows);
    const { shown, words } = openOf(call);
    draft.leave('words', { range: call.open }, shown, words, fields);
  }
  const own = argumentsOf(program, call).filter(({ key }) => !call.parsed || isOwnField(call, key, rows));
  const given = own.map((argument) => {
    if (argument.key === 'parallelism_config')
      return { ...argument, value: parallelismOf(program, argument.value) };
    return TAKES_FILE.test(argument.key)
      ? { ...argument, value: asWritten(program, argument.value) }
      : argument;
  });
  return blockOfArguments(calls, given, call.argumentsRange, rows, extra);
}

/** Whether a class of a library has a field that a parser of flags was given; those of `ModelConfig` are no arguments of a trainer. */
function isOwnField({ callee }: PyCall, key: string, rows: KeyTable): boolean {
  const ofModel = MODEL_ARGUMENTS_TABLE.find(key) !== undefined;
  return /ModelConfig$/.test(callee) ? ofModel : rows.find(key) !== undefined && !ofModel;
}

/** Fields that are not guessed where nobody knows the GPU that decides about them. */
const NO_WORST = /^(?:model\.id|quantization\.kind|lora\.rank)$/;

/** Names of classes: however many they are, a head for them is small. */
const LABELS = /^(?:id2label|label2id)$/;

/** The same of arguments that a dictionary holds, such as `model_init_kwargs`. */
export function blockOfArguments(
  { draft, bf16 }: Calls,
  given: readonly PyArgument[],
  range: MapNode['range'],
  rows: KeyTable,
  extra: readonly MapEntry[] = [],
): MapNode {
  const entries = given.flatMap((argument): MapEntry[] => {
    const { key, keyRange, value, used } = argument;
    takePlaces(draft, argument, used.uri === undefined ? used : range);
    const fields = rows.find(key)?.fields ?? [];
    if (LABELS.test(key)) return [];
    const matters = fields.length > 0 || (!rows.find(key) && mayShapeMemory(key));
    // What a call made is a number or a switch only where the argument takes one.
    const made = isMade(value);
    if (made && (fields.length === 0 || READ_APART.test(key))) return [];
    if (made || !isKnown(value) || isCollected(key, value)) {
      // How long the run goes on changes nothing of what a step needs.
      if (matters && !isOfSchedule(fields)) leaveValue(draft, argument, fields);
      else withhold(draft, fields);
      return [];
    }
    if (fields.some((field) => NO_WORST.test(field)) && value.kind === 'either' && value.probe === 'bf16') {
      leaveUndecided(draft, key, value, fields);
      withhold(draft, fields);
      return [];
    }
    if (matters) leaveBranch(draft, argument, fields);
    if (value.kind === 'dict') {
      const settings = key === 'deepspeed' ? DEEPSPEED_TABLE : rows;
      leaveUnknownIn(draft, argument, settings, settings === rows ? `${key}.` : '', fields);
    }
    return [{ key, keyRange, value: nodeOf(value, { used, bf16, choose: worst, key }) }];
  });
  return { kind: 'map', entries: [...entries, ...extra], range };
}

/**
 * Notes what of a dictionary of settings is known only when the script runs. `prefix`: what stands before its keys in the rows;
 * `whole`: fields that entries nobody knows may decide.
 */
export function leaveUnknownIn(
  draft: Draft,
  { key, value, used, text }: PyArgument,
  rows: KeyTable,
  prefix: string,
  whole: readonly FieldPath[],
): void {
  if (value.kind !== 'dict') return;
  if (value.open) leaveValue(draft, { key, keyRange: used, value, used, text }, whole);
  for (const entry of value.entries) {
    const path = `${prefix}${entry.key}`;
    const row = rows.find(path);
    const fields = row?.fields ?? [];
    const matters = fields.length > 0 || (!row && mayShapeMemory(entry.key));
    if (matters && isKnown(entry.value)) leaveBranch(draft, { ...entry, key: path }, fields);
    if (isMade(entry.value) && READ_APART.test(entry.key)) continue;
    if (entry.value.kind === 'dict')
      leaveUnknownIn(draft, { ...entry, key: path }, rows, `${path}.`, fields.length > 0 ? fields : whole);
    else if (matters && (isMade(entry.value) || !isKnown(entry.value)))
      leaveValue(draft, { ...entry, key: path }, fields);
  }
}

/** Notes a value that a branch decides. */
function leaveBranch(draft: Draft, { key, value, text }: PyArgument, fields: readonly FieldPath[]): void {
  if (value.kind !== 'either' || value.probe === 'bf16') return;
  const decided = fields.length > 0 ? fields : undefined;
  draft.leave('branch', { range: value.because }, `${key}=${text}`, branchWords(key, value), decided);
}

/** Whether a value is known, not one of several that a condition chooses from, and not made by a function that is not read. */
export function isDecided({ calls }: PyProgram, value: PyValue): boolean {
  if (value.kind === 'either') return value.probe === 'bf16' && value.options.every(isKnown);
  if (value.kind === 'object') return LIBRARY.test(calls[value.id]?.callee ?? '');
  return isKnown(value);
}

/** Where an argument takes values of another module. */
function takePlaces(
  draft: Draft,
  { keyRange, value }: Pick<PyArgument, 'keyRange' | 'value'>,
  at: Range,
): void {
  for (const range of [keyRange, value.range]) draft.takes(range, at);
  if (value.kind === 'list') for (const item of value.items) draft.takes(item.range, at);
  if (value.kind === 'either') for (const option of value.options) draft.takes(option.range, at);
  if (value.kind === 'dict') for (const entry of value.entries) takePlaces(draft, entry, at);
}

/** Whether all that an argument decides is how long a run goes on. */
const isOfSchedule = (fields: readonly FieldPath[]): boolean =>
  fields.length > 0 && fields.every((field) => field.startsWith('schedule.'));

/** Notes that a value is not known, and of which fields therefore nothing is. */
export function leaveValue(
  draft: Draft,
  { key, used, text }: PyArgument,
  fields: readonly FieldPath[],
): void {
  draft.leave(
    'value',
    { range: used },
    `${key}=${text}`,
    say('`{0}` takes `{1}`, which is known only when the script runs.', key, text),
    fields.length > 0 ? fields : undefined,
  );
  withhold(draft, fields);
}

/**
 * Notes that a condition which the text does not settle decides an argument of a call, where no way is known to need more than the others,
 * as with the model itself: none is taken. What a GPU decides that is not known is such a condition (`onCard` has settled the others).
 */
export function leaveUndecided(
  draft: Draft,
  key: string,
  value: PyValue | undefined,
  fields: readonly FieldPath[],
): boolean {
  if (value?.kind !== 'either' || !value.options.some(isKnown)) return false;
  const words = say(
    '`{0}` is {1}: that depends on a condition which the text does not settle.',
    key,
    shown(value),
  );
  draft.leave('value', { range: value.because }, key, words, fields);
  return true;
}

/** Notes that an argument of a call is known only when the script runs, and of which fields therefore nothing is. */
export function leaveArgument(
  draft: Draft,
  key: string,
  { range }: { readonly range: Range },
  fields: readonly FieldPath[],
): void {
  draft.leave(
    'value',
    { range },
    key,
    say('What `{0}` takes is known only when the script runs.', key),
    fields,
  );
}

const unknownFields = new WeakMap<Draft, FieldPath[]>();

/** Arguments of a training that its class has of its own: what tables of recipes add comes from elsewhere. */
const OF_TRAINING =
  /^(batch\.(micro|accumulation|sequence|packed)|activations\.|precision\.(compute|scheme)|optimizer\.|kernels\.|rollout\.|parallel\.|fsdp\.)/;

/** Nothing is assumed where a call may be passed more than can be read; gives the fields that it may decide. */
export function withholdDefaults(draft: Draft, call: Pick<PyCall, 'named'>, rows: KeyTable): FieldPath[] {
  const training = rows !== PEFT_TABLE;
  const fields = rows.names('').flatMap((key) => {
    if (call.named.some((argument) => argument.key === key)) return [];
    return (rows.find(key)?.fields ?? []).filter((field) => !training || OF_TRAINING.test(field));
  });
  withhold(draft, fields);
  return fields;
}

/** Nothing is assumed of these fields, whatever is read later. */
export function withhold(draft: Draft, fields: readonly FieldPath[]): void {
  unknownFields.get(draft)?.push(...fields) ?? unknownFields.set(draft, [...fields]);
}

const overruledFields = new WeakMap<Draft, readonly FieldPath[]>();

/** What arguments state of these fields does not count either: something that is not known takes their place. */
export function overrule(draft: Draft, fields: readonly FieldPath[]): void {
  overruledFields.set(draft, fields);
}

/** Takes back what was assumed or overruled of fields whose values are not known. To be called when all is read. */
export function withdrawUnknown(draft: Draft): void {
  draft.withdraw(unknownFields.get(draft) ?? []);
  draft.forget(...(overruledFields.get(draft) ?? []));
}

/** The same as a section, whose keys are named with the name of the call. */
export function sectionOf(
  calls: Calls,
  call: PyCall,
  rows: KeyTable,
  extra: readonly MapEntry[] = [],
): Section {
  const name = callNames(calls.program).get(call.id) ?? '';
  return new Section(blockOf(calls, call, rows, extra), calls.draft, name, rows);
}

/** The value that the text gives a variable of the environment last, as text; undefined where it gives none that is known. */
export function variableOf(
  { environment }: Pick<PyProgram, 'environment'>,
  name: string,
): string | undefined {
  const value = environment.findLast(({ key }) => key === name)?.value;
  return value?.kind === 'scalar' ? String(value.value) : undefined;
}

/** An argument of a call, by its name or else by its place. */
export function argumentOf(call: PyCall, name: string, place?: number): PyValue | undefined {
  const named = call.named.find(({ key }) => key === name)?.value;
  return named ?? (place === undefined || place < 0 ? undefined : call.positional[place]);
}

/** An entry that stands for something else in the text: a call that was made, an argument of another. */
export function standIn(key: string, value: string | number | boolean, range: MapNode['range']): MapEntry {
  return {
    key,
    keyRange: range,
    value: { kind: 'scalar', value, text: String(value), range, quoted: typeof value === 'string' },
  };
}
