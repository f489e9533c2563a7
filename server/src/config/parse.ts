import type { Problem } from '../text/problem';
import { pathOfUri } from '../text/uri';
import { decimal, formatInteger } from '../wording/figures';
import { say } from '../wording/say';
import { resolveConflict } from './conflict';
import { directivesOf } from './directives';
import { looksLikeFlags, readFlags } from './flags';
import { readJson } from './json';
import { Lines } from './lines';
import { manifestDocument } from './manifest-document';
import type { ConfigDocument, ConfigFormat } from './node';
import { gpuOfJoined, isJoined } from './python/cells';
import { pythonLines } from './python/databricks-source';
import { loadPython } from './python/grammar';
import { installedOnColab } from './python/magics';
import { readNotebook } from './python/notebook';
import { type PythonReading, readPython } from './python/python';
import type { ProgramSurroundings } from './python/run-program';
import { readShell } from './shell';
import type { SyntaxReading } from './syntax-reading';
import { readToml } from './toml';
import { readYaml } from './yaml';

/** Larger files are data, not configs. Characters and lines. */
const MAX_CHARACTERS = 2_000_000;
export const MAX_LINES = 20_000;
const MAX_LINE_LENGTH = 100_000;

/** Reads a config as far as it can be read. Never throws; positions are zero-based. `around`: what a Python program takes of its workspace. */
export function parseConfig(
  uri: string,
  text: string,
  around?: Omit<ProgramSurroundings, 'file'>,
): ConfigDocument {
  // Editors strip the byte order mark before they count positions.
  const content = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  const format = formatOf(uri, content);
  const empty = { uri, format, root: null, directives: [], relaxedJson: false };
  const notebook = /\.ipynb$/i.test(uri.split(/[?#]/, 1)[0] ?? '') ? readNotebook(content) : undefined;
  const refused = refuse(notebook?.lines.text ?? content);
  if (refused) return { ...empty, problems: [refused] };
  const lines = notebook?.lines ?? (format === 'python' ? pythonLines(content) : new Lines(content));
  if (lines.count > MAX_LINES) {
    return { ...empty, problems: [tooLarge(say('{0} lines', formatInteger(lines.count)))] };
  }
  if (lines.longest > MAX_LINE_LENGTH) {
    return {
      ...empty,
      problems: [tooLarge(say('a line of {0} characters', formatInteger(lines.longest)))],
    };
  }
  const directives = directivesOf(lines);
  if (notebook) {
    const { root, problems, relaxedJson, ...more } = readPython(lines, notebook.installs, around);
    const asksFor = notebook.gpu ? { asksFor: notebook.gpu } : {};
    const other = notebook.elsewhere ? { ranElsewhere: notebook.elsewhere } : {};
    const read = { uri, format, root, problems, directives, relaxedJson, ...ofPython(more) };
    return { ...read, inNotebook: true, ...asksFor, ...other };
  }
  const conflict = resolveConflict(lines);
  const source = conflict ? new Lines(conflict.text) : lines;
  const reading = readFormat(format, source, uri, around);
  // Under a conflict other complaints are noise: they vanish with it.
  const problems = conflict ? [conflict.problem] : reading.problems;
  const { root, relaxedJson, otherWays, runs } = reading as SyntaxReading;
  const ways = { ...(otherWays ? { otherWays } : {}), ...(runs ? { runs } : {}) };
  const own = { uri, format, root, problems, directives, relaxedJson, ...ways };
  const isWhole = problems.every(({ code }) => code === 'multiple-documents');
  const manifest = format === 'yaml' && isWhole ? manifestDocument(uri, lines, root) : undefined;
  if (manifest) return { ...manifest, directives };
  if (format !== 'python') return own;
  const gpu = gpuOfJoined(content);
  const { installs } = reading as Partial<PythonReading>;
  const range = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };
  const joined = isJoined(content) ? { inNotebook: true as const } : {};
  const read = { ...own, ...ofPython(reading), ...joined };
  if (typeof gpu === 'object') return { ...read, ranElsewhere: { ...gpu, range } };
  return {
    ...read,
    ...(gpu === undefined || !installs ? {} : { installs: installedOnColab(installs) }),
    ...(gpu === undefined ? {} : { asksFor: { name: gpu, range } }),
  };
}

function ofPython({ program, installs }: Partial<PythonReading>): Partial<ConfigDocument> {
  return { ...(program ? { program } : {}), ...(installs ? { installs } : {}) };
}

/** Loads what the format of a file needs to be read, where that is more than is here from the start. */
export async function prepareFormat(uri: string, text: string): Promise<void> {
  if (formatOf(uri, text) === 'python') await loadPython().catch(() => undefined);
}

function readFormat(
  format: ConfigFormat,
  lines: Lines,
  uri: string,
  around?: Omit<ProgramSurroundings, 'file'>,
): SyntaxReading | PythonReading {
  if (format === 'python') return readPython(lines, undefined, { ...around, file: pathOfUri(uri) });
  if (format === 'json') return readJson(lines, uri);
  if (format === 'shell') return readShell(lines);
  if (format === 'flags') return readFlags(lines);
  return format === 'toml' ? readToml(lines) : readYaml(lines, uri);
}

/** By file name where it states it, otherwise by the first character that is not blank. */
export function formatOf(uri: string, text: string): ConfigFormat {
  const name = (uri.split(/[?#]/, 1)[0] ?? '').toLowerCase();
  if (/\.(py|ipynb)$/.test(name)) return 'python';
  if (/\.(json|jsonc|json5|hjson)$/.test(name)) return 'json';
  if (/\.(ya?ml)$/.test(name)) return 'yaml';
  if (/\.toml$/.test(name)) return 'toml';
  if (/\.(sh|bash|slurm|sbatch)$/.test(name) || /^#!.*\b(ba|da|k|z)?sh\b/.test(text)) return 'shell';
  if (/\.flags$/.test(name) || looksLikeFlags(text)) return 'flags';
  return /^\s*(\{|\[|\/\/|\/\*)/.test(text) ? 'json' : 'yaml';
}

function refuse(text: string): Problem | undefined {
  if (text.length > MAX_CHARACTERS) {
    return tooLarge(say('{0} million characters', decimal(text.length / 1e6, 1)));
  }
  const nul = text.indexOf('\0');
  if (nul < 0) return undefined;
  return {
    code: 'binary',
    severity: 'information',
    message: say('Oomlint does not read this file: it holds binary data.'),
    range: { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } },
  };
}

function tooLarge(size: string): Problem {
  return {
    code: 'too-large',
    severity: 'information',
    message: say('Oomlint does not read this file: {0}, more than a training config has.', size),
    range: { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } },
  };
}
