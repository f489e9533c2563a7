import type { ConfigDocument, ConfigNode } from '../../config/node';
import type { FieldPath } from '../../run/fields';
import { literalPattern } from '../../run/literal-pattern';
import { parseField } from '../../run/parse-field';
import { suggested } from '../../wording/closest';
import { say } from '../../wording/say';
import type { Dialect, KeySpec, Reading } from '../dialect';
import { Draft } from '../draft';
import { isSlip } from '../key-check';
import type { Expression, Scope, Value } from './expression';
import { blocksOf, countMarkers, type GatheredFlags, gather, Names, plainName, type Stated } from './gather';
import { expected } from './read-vocabulary';
import type { Case, KeyType, Meaning, Vocabulary, VocabularyKey } from './vocabulary';

const SPEC_TYPES: Readonly<Record<KeyType, KeySpec['type']>> = {
  integer: 'integer',
  number: 'number',
  flag: 'boolean',
  text: 'string',
  choice: 'string',
  object: 'object',
};

/** The highest score of a file by a vocabulary. */
export const SUREST_VOCABULARY = 0.85;

/** A team's flags as a config family like any other; `builtIn`: it comes with Oomlint, so that its texts are ours. */
export function vocabularyDialect(vocabulary: Vocabulary, builtIn = false): Dialect {
  const names = new Names(vocabulary);
  const markers = new Set(vocabulary.markers);
  const spellings = vocabulary.keys
    .filter((key) => markers.has(key.name))
    .flatMap((key) => [key.name, ...key.aliases]);
  const keys = keySpecs(vocabulary, builtIn);
  const rows = new Map(keys.map((row) => [row.path, row]));
  return {
    id: vocabulary.id,
    name: vocabulary.name,
    keys,
    markers: markersOf(spellings),
    detect: (root, fileName) => detect(root, fileName, vocabulary, names, markers),
    read: (document) => readFlags(document, vocabulary, names),
    // In a block, or behind a script.
    rowAt: (path) => rows.get(names.find(path.at(-1) ?? '')?.name ?? ''),
  };
}

/** Finds any of some names in a text, dashes and underscores alike. */
export function markersOf(names: readonly string[]): RegExp {
  const spellings = names.map((name) => literalPattern(plainName(name)).replaceAll('_', '[-_]'));
  return new RegExp(`(?<![\\w-])-{0,2}(?:${spellings.join('|')})(?![\\w-])`);
}

function detect(
  root: ConfigNode,
  fileName: string,
  vocabulary: Vocabulary,
  names: Names,
  markers: ReadonlySet<string>,
): number {
  const most = Math.max(0, ...blocksOf(root).map(({ map }) => countMarkers(map, names, markers)));
  // Less than certain: families that are known by their structure come first.
  if (most >= vocabulary.atLeast) return SUREST_VOCABULARY;
  // A flag file belongs to somebody: two flags of this vocabulary are enough where nobody else claims it.
  if (!/\.flags$/i.test(fileName)) return 0;
  const all = new Set(vocabulary.keys.map(({ name }) => name));
  const known = Math.max(0, ...blocksOf(root).map(({ map }) => countMarkers(map, names, all)));
  return known >= 2 ? 0.6 : 0;
}

/** Fields that each key decides, by its name. */
function effectsOf(vocabulary: Vocabulary): ReadonlyMap<string, ReadonlySet<FieldPath>> {
  const effects = new Map<string, Set<FieldPath>>();
  const note = (key: string, field: FieldPath) =>
    effects.set(key, (effects.get(key) ?? new Set()).add(field));
  for (const key of vocabulary.keys) for (const { field } of key.sets) note(key.name, field);
  for (const { field, expression } of vocabulary.derived)
    for (const name of expression.names) note(name, field);
  for (const { value } of vocabulary.model) {
    if (typeof value === 'object') for (const name of value.names) note(name, 'model.config');
  }
  return effects;
}

