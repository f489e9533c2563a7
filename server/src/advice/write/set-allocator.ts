import { Lines } from '../../config/lines';
import { entryOf } from '../../config/lookup';
import { parseConfig } from '../../config/parse';
import { ALLOCATOR_VARIABLES } from '../../dialects/launch/allocator-environment';
import { type Launch, launchesOf } from '../../dialects/launch/launch';
import { launcherOf } from '../../dialects/launch/launcher';
import type { TrainingRun } from '../../run/fields';
import type { SourceFile } from './source-file';
import { breakOf, startOfLine } from './splice';
import type { TextChange } from './text-edits';
import { commandOf } from './vocabulary';

/** The variable that all releases of PyTorch read which have the setting; newer ones have a shorter name beside it. */
export const GROWING_VARIABLE = 'PYTORCH_CUDA_ALLOC_CONF';
export const GROWING_SETTING = 'expandable_segments:True';

/** One place of a run's files from which PyTorch's allocator learns that its segments may grow: the start of the program before the program itself. */
export function growingSegments(
  files: readonly SourceFile[],
  run: TrainingRun,
): { readonly uri: string; readonly change: TextChange }[] {
  const writable = files.filter(({ document }) => !document.manifest);
  const scripts = writable.filter(({ document }) => document.format === 'shell');
  for (const file of [...scripts, ...writable.filter((one) => !scripts.includes(one))]) {
    const inserted = file.document.format === 'shell' ? exported(file, run) : assigned(file);
    if (!inserted) continue;
    const { line, words } = inserted;
    const start = { line, character: 0 };
    const eol = breakOf(file.text);
    const newText = words.map((word) => `${word}${eol}`).join('');
    return [{ uri: file.uri, change: { range: { start, end: start }, newText } }];
  }
  return [];
}

/** Lines above another one. */
interface Inserted {
  readonly line: number;
  readonly words: readonly string[];
}

/** What hands its own environment on to nobody, or to another machine. */
const ANOTHER_PLACE = /^(?:docker|podman|singularity|apptainer|enroot|ssh|pdsh|ray|kubectl|sudo|modal|sky)$/;

/** Words that nothing may stand before on their line. */
const CONTINUES = /^\s*(?:then|else|elif|do|fi|done|esac|;;|&&|\|)/;

/** `export` above the line on which the training is started. */
function exported(file: SourceFile, run: TrainingRun): Inserted | undefined {
  const { text } = file;
  const index = commandOf(file);
  const { root } = parseConfig('file:///x.sh', text);
  const launch = launchesOf(root).find(({ path }) => path === `commands.${index}`);
  if (!launch || isElsewhere(launch, run)) return undefined;
  if (ALLOCATOR_VARIABLES.some((name) => entryOf(launch.environment, name))) return undefined;
  const lines = new Lines(text);
  const start = lines.offset(launch.range.start);
  let line = startOfLine(text, start);
  // A command that goes on from the line before begins there.
  while (line > 0 && /\\(?:\r\n|\n|\r)$/.test(text.slice(0, line)))
    line = startOfLine(text, line - (text.slice(0, line).endsWith('\r\n') ? 2 : 1));
  const before = text.slice(line, start);
  // What stands before it on its line is at most another command that comes first: no branch, no pattern, no text of another program.
  if (!/^\s*(?:[^()'"`|]*(?:&&|;)[\s\\]*)?$/.test(before) || CONTINUES.test(before)) return undefined;
  if (/(?:^|;|&&)\s*(?:if|while|until|for|case|then|do|else)\b/.test(before)) return undefined;
  const indent = /^[ \t]*/.exec(text.slice(line))?.[0] ?? '';
  const words = [`${indent}export ${GROWING_VARIABLE}=${GROWING_SETTING}`];
  return { line: lines.position(line).line, words };
}

/** DeepSpeed's launcher hands few variables on to other machines (https://github.com/deepspeedai/DeepSpeed/blob/v0.19.5/deepspeed/launcher/runner.py, `EXPORT_ENVS`). */
function isElsewhere(launch: Launch, run: TrainingRun): boolean {
  const started = [...launch.submitter, launch.program[0] ?? ''];
  const isRemote = launcherOf(launch) === 'deepspeed' && run['hardware.nodes'] > 1;
  return isRemote || started.some((word) => ANOTHER_PLACE.test(word.split('/').at(-1) ?? ''));
}

/** Modules of Python's own, which load no PyTorch. */
const OF_PYTHON = new Set(
  `argparse collections contextlib copy csv dataclasses datetime functools gc glob inspect itertools json logging math os pathlib
  pickle random re shutil string subprocess sys tempfile time typing warnings`.split(/\s+/),
);

const IMPORT_OS = ['import', 'os'].join(' ');

/** An assignment above the first import that may load PyTorch, which looks at the variable once. */
function assigned({ uri, text, document, reading }: SourceFile): Inserted | undefined {
  if (document.format !== 'python' || !/\.py$/i.test(uri) || (reading.keys ?? []).length === 0)
    return undefined;
  if (ALLOCATOR_VARIABLES.some((name) => text.includes(name))) return undefined;
  const lines = text.split(/\r\n|\n|\r/);
  const imports = importsOf(lines);
  const first = imports.findIndex(({ modules }) => !modules.every((name) => OF_PYTHON.has(name)));
  const plain = first < 0 ? imports : imports.slice(0, first);
  const os = plain.find(({ words }) => /^import\s+os\s*(?:#.*)?$/.test(words));
  const assignment = `os.environ["${GROWING_VARIABLE}"] = "${GROWING_SETTING}"`;
  if (os) return { line: os.line + 1, words: [assignment] };
  const [top] = imports;
  // What is loaded in a branch is loaded before what stands at the edge below it.
  if (!top || /^\s/.test(top.words)) return undefined;
  return { line: top.line, words: [IMPORT_OS, '', assignment, ''] };
}

interface Import {
  readonly line: number;
  readonly words: string;
  readonly modules: readonly string[];
}

/** Imports in their order, behind the text that describes the module; what it wants of the future has to stay first. */
function importsOf(lines: readonly string[]): Import[] {
  const found: Import[] = [];
  let quote: string | undefined;
  for (const [line, words] of lines.entries()) {
    const closing = quote;
    if (closing !== undefined) {
      if (words.includes(closing)) quote = undefined;
      continue;
    }
    const opened = /^\s*[rRuU]?("""|''')/.exec(words)?.[1];
    if (opened !== undefined) {
      if (words.split(opened).length === 2) quote = opened;
      continue;
    }
    const from = /^\s*from\s+([\w.]+)/.exec(words)?.[1];
    const plain = /^\s*import\s+([^#]+)/.exec(words)?.[1];
    const modules = from === undefined ? (plain?.split(',') ?? []).map(nameOf) : [nameOf(from)];
    if (modules.length > 0 && !modules.includes('__future__')) found.push({ line, words, modules });
  }
  return found;
}

/** The package that an import loads first. */
const nameOf = (text: string) => /[\w]+/.exec(text)?.[0] ?? '';
