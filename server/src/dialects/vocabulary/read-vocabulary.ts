import { entryOf } from '../../config/lookup';
import type { ConfigDocument, ConfigNode, MapEntry, MapNode } from '../../config/node';
import { integerOf, isBlank, plainOf, textOf, textsOf } from '../../config/scalar';
import type { TaughtRuleId } from '../../rules/rule-id';
import { FIELD_PATHS, FIELDS, type FieldPath, type FieldSpec } from '../../run/fields';
import { findField, parseField, unknownFieldMessage } from '../../run/parse-field';
import type { Range } from '../../text/place';
import type { Problem } from '../../text/problem';
import { closest, didYouMean, MOST_LOOKED_FOR, suggested } from '../../wording/closest';
import { say } from '../../wording/say';
import { Draft } from '../draft';
import { checkKeys, type KeyPolicy } from '../key-check';
import { KeyTable } from '../key-table';
import { compile, type Expression, type Value } from './expression';
import { compileShorthand, compileTemplate, type Shorthand, type Template } from './template';
import {
  type Case,
  KEY_TYPES,
  type KeyType,
  type Meaning,
  type Vocabulary,
  type VocabularyKey,
  type VocabularyRule,
} from './vocabulary';
import { LINK_ROLES, RULE_KEYS, SEVERITIES, VOCABULARY_KEYS } from './vocabulary-keys';

const TABLE = new KeyTable(VOCABULARY_KEYS);
const RULE_TABLE = new KeyTable(RULE_KEYS);
/** Keys of one flag. */
const FLAG_PREFIX = 'keys.*.';
const FLAG_TABLE = new KeyTable(
  VOCABULARY_KEYS.filter(({ path }) => path.startsWith(FLAG_PREFIX)).map((row) => ({
    ...row,
    path: row.path.slice(FLAG_PREFIX.length),
  })),
);
const POLICY: KeyPolicy = {
  unknown: (_parent, key, near) => {
    const hint = suggested(near.slice(0, 1), '`');
    return { severity: 'warning', message: say('`{0}` says nothing here.{1}', key, hint) };
  },
  wrongType: () => 'error',
};

export interface VocabularyReading {
  /** Undefined where the file has no usable key. What is wrong in it is left out. */
  readonly vocabulary?: Vocabulary;
  readonly problems: readonly Problem[];
}

/** A text that begins with `=` is an expression. */
function expressionText(node: ConfigNode): string | undefined {
  const text = textOf(node);
  return text?.trimStart().startsWith('=') ? text.trimStart().slice(1).trim() : undefined;
}

function mapOf(node: ConfigNode | undefined): MapNode | undefined {
  return node?.kind === 'map' ? node : undefined;
}

class Reader {
  readonly draft: Draft;
  /** Names of keys, which expressions may read. */
  private names: readonly string[] = [];
  private known: ReadonlySet<string> = new Set();

  constructor(document: ConfigDocument) {
    this.draft = new Draft(document);
  }

  /** More problems than anybody reads: the file is of another kind. */
  private get full(): boolean {
    return this.draft.problems.length >= MOST_LOOKED_FOR;
  }

  error(message: string, range: Range, replacement?: string): void {
    if (this.full) return;
    this.draft.report(
      'vocabulary',
      'error',
      message,
      range,
      replacement === undefined ? {} : { data: { replacement } },
    );
  }

  read(root: MapNode, fileName: string): Vocabulary | undefined {
    checkKeys(root, TABLE, POLICY, this.draft);
    const block = mapOf(entryOf(root, 'keys')?.value);
    if (!block || block.entries.length === 0) {
      const place = entryOf(root, 'keys')?.keyRange ?? root.entries[0]?.keyRange ?? root.range;
      this.error(say('A vocabulary needs `keys`: the flags and what they mean.'), place);
      return undefined;
    }
    this.names = block.entries.map((entry) => entry.key);
    this.known = new Set(this.names);
    const keys = block.entries.map((entry) => this.key(entry));
    this.checkAliases(block, keys);
    const id = textOf(entryOf(root, 'id')?.value) ?? fileName.replace(/(\.oomlint-vocabulary)?\.ya?ml$/i, '');
    return {
      id,
      name: textOf(entryOf(root, 'name')?.value) ?? id,
      doc: textOf(entryOf(root, 'doc')?.value) ?? '',
      ...this.detection(root),
      keys,
      shorthands: this.shorthands(entryOf(root, 'shorthands')?.value),
      defaults: this.fields(entryOf(root, 'defaults')?.value, ({ value }, field) => {
        const parsed = parseField(field, plainOf(value));
        if ('error' in parsed) this.error(`\`${field}\`: ${parsed.error}.`, value.range);
        return 'error' in parsed ? undefined : { field, value: parsed.value };
      }),
      derived: this.fields(entryOf(root, 'derived')?.value, ({ value }, field) => {
        const expression = this.expression(expressionText(value) ?? textOf(value) ?? '', value.range);
        return expression && { field, expression };
      }),
      model: this.model(mapOf(entryOf(root, 'model')?.value)),
      rules: this.rules(entryOf(root, 'rules')?.value),
    };
  }

