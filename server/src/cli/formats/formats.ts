import { inQuotes } from '../../wording/in-quotes';
import type { CheckedFile } from '../checked-file';
import type { Format } from './format';
import type { FormatName } from './format-names';

/** Of what is shown as plain text: messages have names in quotes. */
const inPlainText =
  (format: Format): Format =>
  (files, context) =>
    format(files.map(quoted), context);

const quoted = (file: CheckedFile): CheckedFile => ({
  ...file,
  problems: file.problems.map(({ message, related, ...problem }) => ({
    ...problem,
    message: inQuotes(message),
    ...(related ? { related: related.map((place) => ({ ...place, message: inQuotes(place.message) })) } : {}),
  })),
});

/** By the name that `--format` takes. Each is read when it is asked for: some bring a library along. */
export const FORMATS: Readonly<Record<FormatName, () => Promise<Format>>> = {
  text: async () => (await import('./text')).text,
  concise: async () => inPlainText((await import('./concise')).concise),
  json: async () => (await import('./json')).json,
  jsonl: async () => (await import('./json-lines')).jsonLines,
  sarif: async () => inPlainText((await import('./sarif')).sarif),
  github: async () => inPlainText((await import('./github')).github),
  gitlab: async () => inPlainText((await import('./gitlab')).gitlab),
  junit: async () => inPlainText((await import('./junit')).junit),
  rdjson: async () => (await import('./rdjson')).rdjson,
  markdown: async () => (await import('./markdown')).markdown,
};
