import type { Format } from './format';
import type { FormatName } from './format-names';

/** By the name that `--format` takes. Each is read when it is asked for: some bring a library along. */
export const FORMATS: Readonly<Record<FormatName, () => Promise<Format>>> = {
  text: async () => (await import('./text')).text,
  concise: async () => (await import('./concise')).concise,
  json: async () => (await import('./json')).json,
  jsonl: async () => (await import('./json-lines')).jsonLines,
  sarif: async () => (await import('./sarif')).sarif,
  github: async () => (await import('./github')).github,
  gitlab: async () => (await import('./gitlab')).gitlab,
  junit: async () => (await import('./junit')).junit,
  rdjson: async () => (await import('./rdjson')).rdjson,
  markdown: async () => (await import('./markdown')).markdown,
};
