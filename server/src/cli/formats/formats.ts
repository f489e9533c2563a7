import { concise } from './concise';
import type { Format } from './format';
import type { FormatName } from './format-names';
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
export const FORMATS: Readonly<Record<FormatName, Format>> = {
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
};