  private detection(root: MapNode): Pick<Vocabulary, 'markers' | 'atLeast'> {
    const detect = entryOf(root, 'detect')?.value;
    const node = entryOf(detect, 'markers')?.value;
    const named = textsOf(node);
    const items = node?.kind === 'list' ? node.items : [];
    for (const item of items) {
      const name = textOf(item);
      if (name !== undefined) this.checkName(name, item.range, say('A marker is one of the keys'));
    }
    const markers = named && named.length > 0 ? named.filter((name) => this.known.has(name)) : this.names;
    const least = integerOf(entryOf(detect, 'atLeast')?.value) ?? 1;
    return { markers, atLeast: Math.max(1, Math.min(least, Math.max(1, markers.length))) };
  }

  private checkName(name: string, range: Range, what: string): boolean {
    if (this.known.has(name)) return true;
    if (this.full) return false;
    const [near] = closest(name, this.names, 1);
    this.error(say('{0}; there is none "{1}".{2}', what, name, didYouMean(name, this.names)), range, near);
    return false;
  }

  private checkAliases(block: MapNode, keys: readonly VocabularyKey[]): void {
    const owners = new Map<string, string>(this.names.map((name) => [name, name]));
    for (const key of keys) {
      for (const alias of key.aliases) {
        const owner = owners.get(alias);
        const entry = entryOf(block, key.name);
        if (owner !== undefined && owner !== key.name && entry)
          this.error(
            say('"{0}" is a spelling of `{1}` already.', alias, owner),
            entryOf(entry.value, 'aliases')?.value.range ?? entry.keyRange,
          );
        owners.set(alias, key.name);
      }
    }
  }

  private key({ key: name, keyRange, value }: MapEntry): VocabularyKey {
    const text = (field: string) => textOf(entryOf(value, field)?.value);
    if (!/^[A-Za-z_][\w.-]*$/.test(name))
      this.error(say('A flag is named by letters, digits, dots, dashes and underscores.'), keyRange);
    if (value.kind === 'map') checkKeys(value, FLAG_TABLE, POLICY, this.draft);
    const values = textsOf(entryOf(value, 'values')?.value);
    const type = KEY_TYPES.find((known) => known === text('type')) ?? (values ? 'choice' : 'text');
    if (type === 'choice' && !values)
      this.error(say('A `choice` needs its `values`.'), entryOf(value, 'type')?.value.range ?? keyRange);
    const fallback = entryOf(value, 'default')?.value;
    const standard = fallback && !isBlank(fallback) ? this.value(type, values, fallback) : undefined;
    return {
      name,
      aliases: textsOf(entryOf(value, 'aliases')?.value) ?? [],
      type,
      values,
      default: standard,
      unit: text('unit'),
      doc: text('doc') ?? '',
      source: text('source'),
      link: LINK_ROLES.find((role) => role === text('link')),
      sets: this.sets(entryOf(value, 'sets')?.value),
    };
  }

  private value(type: KeyType, values: readonly string[] | undefined, node: ConfigNode): Value | undefined {
    const read = readValue(type, values, node);
    if (read === undefined) this.error(say('The default is not {0}.', expected(type, values)), node.range);
    return read;
  }

  private sets(node: ConfigNode | undefined): VocabularyKey['sets'] {
    if (!node || isBlank(node)) return [];
    if (node.kind === 'scalar') {
      const field = this.field(node.text, node.range);
      const own = compile('value', ['value']);
      return field && 'expression' in own
        ? [{ field, meaning: { kind: 'expression', expression: own.expression } }]
        : [];
    }
    return this.fields(node, (entry, field) => {
      const meaning = this.meaning(entry.value, field);
      return meaning && { field, meaning };
    });
  }

