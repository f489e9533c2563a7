import type { KeySpec } from '../dialect';
import { KEY_TYPES } from './vocabulary';

const row = (path: string, type: KeySpec['type'], doc: string, extra: Partial<KeySpec> = {}): KeySpec => ({
  path,
  type,
  doc,
  ...extra,
});

export const SEVERITIES = ['error', 'warning', 'information', 'hint'] as const;
export const LINK_ROLES = ['include', 'model', 'deepspeed', 'accelerate'] as const;

/** Keys of a vocabulary file: what its checks, its schema and its documentation are made from. `*` is a name of the team's. */
export const VOCABULARY_KEYS: readonly KeySpec[] = [
  row('id', 'string', 'Short name in lower case, such as `ads-trainer`. Default: the file name.'),
  row('name', 'string', 'Name of the tool or team, as hovers say it.'),
  row('doc', 'string', 'What these flags belong to, in a sentence.'),
  row('detect', 'object', 'How a file with these flags is known, whatever its name.'),
  row('detect.markers', 'array', 'Keys that no other tool has. Default: all keys.'),
  row('detect.atLeast', 'integer', 'How many of the markers a file must have.', { default: 1 }),
  row('keys', 'object', 'The flags: each name with what is known about it.'),
  row('keys.*', 'object', 'A flag. Names are as in flag files, without dashes before them.'),
  row('keys.*.aliases', 'array', 'Other spellings. Dashes and underscores within names are the same anyway.'),
  row('keys.*.type', 'string', 'What the flag takes.', { values: KEY_TYPES, default: 'text' }),
  row(
    'keys.*.values',
    'array',
    'Words that a `choice` takes; braces name a part that varies, as in `greedy:{n}`.',
  ),
  row('keys.*.default', 'any', "The tool's default: what expressions see where a file is silent."),
  row('keys.*.unit', 'string', 'What a number counts, such as `tokens`.'),
  row('keys.*.doc', 'string', 'What the flag does: one or two sentences of Markdown, shown in hovers.'),
  row('keys.*.source', 'string', 'Address of its documentation.'),
  row('keys.*.link', 'string', 'The value names another file, which takes part in the run.', {
    values: LINK_ROLES,
  }),
  row(
    'keys.*.sets',
    'any',
    'Run field that takes the value as it is, or a mapping of run fields to what they take: a word or number, `= expression` (the value is `value`), or a mapping from values of the flag to either.',
  ),
  row(
    'shorthands',
    'array',
    'Compact forms such as `l={l},h={h}`: groups in braces are keys. Parts may come in any order.',
  ),
  row(
    'defaults',
    'object',
    'Run fields that hold for every run of the tool, unless something says otherwise.',
  ),
  row('derived', 'object', 'Run fields that follow from several flags, each with an expression.'),
  row(
    'model',
    'object',
    'The model as a `config.json`: constants, and `= expression` for what flags decide.',
  ),
  row('rules', 'array', 'What the tool refuses, or what is known to go wrong.'),
];

/** Keys of one rule. */
export const RULE_KEYS: readonly KeySpec[] = [
  row('code', 'string', 'Stable identifier in kebab-case; it stands beside the message.'),
  row(
    'when',
    'string',
    'Expression over flags that is true where the rule applies. `given("flag")`: the file sets it.',
  ),
  row('severity', 'string', 'How bad it is.', { values: SEVERITIES, default: 'warning' }),
  row('message', 'string', 'What is wrong and what to do. `{flag}` stands for its value.'),
  row('key', 'string', 'Flag that is to blame. Default: the first in `when` that the file sets.'),
  row('source', 'string', 'Address of the documentation of the rule.'),
];
