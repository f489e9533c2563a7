import { nodeAt } from '../../config/lookup';
import type { ConfigFormat } from '../../config/node';
import { parseConfig } from '../../config/parse';
import { plainOf } from '../../config/scalar';
import type { Written } from '../../dialects/words';
import { setFlags } from './set-flags';
import { setJson } from './set-json';
import { setPython } from './set-python';
import { setShell } from './set-shell';
import { setToml } from './set-toml';
import { setYaml } from './set-yaml';

/**
 * The text with a key set, or removed where the value is undefined. Everything else stays as it is: comments, quotes,
 * indentation, commas. Undefined where the key has no place of its own. Never throws on user text.
 */
export function setKey(
  text: string,
  format: ConfigFormat,
  path: readonly string[],
  value: Written,
): string | undefined {
  try {
    if (value !== undefined && holds(text, format, path, value)) return text;
    return WRITERS[format](text, path, value);
  } catch {
    // A text that a syntax tool refuses is not changed.
    return undefined;
  }
}

/** What stands there already is left as it is written. */
function holds(text: string, format: ConfigFormat, path: readonly string[], value: Written): boolean {
  if (format === 'shell' || format === 'python') return false;
  const node = nodeAt(parseConfig(`file:///x.${format}`, text).root, path);
  return node !== undefined && JSON.stringify(plainOf(node)) === JSON.stringify(value);
}

const WRITERS: Readonly<Record<ConfigFormat, typeof setJson>> = {
  json: setJson,
  yaml: setYaml,
  toml: setToml,
  shell: setShell,
  flags: setFlags,
  python: setPython,
};
