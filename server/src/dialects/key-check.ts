import { isLeftOpen } from '../config/filled-later';
import type { ConfigNode, ListNode, MapEntry, MapNode } from '../config/node';
import { flagOf, integerOf, isAuto, isBlank, numberOf } from '../config/scalar';
import { FIELDS, type FieldPath } from '../run/fields';
import { mayShapeMemory } from '../run/unread';
import type { Range } from '../text/place';
import type { Severity } from '../text/problem';
import { say } from '../wording/say';
import type { KeySpec } from './dialect';
import type { Draft } from './draft';
import type { KeyTable } from './key-table';
import type { Releases } from './release';

/** What a framework does with keys and types that it does not expect. */
export interface KeyPolicy {
  /** Judges an unknown key below `parent` (empty for the top level); undefined states nothing. */
  unknown(parent: string, key: string, near: readonly string[]): Judgement | undefined;
  /** Whose release decides over a key or value, by its path, that is judged an error; undefined: they are Oomlint's own. */
  refusal?(path: string): { readonly source: string; readonly releases?: Releases };
  /** Severity of a value of the wrong type; undefined states nothing. */
  wrongType(spec: KeySpec, path: string): Severity | undefined;
  /** Values that are well whatever the key takes. */
  accepts?(node: ConfigNode): boolean;
  /** Version of the framework that the run uses, where it is known. */
  readonly version?: unknown;
  /** Whether the release that the run uses has a key that is named in the place of an old one; undefined: it has them all. */
  offers?(path: string): boolean;
  /** Closed sets of words are matched by case here. */
  exactCase?(path: string): boolean;
}
export interface Judgement {
  /** Releases that judge so, where that is known. */
  readonly releases?: Releases;
  readonly severity: Severity;
  readonly message: string;
}

/**
 * A key that no row has, and that may change what a GPU holds as its name goes: the run was not read whole. Within blocks one that is
 * switched off changes nothing, and releases of the framework know some that no row has. A framework that refuses other keys is a changed
 * copy where one stands, so a name that tells nothing may mean anything.
 */
function leaveUnknown(key: string, range: Range, table: KeyTable, draft: Draft): void {
  // Flags of a command are looked at with the command.
  if (draft.commandLine || table.family === '') return;
  const isOwn = table.refusesOthers && !key.includes('.') && table.released?.presence(key) === undefined;
  if (!mayShapeMemory(key.split('.').at(-1) ?? key, isOwn)) return;
  const message = say(
    '`{0}` is no key that is known of {1}: what it changes is not counted.',
    key,
    table.family,
  );
  draft.leave('flag', { range }, key, message);
}

/** The same of a block that no row has, below one that is known: what stands in it is on or off by itself. */
function leaveUnknownBlock(block: MapNode, table: KeyTable, draft: Draft, parent: string): void {
  if (isSwitchedOff(block)) return;
  for (const { key, keyRange, value } of block.entries) {
    const path = `${parent}.${key}`;
    if (value.kind === 'map') leaveUnknownBlock(value, table, draft, path);
    else if (!isOff(value)) leaveUnknown(path, keyRange, table, draft);
  }
}

/** What is switched off: nothing, false, an empty list. */
const isOff = (node: ConfigNode) =>
  isBlank(node) || flagOf(node) === false || (node.kind === 'list' && node.items.length === 0);

/** A block that its own switch leaves out: what else stands in it decides nothing. */
const isSwitchedOff = ({ entries }: MapNode) =>
  entries.some(({ key, value }) => /^enabled?$/.test(key) && flagOf(value) === false);