/** One row for each spelling. */
function keySpecs(vocabulary: Vocabulary, builtIn: boolean): KeySpec[] {
  const effects = effectsOf(vocabulary);
  return vocabulary.keys.flatMap((key) => {
    const fields = [...(effects.get(key.name) ?? [])];
    // Rows are made once, whatever language is asked for later: `sentences` is what is translated.
    const unit = key.unit === undefined ? '' : ` Counts ${key.unit}.`;
    const plain = new Set([key.name, ...key.aliases].flatMap((name) => [name, plainName(name)]));
    return [...plain].map(
      (path): KeySpec => ({
        path,
        type: SPEC_TYPES[key.type],
        doc: `${key.doc}${unit}`,
        ...(builtIn ? {} : { foreign: true }),
        ...(key.unit === undefined ? {} : { sentences: [[key.doc], ['Counts {0}.', key.unit]] }),
        ...(key.type === 'choice' && key.values ? { values: key.values } : {}),
        ...(key.default === undefined ? {} : { default: key.default }),
        ...(key.source === undefined ? {} : { source: key.source }),
        ...(fields.length > 0 ? { fields } : {}),
      }),
    );
  });
}

/** What a file states, and what the tool takes where the key is left out. Flags that nobody sets are off. */
class Flags {
  readonly scope = new Map<string, Value>();

  constructor(
    readonly gathered: GatheredFlags,
    keys: readonly VocabularyKey[],
  ) {
    for (const key of keys) {
      const value =
        gathered.stated.get(key.name)?.value ?? key.default ?? (key.type === 'flag' ? false : undefined);
      if (value !== undefined) this.scope.set(key.name, value);
    }
  }

  /** The first of some keys that the file states. */
  first(names: readonly string[]): Stated | undefined {
    return names.map((name) => this.gathered.stated.get(name)).find((stated) => stated?.value !== undefined);
  }

  /** Expressions ask `given("key")` of what the file states, everything else of what holds. */
  evaluate(expression: Expression, more: Scope = new Map()): Value | undefined {
    const stated = (name: string) => more.has(name) || this.gathered.stated.get(name)?.value !== undefined;
    return expression.evaluate(new Map([...this.scope, ...more]), stated);
  }
}

function readFlags(document: ConfigDocument, vocabulary: Vocabulary, names: Names): Reading {
  const draft = new Draft(document);
  const flags = new Flags(gather(document, vocabulary, names), vocabulary.keys);
  reportValues(flags, vocabulary, names, draft);
  leaveValues(flags, vocabulary, draft);
  for (const key of vocabulary.keys) readKey(key, flags, draft, vocabulary.name);
  for (const { field, expression } of vocabulary.derived) {
    put(field, flags.evaluate(expression), flags.first(expression.names), vocabulary.name, draft);
  }
  readModel(vocabulary, flags, draft);
  for (const { field, value } of vocabulary.defaults) {
    if (!draft.knows(field)) assume(field, value, say('what {0} does', vocabulary.name), draft);
  }
  for (const include of flags.gathered.includes) draft.links.push({ ...include, role: 'include' });
  for (const rule of vocabulary.rules) {
    if (flags.evaluate(rule.when) !== true) continue;
    const blamed =
      (rule.key === undefined ? undefined : flags.first([rule.key])) ?? flags.first(rule.when.names);
    if (!blamed) continue;
    const message = rule.message.replace(/\{([\w.-]+)\}/g, (whole, name: string) =>
      String(flags.scope.get(name) ?? whole),
    );
    draft.report(rule.code, rule.severity, message, blamed.range, { source: rule.source });
  }
  return draft.reading();
}

function reportValues(flags: Flags, vocabulary: Vocabulary, names: Names, draft: Draft): void {
  for (const { key, value, range, text, path } of flags.gathered.stated.values()) {
    if (value !== undefined || key.type === 'object') continue;
    const shown = text.length > 40 ? `${text.slice(0, 40)}...` : text;
    draft.report(
      'wrong-type',
      'error',
      say('`{0}` takes {1}, not `{2}`.', key.name, expected(key.type, key.values), shown),
      range,
      {
        source: key.source,
        data: { key: path },
      },
    );
  }
  const all = names.all();
  for (const { name, keyRange } of flags.gathered.unknown) {
    // Other flags of the tool say nothing about memory: only slips are worth a word.
    const [near] = draft.near(plainName(name), all, 1);
    if (near === undefined || name.length < 4 || !isSlip(plainName(name), near)) continue;
    draft.report(
      'unknown-key',
      'warning',
      `${say('{0} has no `{1}`.', vocabulary.name, name)}${suggested([near], '`')}`,
      keyRange,
      {
        data: { replacement: near },
      },
    );
  }
}

