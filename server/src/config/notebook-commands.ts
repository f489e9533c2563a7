import { heldScript } from './held-script';
import { Lines } from './lines';
import type { ConfigDocument } from './node';
import { shellStart } from './python/cells';
import { isDatabricks } from './python/databricks-source';
import { type EnvironmentMagic, environmentMagic } from './python/environment-magics';
import { type Install, installsIn } from './python/magics';
import { readNotebook } from './python/notebook';
import { estimatorJobs, type JobScript } from './sagemaker-estimators';
import type { Piece } from './shell/placed-text';
import type { JobValue, TrainingJob } from './training-job';

/** The code of a cell, and where it begins in the text of the notebook's code. */
interface Cell {
  readonly text: string;
  readonly start: number;
}

interface Code {
  readonly cells: readonly Cell[];
  /** Turns places of the code into those of the file. */
  readonly lines: Lines;
  readonly installs: readonly Install[];
}

const JUPYTER = /\.ipynb$/i;
/** Marks in the source that Databricks exports of a notebook. Magics stay as they are: `%sh` may have its command beside it. */
const BETWEEN_CELLS = /^(?=# COMMAND -{5,})/m;
const MAGIC = /^# MAGIC ?/gm;

const pathOf = (uri: string) => uri.split(/[?#]/, 1)[0] ?? '';

/** Whether a file is a notebook by its name. */
export const isJupyter = (uri: string): boolean => JUPYTER.test(pathOf(uri));

/** What a notebook's cells install; undefined where the file is none. A job of SageMaker runs in another place than its notebook. */
export function notebookInstalls(uri: string, text: string): readonly Install[] | undefined {
  const code = codeOf(uri, text);
  const hasJobs = code?.cells.some((cell) => jobsIn(cell).length > 0) || (code && jobsOf(code).length > 0);
  return hasJobs ? [] : code?.installs;
}

function codeOf(uri: string, text: string): Code | undefined {
  if (isJupyter(uri)) {
    const notebook = readNotebook(text);
    return notebook && { ...notebook, cells: placed(notebook.cells) };
  }
  if (!isDatabricks(text)) return undefined;
  // Blanks in the place of the marks: every character keeps its place.
  const code = text.replace(MAGIC, (mark) => ' '.repeat(mark.length));
  const lines = new Lines(text);
  return { cells: placed(code.split(BETWEEN_CELLS)), lines, installs: installsIn(code, lines) };
}

function placed(texts: readonly string[]): Cell[] {
  let start = 0;
  return texts.map((text) => {
    const cell = { text, start };
    start += text.length;
    return cell;
  });
}

/** A cell of another language, or one that is written to a file. */
const OTHER_CELL =
  /^(?:[ \t\r]*(?:#[^\n]*)?\n)*[ \t]*(?:%%(?!(?:capture|time|timeit|prun|memit|notify|python)\b)\w|%(?:md|sql|scala|r|fs|run)\b)/;
/** A line for the shell with those that continue it, a change of the folder, and a command that Python gives to a shell. */
const COMMAND = /^[ \t]*!((?:[^\n\\]|\\(?!\r?\n)|\\\r?\n)*)/;
const FOLDER = /^[ \t]*(?:%cd[ \t]+(?:-q[ \t]+)?(.*?)|os\.chdir\((.*)\))[ \t;]*\r?$/;
const SYSTEM = /\bos\.system\(\s*(f?)("""|'''|"|')((?:(?!\2)[^\\]|\\\r?\n)*)\2\s*\)/g;

/**
 * The commands of a notebook that a shell runs, each a document of its own: lines that begin with `!`, cells for a shell, and
 * `os.system("...")`. Each begins in the folder that the notebook is in by then, with the variables that it set. What Python puts in
 * is known where the notebook binds the name once, to a text or a number. `isWorth` looks at the text of a command first.
 */
export function notebookCommands(
  uri: string,
  text: string,
  isWorth: (command: string) => boolean,
): ConfigDocument[] {
  const code = codeOf(uri, text);
  if (!code) return [];
  const bound = boundNames(code.cells);
  const found: Piece[][] = [];
  let before: Piece[] = [];
  // Behind a change to a folder of another tree nothing of this one is started.
  let isAway = false;
  const add = (script: readonly Piece[]) => {
    if (!isAway) found.push([...before, ...script]);
  };
  const enter = (folder: string, at: Piece) => {
    const name = /^(?:\/+[^/]*\/+)?([^/]+)/.exec(folder)?.[1] ?? '';
    if (isHere(folder, uri)) {
      isAway = false;
      before = before.filter((piece) => !piece.text.startsWith('cd '));
    } else if (!/^[\w.][\w./ -]*$/.test(folder) || isCloned(name, code.cells)) isAway = true;
    else before = [...before, { ...at, text: `cd "${folder}"\n`, exact: false }];
  };
  for (const cell of code.cells) {
    const shell = shellStart(cell.text);
    if (shell !== undefined) add([piece(cell, shell, cell.text.length)]);
    else if (!OTHER_CELL.test(cell.text)) {
      walk(cell, bound, { add, enter, set: (more) => before.push(...more) });
      found.push(...jobsIn(cell));
    }
  }
  const shown = (script: readonly Piece[], more: Pick<ConfigDocument, 'job'> = {}) => {
    const document = heldScript(uri, code.lines, script, isWorth);
    return document ? [{ ...document, isShown: true as const, ...more }] : [];
  };
  return [
    ...found.flatMap((script) => shown(script)),
    ...jobsOf(code).flatMap(({ script, job }) => shown(script, { job: placedJob(job, code.lines) })),
  ];
}

/** The jobs of estimators, of the whole code: a name that one cell binds another hands on. */
const jobsOf = ({ cells }: Code): JobScript[] => estimatorJobs(cells.map(({ text }) => text).join(''));

function placedJob(job: TrainingJob, lines: Lines): NonNullable<ConfigDocument['job']> {
  const placed = ({ key, text, start, end }: JobValue) => ({ key, text, range: lines.range(start, end) });
  const { instance, machines, compiler, startedBy, releases, start } = job;
  return {
    start,
    startedBy: placed(startedBy),
    releases: releases.map(({ name, value }) => ({ name, value: placed(value) })),
    ...(instance ? { instance: placed(instance) } : {}),
    ...(machines ? { machines: placed(machines) } : {}),
    ...(compiler ? { compiler: placed(compiler) } : {}),
  };
}

interface Steps {
  add(script: readonly Piece[]): void;
  enter(folder: string, at: Piece): void;
  set(script: readonly Piece[]): void;
}

/** The lines of a cell of Python in their order. */
function walk(cell: Cell, bound: ReadonlyMap<string, Piece>, { add, enter, set }: Steps): void {
  const { text } = cell;
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf('\n', at);
    let end = newline < 0 ? text.length : newline + 1;
    const line = text.slice(at, end).replace(/\n$/, '');
    const command = COMMAND.exec(text.slice(at));
    const [, magic, call] = FOLDER.exec(line) ?? [];
    const variable = environmentMagic(line);
    if (command) {
      const length = command[1]?.length ?? 0;
      const from = at + command[0].length - length;
      add(filled(cell, from, from + length, bound, true));
      end = Math.max(end, from + length);
    } else if (magic !== undefined || call !== undefined) enter(folderIn(magic, call), piece(cell, at, end));
    else if (variable && NAME.test(variable.key)) set(exported(cell, at, variable));
    for (const system of command ? [] : [...line.matchAll(/\bos\.system\(/g)]) {
      SYSTEM.lastIndex = at + system.index;
      const given = SYSTEM.exec(text);
      if (given?.index !== at + system.index) continue;
      const [whole, isFormat = '', quote = '', script = ''] = given;
      const from = given.index + whole.indexOf(quote) + quote.length;
      add(filled(cell, from, from + script.length, bound, isFormat === 'f'));
    }
    at = end;
  }
}

/** IPython takes any name, a shell such a one alone: with another its `export` fails, or is no command at all. */
const NAME = /^[A-Za-z_]\w*$/;

/** A variable as a shell sets it, whose value IPython takes as it stands; not known where Python puts something in. */
function exported(
  cell: Cell,
  at: number,
  { key, keyStart, value, valueStart, isOpen }: EnvironmentMagic,
): Piece[] {
  const [name, given] = [cell.start + at + keyStart, cell.start + at + valueStart];
  const words = piece(cell, at + valueStart, at + valueStart + value.length);
  const isLeft = isOpen || value.includes("'");
  const known = isLeft ? { ...words, exact: false, opaque: true as const } : words;
  return [
    mark('export ', name),
    piece(cell, at + keyStart, at + keyStart + key.length),
    mark(isLeft ? '=' : "='", given),
    known,
    mark(isLeft ? '\n' : "'\n", words.end),
  ];
}

/** The folder of `%cd folder` or `os.chdir("folder")`; empty where it is not known. */
function folderIn(magic: string | undefined, call: string | undefined): string {
  if (magic !== undefined) return magic.replace(/^(["'])(.*)\1$/, '$2').replace(/\/+$/, '');
  return /^\s*(["'])([^"'\\]*)\1\s*$/.exec(call ?? '')?.[2]?.replace(/\/+$/, '') ?? '';
}

/** Whether a folder is the one that holds the notebook, by the name under which it is cloned: `/content/repository`. */
function isHere(folder: string, uri: string): boolean {
  const last = /[^/]+$/.exec(folder)?.[0]?.toLowerCase();
  const own = decodeURI(pathOf(uri)).toLowerCase().split('/').slice(0, -1).at(-1);
  return last !== undefined && own !== undefined && own === last && !/^\.{1,2}$/.test(last);
}

const isCloned = (name: string, cells: readonly Cell[]): boolean =>
  cells.some(({ text }) =>
    [...text.matchAll(/\bgit[ \t]+clone\b[^\n]*?\/([\w.-]+?)(?:\.git)?\/?(?=[\s"']|$)/g)].some(
      ([, repository]) => repository === name,
    ),
  );

const piece = ({ text, start }: Cell, from: number, to: number): Piece => ({
  text: text.slice(from, to),
  start: start + from,
  end: start + to,
  exact: true,
});

const mark = (text: string, at: number): Piece => ({ text, start: at, end: at, exact: false });

/** `{name}`, `{config["name"]}`, `$name`; braces of a shell hold commas, or stand behind a dollar. */
const PUT_IN = /(?<![${\\])\{[ \t]*([A-Za-z_]\w*)((?:[.[(+%*/-][^{},\n]*)?)[ \t]*\}|\$([A-Za-z_]\w*)/g;

/** A command with what Python puts in: `{name}` where `braces`, and `$name` in a line for IPython. */
function filled(
  cell: Cell,
  from: number,
  to: number,
  bound: ReadonlyMap<string, Piece>,
  braces: boolean,
): Piece[] {
  const pieces: Piece[] = [];
  let done = from;
  for (const put of cell.text.slice(from, to).matchAll(PUT_IN)) {
    const [whole, name = '', rest = '', plain] = put;
    const at = from + put.index;
    const known = bound.get(plain ?? name);
    if (plain !== undefined ? !known : !braces) continue;
    if (at > done) pieces.push(piece(cell, done, at));
    done = at + whole.length;
    const used = { start: cell.start + at, end: cell.start + done };
    pieces.push(
      known && rest === '' ? { ...known, used } : { text: whole, ...used, exact: false, opaque: true },
    );
  }
  if (done < to) pieces.push(piece(cell, done, to));
  return pieces;
}

/** Names that the notebook binds once, to a text or a number. */
function boundNames(cells: readonly Cell[]): ReadonlyMap<string, Piece> {
  const found = new Map<string, Piece | undefined>();
  for (const cell of cells)
    for (const binding of cell.text.matchAll(/^([ \t]*)([A-Za-z_]\w*)[ \t]*=(?!=)[ \t]*([^\n]*)/gm)) {
      const [whole, indent, name = '', given = ''] = binding;
      const literal =
        /^(?:"([^"\\\n{}$`]*)"|'([^'\\\n{}$`]*)'|(-?\d[\d.]*(?:e-?\d+)?))[ \t]*(?:#.*)?\r?$/i.exec(given);
      const value = literal?.[1] ?? literal?.[2] ?? literal?.[3];
      const at = binding.index + whole.length - given.length + (literal?.[3] === undefined ? 1 : 0);
      const isKnown = value !== undefined && indent === '' && !found.has(name);
      found.set(name, isKnown ? piece(cell, at, at + value.length) : undefined);
    }
  return new Map([...found].flatMap(([name, known]) => (known ? [[name, known]] : [])));
}

/** `SourceCode(source_dir="scripts", command="accelerate launch ...")` of SageMaker. */
const JOB = /\bSourceCode\(((?:[^()"'\\]|"[^"\\\n]*"|'[^'\\\n]*')*)\)/g;
/**
 * Where a job finds what `source_dir` holds (`SM_CODE_CONTAINER_PATH`,
 * https://github.com/aws/sagemaker-python-sdk/blob/v2.243.0/src/sagemaker/modules/constants.py).
 */
const IN_JOB = '/opt/ml/input/data/code/';

/** The commands of jobs that a cell of SageMaker describes, each in the folder of its code. */
function jobsIn(cell: Cell): Piece[][] {
  if (!cell.text.includes('SourceCode(')) return [];
  const text = cell.text.replace(/^[ \t]*#[^\n]*/gm, (comment) => ' '.repeat(comment.length));
  return [...text.matchAll(JOB)].flatMap((job) => {
    const given = (key: string) =>
      new RegExp(String.raw`[,(\s]${key}\s*=\s*(["'])([^"'\n]*)\1`, 'd').exec(job[0])?.indices?.[2];
    const folder = given('source_dir');
    const command = given('command');
    if (!folder || !command) return [];
    const name = job[0].slice(...folder).replace(/\/+$/, '');
    const script: Piece[] = [mark(`cd "${name}"\n`, cell.start + job.index + folder[0])];
    let from = job.index + command[0];
    const to = job.index + command[1];
    for (let at = text.indexOf(IN_JOB, from); at >= 0 && at < to; at = text.indexOf(IN_JOB, from)) {
      if (at > from) script.push(piece(cell, from, at));
      from = at + IN_JOB.length;
    }
    return [[...script, piece(cell, from, to)]];
  });
}