  private meaning(node: ConfigNode, field: FieldPath): Meaning | undefined {
    if (node.kind !== 'map') return this.simple(node, field, ['value']);
    const cases = node.entries.flatMap(({ key, keyRange, value }): Case[] => {
      const compiled = compileTemplate(key);
      if ('error' in compiled) {
        this.error(`"${key}": ${compiled.error}.`, keyRange);
        return [];
      }
      const then = this.simple(value, field, ['value', ...compiled.template.groups]);
      return then ? [{ when: compiled.template, then }] : [];
    });
    return { kind: 'cases', cases };
  }

  /** A constant that the field takes, or an expression. */
  private simple(node: ConfigNode, field: FieldPath, more: readonly string[]): Case['then'] | undefined {
    const text = expressionText(node);
    if (text !== undefined) {
      const expression = this.expression(text, node.range, more);
      return expression && { kind: 'expression', expression };
    }
    if (node.kind !== 'scalar' || node.value === null) {
      this.error(say('A word, a number or `= expression` is needed.'), node.range);
      return undefined;
    }
    const parsed = parseField(field, node.value);
    if ('error' in parsed) {
      this.error(`\`${field}\`: ${parsed.error}.`, node.range);
      return undefined;
    }
    return { kind: 'constant', value: node.value };
  }

  private expression(text: string, range: Range, more: readonly string[] = []): Expression | undefined {
    if (this.full) return undefined;
    const compiled = compile(text, more.length === 0 ? this.names : [...this.names, ...more]);
    if ('expression' in compiled) return compiled.expression;
    this.error(`${compiled.error[0]?.toUpperCase()}${compiled.error.slice(1)}.`, range);
    return undefined;
  }

  private field(name: string, range: Range): FieldPath | undefined {
    const field = findField(name);
    if (!field && !this.full) this.error(unknownFieldMessage(name), range, closest(name, FIELD_PATHS, 1)[0]);
    return field;
  }

  /** Entries of a block whose keys are run fields, nested or with dots. */
  private fields<T>(
    node: ConfigNode | undefined,
    make: (entry: MapEntry, field: FieldPath) => T | undefined,
    prefix = '',
  ): T[] {
    const block = mapOf(node);
    if (!block) return [];
    return block.entries.flatMap((entry): T[] => {
      const name = `${prefix}${entry.key}`;
      const known = findField(name);
      const spec: FieldSpec | undefined = known && FIELDS[known];
      const isGroup = FIELD_PATHS.some((path) => path.startsWith(`${name}.`));
      if (entry.value.kind === 'map' && isGroup && spec?.type !== 'object') {
        return this.fields(entry.value, make, `${name}.`);
      }
      const field = this.field(name, entry.keyRange);
      const made = field && make(entry, field);
      return made === undefined ? [] : [made];
    });
  }

  private model(block: MapNode | undefined): Vocabulary['model'] {
    return (block?.entries ?? []).flatMap(
      ({ key: name, value }): { name: string; value: Value | Expression }[] => {
        const text = expressionText(value);
        if (text !== undefined) {
          const expression = this.expression(text, value.range);
          return expression ? [{ name, value: expression }] : [];
        }
        if (value.kind !== 'scalar' || value.value === null) {
          this.error(say('A word, a number or `= expression` is needed.'), value.range);
          return [];
        }
        return [{ name, value: value.value }];
      },
    );
  }

  private shorthands(node: ConfigNode | undefined): Shorthand[] {
    return (node?.kind === 'list' ? node.items : []).flatMap((item): Shorthand[] => {
      const text = textOf(item);
      if (text === undefined) {
        this.error(say('A shorthand is a text such as `l={l},h={h}`.'), item.range);
        return [];
      }
      const compiled = compileShorthand(text);
      if ('error' in compiled) {
        this.error(`"${text}": ${compiled.error}.`, item.range);
        return [];
      }
      const known = compiled.shorthand.groups.every((group) =>
        this.checkName(group, item.range, say('A group is one of the keys')),
      );
      return known ? [compiled.shorthand] : [];
    });
  }

