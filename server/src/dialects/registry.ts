import { entryOf } from '../config/lookup';
import { mayBeManifest } from '../config/manifest-document';
import type { ConfigDocument, ConfigFormat, ConfigNode } from '../config/node';
import { formatOf } from '../config/parse';
import type { Dialect } from './dialect';
import { FAMILY_DIALECTS } from './families';
import { launchScript, mayRunScript } from './launch-script';
import { oomlintRun } from './oomlint-run';
import { pythonRun } from './python/python-run';
import { inHouse } from './vocabulary/in-house';

/** Every kind of config that is read. */
export const DIALECTS: readonly Dialect[] = [
  ...FAMILY_DIALECTS,
  launchScript,
  pythonRun,
  inHouse,
  oomlintRun,
];

/** Configs that are modules of Python. */
const IN_PYTHON = FAMILY_DIALECTS.filter(({ format }) => format === 'python');

/** Below this, a file is somebody else's. */
const THRESHOLD = 0.5;

/** Oomlint's project file states things about other files; it is no run itself. */
const PROJECT_FILE = /(^|[\\/])\.?oomlint\.(ya?ml|jsonc?)$/i;

/** Files that teach Oomlint the flags of a team. */
const VOCABULARY_FILE = /^(oomlint-flags|(.*\.)?oomlint-vocabulary)\.ya?ml$/i;

/** Whether a file is a vocabulary by its name. */
export function isVocabularyFile(fileName: string): boolean {
  return VOCABULARY_FILE.test(fileName);
}

/**
 * What Weights & Biases keeps of a run, each key with its `value` below it (`config.yaml` in the `files` of its run folders):
 * a record of what was started, and no file that starts anything.
 */
function isLoggedRun(root: ConfigNode): boolean {
  const own = entryOf(root, '_wandb') ?? entryOf(root, 'wandb_version');
  return own !== undefined && (own.key === 'wandb_version' || entryOf(own.value, 'value') !== undefined);
}

/** The family that a document belongs to, by its content; `more` are families that the workspace teaches. */
export function detectDialect(document: ConfigDocument, more: readonly Dialect[] = []): Dialect | undefined {
  const { root } = document;
  const name = fileNameOf(document.uri);
  if (!root || PROJECT_FILE.test(name) || isVocabularyFile(name) || isLoggedRun(root)) return undefined;
  let best: Dialect | undefined;
  let bestScore = THRESHOLD;
  if (document.format === 'python')
    return [...IN_PYTHON, pythonRun].find((dialect) => dialect.detect(root, name) > 0);
  for (const dialect of [...more, ...DIALECTS]) {
    // Names of calls are no keys.
    if (dialect.format === 'python') continue;
    if (dialect.surest !== undefined && dialect.surest <= bestScore) continue;
    const score = dialect.detect(root, name);
    if (score > bestScore) {
      best = dialect;
      bestScore = score;
    }
  }
  return best;
}

/** Last segment of a URI or path, decoded. */
function fileNameOf(uri: string): string {
  const name = uri.split(/[?#]/, 1)[0]?.split(/[\\/]/).at(-1) ?? '';
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** A text whose first key is indented, without that indentation: markers look for keys of the top level where lines begin. */
function unindented(text: string): string {
  const indentation = /^(?:[ \t]*(?:#.*)?\r?\n)*([ \t]+)[^\s#]/.exec(text)?.[1];
  if (indentation === undefined) return text;
  return text.replace(/^[ \t]+/gm, (found) =>
    found.startsWith(indentation) ? found.slice(indentation.length) : found,
  );
}

/**
 * Looks at the raw text only: false is certain, true is worth parsing. Searching for a few words costs next to nothing
 * beside a parse, and most JSON and YAML files of a workspace end here.
 */
export function mightBeTrainingConfig(
  text: string,
  fileName: string,
  more: readonly Dialect[] = [],
): boolean {
  if (PROJECT_FILE.test(fileName) || isVocabularyFile(fileName)) return false;
  if (/\.flags$/i.test(fileName)) return true;
  if (/^(_wandb|wandb_version):/m.test(text)) return false;
  if (formatOf(fileName, text) === 'python')
    return [...IN_PYTHON, pythonRun].some(({ markers }) => markers.test(text));
  // JSON may spell any character by its number.
  const plain = unindented(
    /\\u00[2-7]/.test(text)
      ? text.replace(/\\u(00[2-7][\da-f])/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
      : text,
  );
  let format: ConfigFormat | undefined;
  const isOne = [...more, ...DIALECTS].some((dialect) => {
    if (!dialect.markers.test(plain)) return false;
    if (dialect.format === undefined) return true;
    format ??= formatOf(fileName, text);
    return dialect.format === format;
  });
  if (isOne) return true;
  format ??= formatOf(fileName, text);
  if (format === 'shell') return mayRunScript(plain);
  return (
    format === 'yaml' && mayBeManifest(text) && (launchScript.markers.test(plain) || mayRunScript(plain))
  );
}