/** What is switched on: true, more than one, a word, a block of which something is on, or that has no switch. */
function isOn(node: ConfigNode): boolean {
  if (node.kind === 'scalar') {
    const number = numberOf(node);
    return number === undefined ? !isOff(node) && !/^(none|auto)$/i.test(node.text) : number > 1;
  }
  if (node.kind === 'list') return node.items.length > 0;
  const switches = (map: MapNode): ConfigNode[] =>
    map.entries.flatMap(({ key, value }) =>
      value.kind === 'map' ? switches(value) : /^enabled?$/.test(key) ? [value] : [],
    );
  const found = switches(node);
  return found.length > 0 ? found.some((value) => flagOf(value) === true) : node.entries.length > 0;
}

/** Whose arguments the Trainer parses: what its releases do not know stops the run. Others take only some of them on. */
const PARSED_BY_TRAINER = /^(?:transformers|trl)$/;

/** Of which releases a file is, by its keys: those that have all of them. A key that a script may have of its own tells no last one. */
function noteReleases(path: string, range: Range, { released }: KeyTable, draft: Draft): void {
  const first = released?.firstWith(path);
  if (first) draft.need(first.source, first.release);
  if (!PARSED_BY_TRAINER.test(String(draft.valueOf('framework')))) return;
  const last = released?.lastWith(path);
  if (last?.source !== 'transformers') return;
  const note = say('`{0}` takes `{1}` up to release {2}', 'TrainingArguments', path, last.release);
  draft.limitRelease('version.transformers', last.release, note, range, path);
}

/** The same of each flag of a command whose other words are not looked at. */
export function noteTopReleases(root: MapNode, table: KeyTable, draft: Draft): void {
  for (const { key, keyRange } of root.entries) noteReleases(key, keyRange, table, draft);
}

/**
 * States what the values of a file leave open, along its key table: a number that the estimate rests on and that cannot be read is
 * not known, and `auto` is for the caller to fill.
 */
export function rejectMisfits(root: MapNode, table: KeyTable, draft: Draft, parent = ''): void {
  const off = parent !== '' && isSwitchedOff(root);
  for (const { key, keyRange, value } of root.entries) {
    const path = parent === '' ? key : `${parent}.${key}`;
    const spec = table.find(path);
    noteReleases(path, keyRange, table, draft);
    if (!spec) {
      const mayCount =
        !off && (parent === '' || (!isOff(value) && table.released?.presence(path) === undefined));
      if (mayCount) leaveUnknown(path, keyRange, table, draft);
      if (mayCount && parent !== '' && value.kind === 'map') leaveUnknownBlock(value, table, draft, path);
      continue;
    }
    if (spec.brings !== undefined && isOn(value)) draft.bring(spec.brings, value, path);
    if (value.kind === 'map') {
      if (table.names(path).length > 0) rejectMisfits(value, table, draft, path);
      else if (isOpen(value, spec, draft) && (spec.fields ?? []).length > 0 && !draft.hasLeft(value.range))
        draft.leave(
          'value',
          { range: keyRange },
          key,
          say('`{0}` is made by a call, whose value is known only when the program runs.', path),
          spec.fields,
        );
      else leaveMisplaced(value, spec, path, draft);
    } else if (value.kind === 'list') leaveMisplaced(value, spec, path, draft);
    else {
      if (isLeftToCaller(value, spec)) {
        if (spec.auto) draft.auto(path, value);
        continue;
      }
      if (isOpen(value, spec, draft) || isBlank(value)) continue;
      const size = spec.least === undefined ? undefined : numberOf(value);
      const isTooSmall = size !== undefined && size < 1;
      if (!isTooSmall && mismatch(value, spec, false) === undefined) continue;
      const numbers = numbersOf(spec);
      const others = spec.fields?.filter((field) => !numbers.includes(field)) ?? [];
      if (others.length > 0) draft.leaveWord(others, value, path, spec.ofScript ? 'flag' : 'value');
      if (numbers.length > 0) draft.reject(numbers, value, path);
    }
  }
}

