import { groupOf } from '../../config/defaults-list';
import { nodeAt } from '../../config/lookup';
import type { ConfigDocument, ConfigFormat } from '../../config/node';
import type { Dialect, KeySpec, Reading } from '../../dialects/dialect';
import { launchesOf } from '../../dialects/launch/launch';
import { FIELDS, type FieldSpec } from '../../run/fields';
import { linesOf } from '../../text/lines';
import type { Position, Range } from '../../text/place';
import { say } from '../../wording/say';
import { keyDocumentation } from '../key-documentation';
import { code, sourceLink } from '../markdown';
import { type FlagPlace, flagsPlace } from './flags-place';
import { jsonPlace } from './json-place';
import { type CaretPlace, LONGEST_LINE } from './place';
import { type NamedRow, rowAt, rowsBelow } from './rows';
import { tomlPlace } from './toml-place';
import { type OfferedValue, offeredValues } from './values';
import { yamlPlace } from './yaml-place';

/** What can be typed at a place. Plain text: no snippets. */
export interface Completion {
  readonly label: string;
  readonly kind: 'key' | 'block' | 'value' | 'file';
  /** What it replaces, and by what. */
  readonly range: Range;
  readonly text: string;
  /** What is compared with the typed word. */
  readonly filter: string;
  readonly sort: string;
  readonly detail?: string;
  /** What the run would need with it: shown on every row. */
  readonly outcome?: string;
  /** There was no time for its outcome: it is to be asked for again. */
  readonly untried?: boolean;
  /** It is under Enter, wherever it stands. */
  readonly preselect?: boolean;
  /** Markdown. */
  readonly documentation?: string;
}

interface CompletionRequest {
  readonly text: string;
  readonly position: Position;
  readonly document: ConfigDocument;
  readonly dialect: Dialect;
  readonly reading: Reading;
  /** Another extension offers the keys of our schema: only values are offered. */
  readonly schemasServed?: boolean;
  /** Files that a path may name, as they are written from here; asked for keys that name one. */
  readonly files?: (typed: string) => Promise<readonly string[]>;
}

/** Rows that hold at a place, with the path below which they are meant. */
interface Place {
  readonly caret: CaretPlace;
  readonly keys: readonly (readonly KeySpec[])[];
  readonly dashes?: string;
}

/** Keys whose value is the path of another config. */
const FILE_KEY =
  /(^|_)(deepspeed|deepspeed_config|deepspeed_config_file|fsdp_config|config_file|config|model_config)$/;
const MOST_FILES = 200;

function isLongLine({ text, position }: CompletionRequest): boolean {
  return (linesOf(text)[position.line] ?? '').length > LONGEST_LINE;
}

/** Keys and values that fit at a place; empty where nothing is known. */
export async function completions(request: CompletionRequest): Promise<readonly Completion[]> {
  const place = isLongLine(request) ? undefined : placeOf(request);
  if (!place) return [];
  const { caret } = place;
  const served = request.schemasServed === true && request.document.format === 'yaml';
  if (caret.key === undefined && !(caret.item && request.document.format === 'yaml')) {
    return served ? [] : keysAt(place, request);
  }
  if (caret.key === undefined) {
    // An item of a list: a value of the key that holds the list, or the first key of a mapping.
    const holder = caret.parent.slice(0, -1);
    const values = valuesAt(find(place.keys, holder), caret, request);
    return [...values, ...(served ? [] : keysAt(place, request))];
  }
  if (caret.parent.length === 2 && caret.parent[0] === 'defaults') return optionsAt(caret, request);
  const spec = find(place.keys, [...caret.parent, caret.key]);
  const values = valuesAt(spec, caret, request);
  const named =
    FILE_KEY.test(caret.key) && (spec === undefined || spec.type === 'string' || spec.type === 'any');
  if (!named || !request.files) return values;
  const files = (await request.files(caret.word)).slice(0, MOST_FILES);
  return [...values, ...files.map((path): Completion => fileEntry(path, caret, request.document.format))];
}

/** Options of a group in a `defaults:` list of Hydra: the configs in its folder, without their extension. */
async function optionsAt(caret: CaretPlace, { files, document }: CompletionRequest): Promise<Completion[]> {
  const group = groupOf(caret.key ?? '');
  const folder = `${group}/`;
  const found = (await files?.(`${folder}${caret.word}`)) ?? [];
  return found
    .filter((path) => path.startsWith(folder) && /\.ya?ml$/i.test(path))
    .slice(0, MOST_FILES)
    .map((path) => fileEntry(path.slice(folder.length).replace(/\.ya?ml$/i, ''), caret, document.format));
}

