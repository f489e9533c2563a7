/** Formats of `check`, by the names that `--format` takes. */
export const FORMAT_NAMES = [
  'text',
  'concise',
  'json',
  'jsonl',
  'sarif',
  'github',
  'gitlab',
  'junit',
  'rdjson',
  'markdown',
] as const;
export type FormatName = (typeof FORMAT_NAMES)[number];

/** Formats whose readers are people, in their language. */
export const FOR_PEOPLE: ReadonlySet<FormatName> = new Set<FormatName>(['text', 'concise', 'markdown']);