/** What a flag decides whose value is not what it takes is not known, whatever holds without it. */
function leaveValues(flags: Flags, vocabulary: Vocabulary, draft: Draft): void {
  const open = [...flags.gathered.stated.values()].filter(({ value }) => value === undefined);
  if (open.length === 0) return;
  const effects = effectsOf(vocabulary);
  for (const { key, range, text, path } of open) {
    const fields = [...(effects.get(key.name) ?? [])];
    if (fields.length === 0) continue;
    const message = say('`{0}` takes `{1}`, which is not known.', path, text);
    draft.leave('value', { range }, `${path}: ${text}`, message, fields);
  }
}

function readKey(key: VocabularyKey, flags: Flags, draft: Draft, tool: string): void {
  const stated = flags.gathered.stated.get(key.name);
  if (stated && key.link && stated.text !== '')
    draft.links.push({ path: stated.text, range: stated.range, key: stated.path, role: key.link });
  const value = flags.scope.get(key.name);
  if (value === undefined) return;
  const usable = stated?.value === undefined ? undefined : stated;
  for (const { field, meaning } of key.sets) put(field, meant(meaning, value, flags), usable, tool, draft);
}

function meant(meaning: Meaning, value: Value, flags: Flags): Value | undefined {
  const own = new Map([['value', value]]);
  switch (meaning.kind) {
    case 'constant':
      return meaning.value;
    case 'expression':
      return flags.evaluate(meaning.expression, own);
    case 'cases':
      for (const { when, then } of meaning.cases) {
        const groups = when.match(String(value));
        if (groups) return caseValue(then, groups, own, flags);
      }
      return undefined;
  }
}

function caseValue(
  then: Case['then'],
  groups: ReadonlyMap<string, string>,
  own: Scope,
  flags: Flags,
): Value | undefined {
  if (then.kind === 'constant') return then.value;
  const captured = [...groups].map(([name, text]): [string, Value] => {
    const number = Number(text);
    return [name, Number.isFinite(number) ? number : text];
  });
  return flags.evaluate(then.expression, new Map([...own, ...captured]));
}

/** A field that the file states, or that follows from what the tool takes where the key is left out. The first counts. */
function put(field: FieldPath, value: unknown, stated: Stated | undefined, tool: string, draft: Draft): void {
  if (value === undefined || draft.knows(field)) return;
  const parsed = parseField(field, value);
  if ('error' in parsed) {
    if (stated)
      draft.report('wrong-value', 'error', `\`${stated.key.name}\`: ${parsed.error}.`, stated.range, {
        data: { field },
      });
    return;
  }
  if (stated) draft.state(field, parsed.value, stated, stated.path);
  else draft.assume(field, parsed.value, say('{0} default', tool));
}

function assume(field: FieldPath, value: unknown, note: string, draft: Draft): void {
  const parsed = parseField(field, value);
  if ('value' in parsed) draft.assume(field, parsed.value, note);
}

/** The architecture, once every flag that it needs is known. */
function readModel(vocabulary: Vocabulary, flags: Flags, draft: Draft): void {
  if (vocabulary.model.length === 0) return;
  const config: Record<string, Value> = {};
  const read: string[] = [];
  for (const { name, value } of vocabulary.model) {
    const known = typeof value === 'object' ? flags.evaluate(value) : value;
    if (known === undefined) return;
    if (typeof value === 'object') read.push(...value.names);
    config[name] = known;
  }
  put('model.config', config, flags.first(read), vocabulary.name, draft);
}