/** A list or a block in the place of a number, a switch or one of a few words is none of them. */
function leaveMisplaced(node: MapNode | ListNode, spec: KeySpec, path: string, draft: Draft): void {
  const { type, values, spellings, sets, fields } = spec;
  const isWord = type === 'string' && (values !== undefined || spellings !== undefined);
  // A row that takes `none` as well has no type.
  const isCount = type === 'any' && sets !== undefined && FIELDS[sets].type === 'integer';
  const single = /^(?:integer|number|boolean)$/.test(type) || isWord || isCount;
  if (!single || !fields || fields.length === 0 || draft.hasLeft(node.range)) return;
  if (spec.means?.(node) !== undefined || fields.every((field) => draft.statesElsewhere(field, node.range)))
    return;
  const message = say('`{0}` takes {1}, not {2}.', path, mismatch(node, spec, false) ?? type, shown(node));
  draft.leave('value', node, path, message, fields);
}

/** Walks a file along its key table: unknown keys, wrong types, values outside of closed sets, old spellings. */
export function checkKeys(
  root: MapNode,
  table: KeyTable,
  policy: KeyPolicy,
  draft: Draft,
  parent = '',
): void {
  for (const entry of root.entries) {
    const path = parent === '' ? entry.key : `${parent}.${entry.key}`;
    const spec = table.find(path);
    if (!spec) {
      checkUnknown(entry, parent, table, policy, draft);
      continue;
    }
    if (spec.deprecated !== undefined && policy.offers?.(spec.deprecated) !== false) {
      draft.report(
        'deprecated-key',
        'hint',
        say('`{0}` is an old spelling: use `{1}`.', path, spec.deprecated),
        entry.keyRange,
        { source: spec.source, data: { replacement: spec.deprecated } },
      );
    }
    checkValue(entry.value, spec, path, { table, policy }, draft);
    if (entry.value.kind === 'map' && table.names(path).length > 0) {
      checkKeys(entry.value, table, policy, draft, path);
    }
  }
}

/** Whether somebody may have meant this key: its row takes such a value. */
function mayBeMeant({ value }: MapEntry, name: string, parent: string, table: KeyTable): boolean {
  const spec = table.find(parent === '' ? name : `${parent}.${name}`);
  return !spec || isBlank(value) || isAuto(value) || mismatchOfType(value, spec.type) === undefined;
}

function checkUnknown(
  entry: MapEntry,
  parent: string,
  table: KeyTable,
  policy: KeyPolicy,
  draft: Draft,
): void {
  // A single letter in common is no hint: short keys match everything.
  const found = entry.key.length < 4 ? [] : draft.near(entry.key, table.names(parent), 2);
  const near = found.filter((name) => mayBeMeant(entry, name, parent, table));
  const judgement = inRelease(
    policy.unknown(parent, entry.key, near),
    parent,
    entry.key,
    table,
    policy.version,
  );
  if (!judgement) return;
  const data = near.length > 0 ? { replacement: near[0], suggestions: near } : { key: entry.key };
  const { severity, message, releases } = judgement;
  const path = parent === '' ? entry.key : `${parent}.${entry.key}`;
  const refusal = severity === 'error' ? policy.refusal?.(path) : undefined;
  const refused = releases ? { ...refusal, releases } : refusal;
  if (refusal)
    draft.refuse('unknown-key', message, entry.keyRange, { source: refusal.source, ...refused, data });
  else draft.report('unknown-key', severity, message, entry.keyRange, { data });
}

/**
 * The judgement of a key that no row has, by what the framework's releases say: one that the release in use knows is not unknown, and one
 * of another release is known by that name, and is refused by the releases that are named alone.
 */
export function inRelease(
  judgement: Judgement | undefined,
  parent: string,
  key: string,
  { family, released }: Pick<KeyTable, 'family' | 'released'>,
  version: unknown,
): Judgement | undefined {
  const path = parent === '' ? key : `${parent}.${key}`;
  const presence = judgement && released?.presence(path, version);
  if (!judgement || !presence) return judgement;
  if (presence === 'present') return undefined;
  const message =
    'since' in presence
      ? say('{0} knows the key `{1}` since version {2}.', family, path, presence.since)
      : say('{0} has no key `{1}` any more, since version {2}.', family, path, presence.until);
  const releases = 'since' in presence ? { until: presence.since } : { from: presence.until };
  return { ...judgement, message, releases };
}