function find(keys: Place['keys'], path: readonly string[]): KeySpec | undefined {
  for (const rows of keys) {
    const found = rowAt(rows, path);
    if (found) return found;
  }
  return undefined;
}

function placeOf({ text, position, document, dialect, reading }: CompletionRequest): Place | undefined {
  const { root, format } = document;
  const keys = [dialect.keys];
  const alone = (caret: CaretPlace | undefined): Place | undefined => caret && { caret, keys };
  switch (format) {
    case 'json':
      return alone(jsonPlace(text, position, root));
    case 'yaml':
      return alone(yamlPlace(text, position));
    case 'toml':
      return alone(tomlPlace(text, position));
    case 'flags': {
      const caret = flagsPlace(text, position, root, (name) => rowAt(dialect.keys, [name]) !== undefined);
      return caret && { caret, keys, dashes: caret.dashes };
    }
    case 'shell':
      return shellPlace({ text, position, document, dialect, reading });
    // Editors of Python know the arguments of calls.
    case 'python':
      return undefined;
  }
}

/** A flag of the training command that the caret is in; elsewhere in a script nothing is offered. */
function shellPlace({ text, position, document, reading }: CompletionRequest): Place | undefined {
  const commands = nodeAt(document.root, ['commands']);
  const items = commands?.kind === 'list' ? commands.items : [];
  const launches = launchesOf(document.root);
  const first = logicalStart(text, position.line);
  const own = launches.find(({ range }) => first <= range.end.line && range.start.line <= position.line);
  // Which words another script takes that it runs is not known of their names.
  if (!own || own.isCalled) return undefined;
  const index = Number(/\[(\d+)\]/.exec(own.path)?.[1] ?? -1);
  const script = nodeAt(items[index], ['script'])?.range;
  const behind =
    script === undefined ||
    script.end.line < position.line ||
    (script.end.line === position.line && script.end.character <= position.character);
  const block = behind ? 'arguments' : 'launcher';
  const rows = (reading.keys ?? [])
    .filter(({ below }) => below[1] === `[${index}]` && below[2] === block)
    .map((group) => group.rows);
  if (rows.length === 0) return undefined;
  const flags = block === 'arguments' ? own.arguments : own.launcher;
  const caret = flagsPlace(text, position, flags, (name) => find(rows, [underscored(name)]) !== undefined);
  if (!caret || (caret.key === undefined && caret.dashes === '')) return undefined;
  const spelled: FlagPlace = caret.key === undefined ? caret : { ...caret, key: underscored(caret.key) };
  return { caret: spelled, keys: rows, dashes: dashed(text, own.range) ? 'dashed' : 'underscored' };
}

const underscored = (name: string) => name.replaceAll('-', '_');

/** First line of the command that a line goes on with. */
function logicalStart(text: string, line: number): number {
  const lines = linesOf(text);
  let first = line;
  while (first > 0 && /\\\s*$/.test(lines[first - 1] ?? '')) first -= 1;
  return first;
}

/** Whether a command spells its flags with dashes inside, as Megatron's do. */
function dashed(text: string, { start, end }: Range): boolean {
  const lines = linesOf(text).slice(start.line, end.line + 1);
  const flags = lines.join('\n').match(/--[A-Za-z][\w-]*/g) ?? [];
  const count = (pattern: RegExp) => flags.filter((flag) => pattern.test(flag)).length;
  return count(/\w-\w/) > count(/_/);
}

function keysAt(place: Place, { document: { format } }: CompletionRequest): Completion[] {
  const { caret, keys } = place;
  const header = format === 'toml' && caret.item === true;
  const offered = new Map<string, NamedRow>();
  for (const rows of keys) {
    for (const row of rowsBelow(rows, caret.parent)) {
      if (!offered.has(row.name)) offered.set(row.name, row);
    }
  }
  return [...offered.values()]
    .filter(({ name, spec, isBlock }) => {
      if (caret.siblings.has(name) || spec?.deprecated !== undefined) return false;
      return header ? isBlock : true;
    })
    .map((row): Completion => keyEntry(row, place, format, header));
}

