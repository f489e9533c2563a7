import { say } from '../wording/say';

/**
 * What the parsers that are used here say of broken text, with places for what they fill in: `yaml` 2.9, `toml-eslint-parser`
 * 1.1 and `unbash`. Messages that are not among them are shown as they come.
 */
export const LIBRARY_MESSAGES = [
  // yaml
  'All mapping items must start at the same column',
  'All sequence items must start at the same column',
  'Block collections are not allowed within flow collections',
  'Implicit keys need to be on a single line',
  'Implicit keys of flow sequence pairs need to be on a single line',
  'Implicit map keys need to be followed by map values',
  'Nested mappings are not allowed in compact mappings',
  'A block sequence may not be used as an implicit map key',
  'Sequence item without - indicator',
  'Tabs are not allowed as indentation',
  'Missing space after : in {0}',
  'Missing , or : between {0} items',
  'Missing , between {0} items',
  'Missing newline after block sequence props',
  "Missing closing 'quote",
  'Missing closing "quote',
  'Missing directives-end indicator line',
  'Missing directives-end/doc-start indicator line',
  'Unexpected empty item in {0}',
  'Unexpected scalar token in YAML stream: {0}',
  'Unexpected {0} in {1}',
  'Unexpected {0} at node end',
  'Plain value cannot start with {0}',
  'Invalid escape sequence {0}',
  'Block scalar header includes extra characters: {0}',
  'Block scalar values in collections must be indented',
  'Block scalars with more-indented leading empty lines must use an explicit indentation indicator',
  'Flow end indicator should be more indented than parent',
  '{0} must end with a {1}',
  '{0} in block collection must be sufficiently indented and end with a {1}',
  'Comments must be separated from other tokens by white space characters',
  'Tags and anchors must be separated from the next token by white space',
  'Unresolved tag: {0}',
  'Anchor cannot be an empty string',
  'Alias cannot be an empty string',
  'An alias node must not specify any properties',
  'A node can have at most one anchor',
  'A node can have at most one tag',
  'The : indicator must be at most 1024 chars after the start of an implicit block mapping key',
  // toml-eslint-parser; all end in a full stop when they are shown
  'Unterminated string constant.',
  'Unterminated table-key.',
  'Unterminated array.',
  'Unterminated inline table.',
  'Empty bare keys are not allowed.',
  'Must be a newline.',
  'Expected equal (=) token.',
  'Unspecified values are invalid.',
  'Expected comma (,) token.',
  'Defining a key multiple times is invalid.',
  'Unexpected character.',
  'Unexpected token.',
  'Control characters (codes < 0x1f and 0x7f) are not allowed.',
  'The key, equals sign, and value must be on the same line.',
  'No newlines are allowed between the curly braces unless they are valid within a value.',
  'Underscores are allowed between digits.',
  'Unexpected spaces.',
  'Three or more quotes are not permitted.',
  'Unexpected invalid date.',
  'Unexpected invalid time.',
  'Leading zeros are not allowed.',
  'Trailing comma is not permitted in an inline table.',
  'Invalid character in escape sequence.',
  'Consecutive dots are not permitted in keys.',
  'Invalid code point {0}.',
  'Invalid code point {0} within comments.',
  'Keys cannot end with a dot.',
  'Keys cannot start with a dot.',
  // unbash
  'expected {0} to close {1}',
  'expected {0} after {1}',
  'expected {0} in {1}',
  'expected {0}',
  'maximum {0} nesting depth exceeded',
  'unterminated {0}',
] as const;

/** Messages about a grammar, in words about what to mend. */
const PLAINER: Readonly<Partial<Record<string, () => string>>> = {
  'Nested mappings are not allowed in compact mappings': () =>
    say('A second "key:" on the line: quote the value, or put the block on lines of its own'),
};

/** Parts of YAML that messages name. */
export const LIBRARY_PARTS = ['flow map', 'flow sequence', 'Flow map', 'Flow sequence'] as const;
const parts: readonly string[] = LIBRARY_PARTS;

const PATTERNS = LIBRARY_MESSAGES.map((text) => {
  const places = text.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{\d\}/g, '(.+)');
  return { text, pattern: new RegExp(`^${places}$`) };
});

/** A message of a library in the language of the person. */
export function libraryMessage(message: string): string {
  for (const { text, pattern } of PATTERNS) {
    const match = pattern.exec(message);
    const plainer = match && PLAINER[text];
    if (plainer) return plainer();
    if (match) return say(text, ...match.slice(1).map((part) => (parts.includes(part) ? say(part) : part)));
  }
  return message;
}
