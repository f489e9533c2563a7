import type { TaughtRuleId } from '../../rules/rule-id';
import type { FieldPath } from '../../run/fields';
import type { Severity } from '../../text/problem';
import type { Expression, Value } from './expression';
import type { Shorthand, Template } from './template';

export const KEY_TYPES = ['integer', 'number', 'flag', 'text', 'choice', 'object'] as const;
export type KeyType = (typeof KEY_TYPES)[number];

/** Where a run field's value comes from. */
export type Meaning =
  | { readonly kind: 'constant'; readonly value: Value }
  | { readonly kind: 'expression'; readonly expression: Expression }
  /** By what the key states; groups of the template can be read in an expression. */
  | { readonly kind: 'cases'; readonly cases: readonly Case[] };

export interface Case {
  readonly when: Template;
  readonly then:
    | { readonly kind: 'constant'; readonly value: Value }
    | { readonly kind: 'expression'; readonly expression: Expression };
}

/** A key of a team's own flags. */
export interface VocabularyKey {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly type: KeyType;
  readonly values?: readonly string[];
  /** The tool's default: what expressions see where the file leaves it out. */
  readonly default?: Value;
  readonly unit?: string;
  readonly doc: string;
  readonly source?: string;
  /** Other file that the value names. */
  readonly link?: 'include' | 'model' | 'deepspeed' | 'accelerate';
  readonly sets: readonly { readonly field: FieldPath; readonly meaning: Meaning }[];
}

/** What a team's tool refuses or what is known to go wrong. */
export interface VocabularyRule {
  readonly code: TaughtRuleId;
  readonly when: Expression;
  readonly severity: Severity;
  /** May name keys in braces. */
  readonly message: string;
  /** Key that is to blame; the first one that the condition reads where none is named. */
  readonly key?: string;
  readonly source?: string;
}

/** A team's flags, as its vocabulary file tells them. */
export interface Vocabulary {
  readonly id: string;
  readonly name: string;
  readonly doc: string;
  /** Keys by which a file is known, and how many of them it must have. */
  readonly markers: readonly string[];
  readonly atLeast: number;
  readonly keys: readonly VocabularyKey[];
  readonly shorthands: readonly Shorthand[];
  /** What holds for every run of the tool. */
  readonly defaults: readonly { readonly field: FieldPath; readonly value: unknown }[];
  /** Run fields that follow from several keys. */
  readonly derived: readonly { readonly field: FieldPath; readonly expression: Expression }[];
  /** `config.json` of the model: constants, and expressions that must all have a value. */
  readonly model: readonly { readonly name: string; readonly value: Value | Expression }[];
  readonly rules: readonly VocabularyRule[];
}
