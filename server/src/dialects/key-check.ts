import type { ConfigNode, MapEntry, MapNode, Severity } from '../config/node';
import { flagOf, integerOf, isAuto, isBlank, numberOf } from '../config/scalar';
import { closest } from '../run/closest';
import { say } from '../wording/say';
import type { KeySpec } from './dialect';
import type { Draft } from './draft';
import type { KeyTable } from './key-table';

/** What a framework does with keys and types that it does not expect. */
export interface KeyPolicy {
  /** Judges an unknown key below `parent` (empty for the top level); undefined says nothing. */
  unknown(parent: string, key: string, near: readonly string[]): Judgement | undefined;
  /** Severity of a value of the wrong type; undefined says nothing. */
  wrongType(spec: KeySpec, path: string): Severity | undefined;
  /** Values that are well whatever the key takes. */
  accepts?(node: ConfigNode): boolean;
  /** Closed sets of words are matched by case here. */
  exactCase?(path: string): boolean;
}
export interface Judgement {
  readonly severity: Severity;
  readonly message: string;
}

/** Walks a file along its key table: unknown keys, wrong types, values outside of closed sets, old spellings, autos. */
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
    if (spec.deprecated !== undefined) {
      draft.report(
        'deprecated-key',
        'hint',
        say('`{0}` is an old spelling: use `{1}`.', path, spec.deprecated),
        entry.keyRange,
        { source: spec.source, data: { replacement: spec.deprecated } },
      );
    }
    checkValue(entry.value, spec, path, policy, draft);
    if (entry.value.kind === 'map' && table.names(path).length > 0) {
      checkKeys(entry.value, table, policy, draft, path);
    }
  }
}

function checkUnknown(
  entry: MapEntry,
  parent: string,
  table: KeyTable,
  policy: KeyPolicy,
  draft: Draft,
): void {
  // A single letter in common is no hint: short keys match everything.
  const near = entry.key.length < 4 ? [] : closest(entry.key, table.names(parent), 2);
  const judgement = policy.unknown(parent, entry.key, near);
  if (!judgement) return;
  draft.report('unknown-key', judgement.severity, judgement.message, entry.keyRange, {
    data: near.length > 0 ? { replacement: near[0], suggestions: near } : { key: entry.key },
  });
}

function checkValue(node: ConfigNode, spec: KeySpec, path: string, policy: KeyPolicy, draft: Draft): void {
  if (isAuto(node) && !(spec.values?.includes('auto') ?? false)) {
    if (spec.auto) draft.auto(path, node);
    return;
  }
  // Filled in when the tool runs: by OmegaConf, by the environment, by whoever renders the template.
  if (node.kind === 'scalar' && /\$[{(]|\{\{|\$\w|^`/.test(node.text)) return;
  if (policy.accepts?.(node)) return;
  // Mappings and lists are given as JSON in a word.
  if (draft.commandLine && node.kind === 'scalar' && (spec.type === 'object' || spec.type === 'array'))
    return;
  // A value that is still being typed, or a null where null is the default.
  const missing = node.kind === 'scalar' && (node.text === '' || node.value === '???') && !node.quoted;
  if (missing || (isBlank(node) && (spec.default === null || spec.default === undefined))) return;
  const severity = policy.wrongType(spec, path);
  if (severity === undefined) return;
  const expected = mismatch(wordOf(node, spec, draft), spec, policy.exactCase?.(path) ?? false);
  if (expected === undefined) return;
  draft.report(
    'wrong-type',
    severity,
    say('`{0}` takes {1}, not {2}.', path, expected, shown(node)),
    node.range,
    {
      source: spec.source,
      data: { key: path, expected },
    },
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

/** Words that differ at one place by at most two characters, as slips of the keyboard do. */
export function isSlip(a: string, b: string): boolean {
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