function keyEntry(
  { name, spec, isBlock }: NamedRow,
  place: Place,
  format: ConfigFormat,
  header: boolean,
): Completion {
  const { caret } = place;
  const written = writtenKey(name, isBlock, place, format, header);
  const label = format === 'shell' ? written.trim() : name;
  return {
    label,
    kind: isBlock ? 'block' : 'key',
    range: caret.range,
    text: written,
    filter:
      format === 'json' ? `"${name}"` : format === 'shell' || format === 'flags' ? written.trim() : name,
    sort: `${rank(spec)}${name}`,
    detail: spec?.type === 'any' ? undefined : spec?.type,
    documentation: spec && documented(spec),
  };
}

function writtenKey(
  name: string,
  isBlock: boolean,
  { caret, dashes = '' }: Place,
  format: ConfigFormat,
  header: boolean,
): string {
  switch (format) {
    case 'json':
      return caret.ended ? `"${name}"` : `"${name}": `;
    case 'yaml': {
      const quoted = caret.quote ? `${caret.quote}${name}${caret.quote}` : name;
      return caret.ended ? quoted : isBlock ? `${quoted}:` : `${quoted}: `;
    }
    case 'toml':
      return caret.ended || header ? name : `${name} = `;
    case 'flags':
      return dashes === '' ? (caret.ended ? name : `${name}=`) : `${dashes}${name} `;
    case 'python':
      return `${name}=`;
    case 'shell':
      return `--${dashes === 'dashed' ? name.replaceAll('_', '-') : name} `;
  }
}

/** What a run cannot do without first, then what costs memory, then the rest. */
function rank(spec: KeySpec | undefined): number {
  const fields = spec?.fields ?? [];
  if (fields.some((field) => (FIELDS[field] as FieldSpec).required || /^(model|hardware)\./.test(field)))
    return 0;
  return fields.length > 0 ? 1 : 2;
}

function documented(spec: KeySpec): string {
  const lines = [keyDocumentation(spec)];
  if (spec.default !== undefined && spec.default !== null)
    lines.push(`${say('Default')}: ${code(String(spec.default))}`);
  const source = sourceLink(say('Documentation'), spec.source);
  if (source) lines.push(source);
  return lines.join('\n\n');
}

function valuesAt(
  spec: KeySpec | undefined,
  caret: CaretPlace,
  { dialect, document }: CompletionRequest,
): Completion[] {
  if (!spec) return [];
  // The schema that is served has no values: none of its rows could have an outcome (`editorSchema`).
  return offeredValues(spec, dialect).map((value, index) =>
    valueEntry(value, index, spec, caret, document.format),
  );
}

/** What kind of value it is, where the value does not say it. */
function valueWords(kind: OfferedValue['kind']): string | undefined {
  switch (kind) {
    case 'choice':
    case 'size':
      return undefined;
    case 'gpu':
      return say('GPU');
    case 'model':
      return say('model');
    case 'optimizer':
      return say('optimizer');
    case 'default':
      return say('default');
  }
}

function valueEntry(
  { text, kind, isText }: OfferedValue,
  index: number,
  spec: KeySpec,
  caret: CaretPlace,
  format: ConfigFormat,
): Completion {
  const written = writtenValue(text, isText, caret, format);
  return {
    label: text,
    kind: 'value',
    range: caret.range,
    text: written,
    filter: written,
    sort: String(index).padStart(4, '0'),
    detail: valueWords(String(spec.default) === text ? 'default' : kind),
    documentation: documented(spec),
  };
}

/** Words that YAML 1.1 does not read as text. */
const NO_TEXT = /^(y|n|yes|no|on|off|true|false|null|~|[-+.\d].*)$/i;

function writtenValue(text: string, isText: boolean, { quote }: CaretPlace, format: ConfigFormat): string {
  switch (format) {
    case 'json':
      return isText ? JSON.stringify(text) : text;
    case 'toml':
      return isText ? `${quote ?? '"'}${text}${quote ?? '"'}` : text;
    case 'yaml': {
      const needed = isText && NO_TEXT.test(text) ? "'" : '';
      const mark = quote ?? needed;
      return `${mark}${text}${mark}`;
    }
    default:
      return text;
  }
}

function fileEntry(path: string, caret: CaretPlace, format: ConfigFormat): Completion {
  const written = writtenValue(path, true, caret, format);
  return { label: path, kind: 'file', range: caret.range, text: written, filter: written, sort: `5${path}` };
}