function checkValue(
  node: ConfigNode,
  spec: KeySpec,
  path: string,
  { table, policy }: { readonly table: KeyTable; readonly policy: KeyPolicy },
  draft: Draft,
): void {
  if (isLeftToCaller(node, spec) || policy.accepts?.(node) || isOpen(node, spec, draft)) return;
  const takesNull = () => (spec.default ?? null) === null || table.released?.takesNull(path) === true;
  if (isBlank(node) && takesNull()) return;
  // What the framework does with it or not: a number that the estimate rests on is not known.
  const judged = policy.wrongType(spec, path) ?? (numbersOf(spec).length > 0 ? 'warning' : undefined);
  if (judged === undefined) return;
  // What is asked `if value:` is off; only a framework that checks types stops.
  if (isBlank(node) && spec.type === 'boolean' && judged !== 'error') return;
  // A number left out on purpose: a script of the project may fill it in.
  const severity = isBlank(node) && judged === 'warning' ? 'information' : judged;
  const expected = mismatch(wordOf(node, spec, draft), spec, policy.exactCase?.(path) ?? false);
  if (expected === undefined) return;
  const message =
    misread(node, spec, path, expected) ?? say('`{0}` takes {1}, not {2}.', path, expected, shown(node));
  const data = { key: path, expected };
  const refusal = severity === 'error' ? policy.refusal?.(path) : undefined;
  if (refusal) draft.refuse('wrong-type', message, node.range, { ...refusal, data });
  else draft.report('wrong-type', severity, message, node.range, { source: spec.source, data });
}

/** That YAML takes one of the words of a key for a switch: `no`, `off`. */
function misread(node: ConfigNode, { values }: KeySpec, path: string, expected: string): string | undefined {
  if (node.kind !== 'scalar' || node.quoted || typeof node.value !== 'boolean') return undefined;
  if (!values?.includes(node.text.toLowerCase())) return undefined;
  return say(
    '`{0}` takes {1}: without quotes YAML reads `{2}` as {3}.',
    path,
    expected,
    node.text,
    String(node.value),
  );
}

const isLeftToCaller = (node: ConfigNode, spec: KeySpec) =>
  isAuto(node) && !(spec.values?.includes('auto') ?? false);

/** A value that states nothing yet. */
function isOpen(node: ConfigNode, spec: KeySpec, { commandLine }: Draft): boolean {
  // Hydra calls what a mapping names: its value is known when the program runs.
  if (node.kind === 'map') return !spec.byClass && node.entries.some(({ key }) => key === '_target_');
  if (node.kind !== 'scalar') return false;
  if (isLeftOpen(node)) return true;
  // Mappings and lists are given as JSON in a word.
  if (commandLine && (spec.type === 'object' || spec.type === 'array')) return true;
  // A value that is still being typed.
  return (node.text === '' || node.value === '???') && !node.quoted;
}

/** Fields that a key of numbers sets, the shape of a model among them. */
function numbersOf({ type, fields = [] }: KeySpec): readonly FieldPath[] {
  if (type !== 'integer' && type !== 'number') return [];
  return fields.filter(
    (field) => field === 'model.config' || ['integer', 'number'].includes(FIELDS[field].type),
  );
}

/** A word of a command is text until the program reads it: `no` is no flag there. */
function wordOf(node: ConfigNode, { type }: KeySpec, { commandLine }: Draft): ConfigNode {
  return commandLine && type === 'string' && node.kind === 'scalar' ? { ...node, value: node.text } : node;
}