  private rules(node: ConfigNode | undefined): VocabularyRule[] {
    return (node?.kind === 'list' ? node.items : []).flatMap((item, index): VocabularyRule[] => {
      if (item.kind !== 'map') {
        this.error(say('A rule is a mapping with `when` and `message`.'), item.range);
        return [];
      }
      checkKeys(item, RULE_TABLE, POLICY, this.draft);
      const condition = entryOf(item, 'when')?.value;
      const message = textOf(entryOf(item, 'message')?.value);
      if (!condition || message === undefined) {
        this.error(say('A rule needs `when` and `message`.'), item.entries[0]?.keyRange ?? item.range);
        return [];
      }
      const when = this.expression(expressionText(condition) ?? textOf(condition) ?? '', condition.range);
      const blamed = entryOf(item, 'key')?.value;
      const key = textOf(blamed);
      if (
        blamed &&
        key !== undefined &&
        !this.checkName(key, blamed.range, say('A rule blames one of the keys'))
      )
        return [];
      if (!when) return [];
      return [
        {
          code: (textOf(entryOf(item, 'code')?.value) ?? `rule-${index + 1}`) as TaughtRuleId,
          when,
          severity:
            SEVERITIES.find((known) => known === textOf(entryOf(item, 'severity')?.value)) ?? 'warning',
          message,
          key,
          source: textOf(entryOf(item, 'source')?.value),
        },
      ];
    });
  }
}

const NUMBER = /^[-+]?(\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)([eE][-+]?\d+)?$/;
const TRUE = /^(true|yes|on|y|t|1)$/i;
const FALSE = /^(false|no|off|n|f|0)$/i;

/** What a key takes, for people. */
export function expected(type: KeyType, values: readonly string[] | undefined): string {
  switch (type) {
    case 'integer':
      return say('a whole number');
    case 'number':
      return say('a number');
    case 'flag':
      return say('true or false');
    case 'choice':
      return say('one of {0}', (values ?? []).join(', '));
    case 'object':
      return say('a mapping');
    case 'text':
      return say('a text');
  }
}

/** A text as a key of this type takes it; undefined where it does not. */
export function readText(
  type: KeyType,
  values: readonly string[] | undefined,
  text: string,
): Value | undefined {
  const trimmed = text.trim();
  switch (type) {
    case 'integer':
    case 'number': {
      if (!NUMBER.test(trimmed)) return undefined;
      const value = Number(trimmed.replaceAll('_', ''));
      if (!Number.isFinite(value)) return undefined;
      return type === 'number' || Number.isSafeInteger(value) ? value : undefined;
    }
    case 'flag':
      return TRUE.test(trimmed) ? true : FALSE.test(trimmed) ? false : undefined;
    case 'choice': {
      const exact = (values ?? []).find((value) => value.toLowerCase() === trimmed.toLowerCase());
      if (exact !== undefined) return exact;
      return (values ?? []).some((value) => templateOf(value)?.match(trimmed)) ? trimmed : undefined;
    }
    case 'object':
      return undefined;
    case 'text':
      return trimmed;
  }
}

function templateOf(text: string): Template | undefined {
  if (!text.includes('{')) return undefined;
  const compiled = compileTemplate(text);
  return 'template' in compiled ? compiled.template : undefined;
}

/** A node as a key of this type takes it. A flag without a value is on. */
export function readValue(
  type: KeyType,
  values: readonly string[] | undefined,
  node: ConfigNode,
): Value | undefined {
  if (node.kind !== 'scalar') return undefined;
  if (node.value === null) return type === 'flag' ? true : undefined;
  return readText(type, values, typeof node.value === 'string' ? node.value : node.text);
}

/** Reads a vocabulary file as far as it can be read; what is wrong is reported at its place. Never throws. */
export function readVocabulary(document: ConfigDocument): VocabularyReading {
  const { root } = document;
  const name = decodeName(document.uri);
  if (root?.kind !== 'map') {
    const blank = root === null || isBlank(root);
    const range = root?.range ?? { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };
    const problem: Problem = {
      code: 'vocabulary',
      severity: blank ? 'information' : 'error',
      message: say('A vocabulary is a mapping with `keys`: the flags and what they mean.'),
      range,
    };
    return { problems: document.problems.length > 0 ? document.problems : [problem] };
  }
  const reader = new Reader(document);
  const vocabulary = reader.read(root, name);
  return { vocabulary, problems: [...document.problems, ...reader.draft.problems] };
}

function decodeName(uri: string): string {
  const name = uri.split(/[\\/]/).at(-1) ?? '';
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
