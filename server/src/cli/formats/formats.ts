import { concise } from './concise';
import type { Format } from './format';
import { github } from './github';
import { gitlab } from './gitlab';
import { json } from './json';
import { jsonLines } from './json-lines';
import { junit } from './junit';
import { markdown } from './markdown';
import { rdjson } from './rdjson';
import { sarif } from './sarif';
import { text } from './text';

/** By the name that `--format` takes. */
export const FORMATS = {
  text,
  concise,
  json,
  jsonl: jsonLines,
  sarif,
  github,
  gitlab,
  junit,
  rdjson,
  markdown,
} satisfies Readonly<Record<string, Format>>;

export type FormatName = keyof typeof FORMATS;

/** Formats whose readers are people, in their language. */
export const FOR_PEOPLE: ReadonlySet<FormatName> = new Set<FormatName>(['text', 'concise', 'markdown']);