function shown(node: ConfigNode): string {
  if (node.kind === 'map') return say('a mapping');
  if (node.kind === 'list') return say('a list');
  if (node.value === null) return 'null';
  return node.quoted ? say('the text "{0}"', node.text) : `\`${node.text}\``;
}

/** What the key takes, where the value is not it. Coercions that the frameworks make are accepted. */
function mismatch(node: ConfigNode, spec: KeySpec, exactCase: boolean): string | undefined {
  const wrong = mismatchOfType(node, spec.type);
  if (wrong !== undefined) return spec.values ? say('one of {0}', spec.values.join(', ')) : wrong;
  if (!spec.values || node.kind !== 'scalar') return undefined;
  const word = exactCase ? node.text : node.text.toLowerCase();
  const number = typeof node.value === 'boolean' ? Number(node.value) : numberOf(node);
  const flag = flagOf(node);
  const matches = spec.values.some((value) =>
    typeof value === 'boolean'
      ? value === flag
      : typeof value === 'string'
        ? (exactCase ? value : value.toLowerCase()) === word
        : value === number,
  );
  return matches ? undefined : say('one of {0}', spec.values.join(', '));
}

function mismatchOfType(node: ConfigNode, type: KeySpec['type']): string | undefined {
  switch (type) {
    case 'any':
      return undefined;
    case 'object':
      return node.kind === 'map' || isBlank(node) ? undefined : say('a mapping');
    case 'array':
      return node.kind === 'list' ? undefined : say('a list');
    case 'string':
      return node.kind === 'scalar' && typeof node.value === 'string' ? undefined : 'text';
    case 'boolean':
      return isFlag(node) ? undefined : say('true or false');
    case 'integer':
      return isInteger(node) ? undefined : say('a whole number');
    case 'number':
      return isNumber(node) ? undefined : say('a number');
  }
}

/** As Pydantic coerces: words, 0 and 1. */
function isFlag(node: ConfigNode): boolean {
  if (node.kind !== 'scalar') return false;
  if (typeof node.value === 'boolean') return true;
  return /^(true|false|yes|no|on|off|y|n|t|f|0|1)$/i.test(String(node.value));
}

/** As Pydantic coerces: `5e8` and "8" are whole numbers, "5e8" in quotes is not. */
function isInteger(node: ConfigNode): boolean {
  if (node.kind !== 'scalar') return false;
  if (typeof node.value === 'boolean') return true;
  if (typeof node.value === 'string') return /^\s*[-+]?\d[\d_]*(\.0*)?\s*$/.test(node.value);
  // Larger than JavaScript holds exactly is still a whole number.
  return integerOf(node) !== undefined || (typeof node.value === 'number' && Number.isInteger(node.value));
}

function isNumber(node: ConfigNode): boolean {
  if (node.kind !== 'scalar') return false;
  return typeof node.value === 'boolean' || typeof node.value === 'number' || numberOf(node) !== undefined;
}

/** Words that differ at one place by at most two characters, as slips of the keyboard do, and not by a word more. */
export function isSlip(a: string, b: string): boolean {
  const [some, more] = [a, b]
    .map((name) => name.toLowerCase().split('_'))
    .sort((x, y) => x.length - y.length);
  if (some && more && some.length < more.length && some.every((word) => more.includes(word))) return false;
  const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, '');
  const [x, y] = [plain(a), plain(b)];
  // The least and the most of something are two things.
  const bound = (text: string) => text.replace(/min|max/g, '');
  if (x !== y && bound(x) === bound(y)) return false;
  const shorter = Math.min(x.length, y.length);
  let prefix = 0;
  while (prefix < shorter && x[prefix] === y[prefix]) prefix++;
  let suffix = 0;
  while (suffix < shorter - prefix && x[x.length - 1 - suffix] === y[y.length - 1 - suffix]) suffix++;
  return Math.max(x.length, y.length) - prefix - suffix <= 2;
}
