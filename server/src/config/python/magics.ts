import type { Range } from '../../text/place';
import { clonedPackages } from '../cloned-packages';
import type { Lines } from '../lines';
import {
  REPOSITORY,
  type RepositoryState,
  repositoryPackage,
  WHEEL,
  wheelPackage,
} from '../repository-address';
import { cellsOf, markOf, shellStart } from './cells';
import { blockAround, type ConditionWay, choosesAt } from './condition-ways';
import { askedIndex, type PytorchIndex, pytorchIndex, withBound } from './pytorch-index';

/** A package that a cell installs. */
export interface Install {
  readonly name: string;
  /** As pip is asked for it: `==4.56.2`, empty where any will do. */
  readonly specifier: string;
  /** What it is asked for with it: `vllm` of `trl[vllm]`. */
  readonly extras?: readonly string[];
  /** Nothing that it requires comes with it (`--no-deps`). */
  readonly alone?: true;
  /** Which version is known only when it is installed. */
  readonly open?: true;
  /** The versions between which a condition chooses then; an empty one is any. */
  readonly choices?: readonly string[];
  /** What is there gives way to the newest (`-U`). */
  readonly upgraded?: true;
  /** Where pip is sent for it, of PyTorch's own builds: `https://download.pytorch.org/whl/cu121`. */
  readonly index?: string;
  /** It comes from a repository, and no tag tells which release it is. */
  readonly repository?: RepositoryState;
  /** It is installed where the notebook does not run on Colab. */
  readonly offColab?: true;
  /** A condition right above it decides whether it is installed. */
  readonly conditional?: true;
  /** The way of that condition, where it has one for whatever it finds and stands under no other. */
  readonly way?: ConditionWay;
  /** The metadata of a script name it for `uv run`; started by `python` it takes what is there. */
  readonly needed?: true;
  /** It stands in a comment, as where a notebook was made a script: the script itself installs nothing. */
  readonly commented?: true;
  /** The index that alone is asked for PyTorch, where the newest release there is not the newest of all. */
  readonly builtFor?: PytorchIndex;
  readonly range: Range;
}

/** A line that is for IPython or the shell: `!pip install trl`, `%cd x`, `?help`. */
const MAGIC = /^([ \t]*)(?:[!?]|%{1,2}(?![ \t]))/;
/** Magics whose cell is Python all the same. */
const STILL_PYTHON = /^%%(?:capture|time|timeit|prun|memit|notify)\b/;

/**
 * The Python of a text, cell by cell, at the same offsets: lines for IPython become blanks, or `pass` where a block may need a
 * statement. `%%bash` and its like blank the whole cell.
 */
export function withoutMagics(text: string): string {
  if (!/^[ \t]*[!?%]|=[ \t]*[!%]|\?[ \t]*\r?$/m.test(text)) return text;
  return cellsOf(text)
    .map((cell) => {
      const mark = markOf(cell);
      return mark + withoutMagicsOfCell(cell.slice(mark.length));
    })
    .join('');
}

function withoutMagicsOfCell(cell: string): string {
  const first = /^\s*(%%\w+)/.exec(cell)?.[1];
  if (shellStart(cell) !== undefined || (first && !STILL_PYTHON.test(first)))
    return cell.replace(/[^\r\n]/g, ' ');
  if (!/^[ \t]*[!?%]|=[ \t]*[!%]|\?[ \t]*$/m.test(cell)) return cell;
  let continued = false;
  return cell
    .split('\n')
    .map((line) => {
      const magic = continued || MAGIC.test(line) || /^[ \t]*[\w.]+\?{1,2}[ \t]*\r?$/.test(line);
      const assigned = /^([ \t]*\w+[ \t]*=[ \t]*)[!%].*$/.exec(line);
      if (!magic && !assigned) return line;
      continued = (continued || magic) && /\\[ \t]*\r?$/.test(line);
      if (assigned && !magic) {
        const kept = assigned[1] ?? '';
        const rest = line.length - kept.length;
        return rest >= 3 ? `${kept}...${' '.repeat(rest - 3)}` : ' '.repeat(line.length);
      }
      const indent = /^[ \t]*/.exec(line)?.[0] ?? '';
      const rest = line.length - indent.length;
      return indent !== '' && rest >= 4 ? `${indent}pass${' '.repeat(rest - 4)}` : ' '.repeat(line.length);
    })
    .join('\n');
}

const INSTALLS = String.raw`(?:uv[ \t]+)?(?:python3? -m[ \t]+)?pip3?[ \t]+install\b((?:\\\r?\n|[^\n;&|])*)`;
/** A line of a cell that is for the shell, or for pip. */
const LINE = /(?:^|[\n;&])[ \t]*(?:!|%(?=[ \t]*(?:uv[ \t]+)?(?:python3? -m[ \t]+)?pip))((?:\\\r?\n|[^\n])*)/g;
const SHELL_COMMAND = new RegExp(String.raw`(?:^|[\n;&])[ \t]*(?:sudo[ \t]+)?${INSTALLS}`, 'g');
const REQUIREMENT =
  /(?:^|[\s"'])([A-Za-z][\w.-]*)(\[[\w,-]*\])?((?:==|>=|<=|~=|!=|<|>)[\w.*+!<>=,~-]+)?(?=$|[\s"'])/g;
/** Options of pip that take the newest release, whatever is installed. */
const UPGRADES = /(?:^|\s)(?:-[a-zA-Z]*U[a-zA-Z]*|--upgrade)(?=$|\s)/;
/** Options of pip that take a value. */
const WITH_VALUE =
  /(?:^|\s)(?:-r|-c|-f|-i|-t|-e|--(?:index-url|extra-index-url|find-links|target|requirement|constraint|python))[ =]\S+/g;

/** `vllm @ https://.../vllm-0.23.0+cu129-cp38-abi3-manylinux1_x86_64.whl`: the address states which release that is. */
const OF_WHEEL = new RegExp(
  String.raw`[A-Za-z][\w.-]*(?:\[[\w,-]*\])?[ \t]*@[ \t]*(?=${WHEEL.source})`,
  'gi',
);

/** A name in braces, whose value IPython puts in. */
const BRACED = /(?:^|\s)\{(\w+)\}(?=$|\s)/g;
const QUOTED = String.raw`(?:"[^"\n]*"|'[^'\n]*')`;
const SEVERAL = String.raw`${QUOTED}(?:[ \t]*,[ \t]*${QUOTED})*`;
/** `name, other = "torch==2.7.1", "mamba_ssm==2.2.5"`, and with a condition between two of them: `("a==1", "b") if is_t4 else ("a==2", "b")`. */
const BOUND = new RegExp(
  String.raw`^[ \t]*(?:(?:try|else|except)[ \t]*:[ \t]*)?(\w+(?:[ \t]*,[ \t]*\w+)*)[ \t]*=[ \t]*\(?(${SEVERAL})\)?(?:[ \t]*if\b[^\n()]+\belse[ \t]*\(?(${SEVERAL})\)?)?[ \t]*\r?$`,
  'gm',
);

/** The package that a name stands for in commands of a text, with the versions that it is bound to; undefined where it is not one alone. */
function boundPackage(
  text: string,
  name: string,
): { readonly name: string; readonly versions: readonly string[] } | undefined {
  const packages = new Set<string>();
  const versions: string[] = [];
  // Bound to what only runs make, as a text of the release that is there: any.
  if (new RegExp(String.raw`\b${name}[ \t]*=[ \t]*[rb]?f["']`).test(text)) versions.push('');
  for (const [, names = '', ...lists] of text.matchAll(BOUND)) {
    const at = names.split(',').findIndex((one) => one.trim() === name);
    if (at < 0) continue;
    for (const list of lists) {
      if (list === undefined) continue;
      const [, , value, version = ''] =
        /^(["'])([A-Za-z][\w.-]*)((?:[=<>~!].*)?)\1$/.exec(list.split(',')[at]?.trim() ?? '') ?? [];
      packages.add(value?.toLowerCase() ?? '');
      versions.push(version);
    }
  }
  const [one] = packages;
  return packages.size === 1 && one !== undefined && one !== '' ? { name: one, versions } : undefined;
}

/** Packages that a text installs, or names as what it needs, with the place of each. `cells`: the text, cut where they begin. */
export function installsIn(
  text: string,
  lines: Pick<Lines, 'range'>,
  cells: readonly string[] = cellsOf(text),
): Install[] {
  return [
    ...neededPackages(text, lines),
    ...convertedInstalls(text, lines),
    ...installsOfCells(text, lines, cells),
  ];
}

/** Packages that cells install, in their order: those for a shell need no mark before a command. */
function installsOfCells(text: string, lines: Pick<Lines, 'range'>, cells: readonly string[]): Install[] {
  const found: Install[] = [];
  let at = 0;
  for (const cell of cells) {
    const end = at + cell.length;
    const body = at + markOf(cell).length;
    const shell = shellStart(text.slice(body, end));
    found.push(
      ...(shell === undefined
        ? installsOfLines(text, lines, at, end)
        : writtenInstalls(text, lines, body + shell, end)),
    );
    at = end;
  }
  return found;
}

/** What a script names in comments for whoever starts it (PEP 723; `uv run`). */
const METADATA = /^# \/\/\/ script[ \t]*\r?\n((?:#(?: .*)?\r?\n)+?)# \/\/\/[ \t]*\r?$/m;

/** Packages that the metadata of a script name (`dependencies`, whose lines are comments). */
function neededPackages(text: string, lines: Pick<Lines, 'range'>): Install[] {
  const [block, content = ''] = METADATA.exec(text) ?? [];
  if (block === undefined) return [];
  const written = content.replace(/^#/gm, ' ');
  const [all, list = ''] =
    /^[ \t]*dependencies[ \t]*=[ \t]*\[((?:"[^"\n]*"|'[^'\n]*'|[^\]"'])*)\]/m.exec(written) ?? [];
  if (all === undefined) return [];
  const start = text.indexOf(content, text.indexOf(block)) + written.indexOf(all) + all.lastIndexOf(list);
  return packagesAmong(list, start, text, lines).map((one) => ({ ...one, needed: true }));
}

/** What nbconvert makes of a line or a cell for IPython: a call with its text, which some comment out. */
const CONVERTED =
  /^([ \t]*#)?[ \t]*get_ipython\(\)\.(?:system|run_line_magic|run_cell_magic)\(((?:[^'"\n]|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")*)\)[ \t]*\r?$/gm;
const LITERAL = /'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"/g;

/** The text that a Python literal of one line stands for, as far as nbconvert writes escapes. */
function unescaped(literal: string): string {
  return literal.replace(/\\(.)/g, (_, one: string) => (one === 'n' ? '\n' : one === 't' ? '\t' : one));
}

/** Packages that the calls of a converted notebook install; each has the place of its call. */
function convertedInstalls(text: string, lines: Pick<Lines, 'range'>): Install[] {
  const found: Install[] = [];
  for (const { 0: whole, 1: mark, 2: given = '', index } of text.matchAll(CONVERTED)) {
    const words = [...given.matchAll(LITERAL)].map(([, one, other]) => unescaped(one ?? other ?? ''));
    const [first = '', ...rest] = words;
    // A line for the shell, `%pip` and its words, or the text of a cell that is Python all the same.
    const command = rest.length === 0 ? `!${first}` : rest.length === 1 ? `%${first} ${rest[0]}` : rest[1];
    if (rest.length > 1 && !STILL_PYTHON.test(`%%${first}`)) continue;
    const start = index + whole.length - whole.trimStart().length;
    const range = lines.range(start, index + whole.trimEnd().length);
    for (const install of installsOfLines(command ?? '', lines))
      found.push({
        ...install,
        ...(mark === undefined ? {} : { commented: true as const }),
        range,
      });
  }
  return found;
}

/** Packages that commands of a shell install. */
export const shellInstalls = (text: string, lines: Pick<Lines, 'range'>): Install[] =>
  writtenInstalls(text, lines);

/** Packages that the lines of a cell name which are for the shell, or for pip. */
const installsOfLines = (text: string, lines: Pick<Lines, 'range'>, from = 0, to = text.length): Install[] =>
  [...text.slice(from, to).matchAll(LINE)].flatMap((line) => {
    const end = from + line.index + line[0].length;
    return writtenInstalls(text, lines, end - (line[1] ?? '').length, end);
  });

/** A command that brings packages with it, and what it is given: `uv run --with trl==1.2.0 train.py`, `uvx --from axolotl==0.12.0 axolotl train`. */
const BRINGING =
  /(?:^|[\n;&])[^\n;&|#]*?\b(?:uvx|uv[ \t]+(?:tool[ \t]+)?run|pipx[ \t]+run)\b((?:\\\r?\n|[^\n;&|])*)/g;
const BROUGHT = /(?:^|\s)(?:--(?:with|from|spec)|-w)[ \t=]+("[^"\n]*"|'[^'\n]*'|\S+)/g;

function broughtInstalls(text: string, lines: Pick<Lines, 'range'>, from: number, to: number): Install[] {
  return [...text.slice(from, to).matchAll(BRINGING)].flatMap(({ 0: whole, 1: words = '', index }) => {
    // Behind the script stand words of its own.
    const own = words.replace(/(?<=(?:^|\s)[^\s=]+\.py\s)[\s\S]*$/, '');
    const start = from + index + whole.length - words.length;
    return [...own.matchAll(BROUGHT)].flatMap(({ 0: option, 1: given = '', index: at }) =>
      packagesAmong(given, start + at + option.length - given.length, text, lines, true),
    );
  });
}

/** Packages that commands name in a stretch of a text. */
const writtenInstalls = (
  text: string,
  lines: Pick<Lines, 'range'>,
  from = 0,
  to = text.length,
): Install[] => [...pipInstalls(text, lines, from, to), ...broughtInstalls(text, lines, from, to)];

function pipInstalls(text: string, lines: Pick<Lines, 'range'>, from: number, to: number): Install[] {
  return [...text.slice(from, to).matchAll(SHELL_COMMAND)].flatMap((command) => {
    const words = command[1] ?? '';
    const start = from + command.index + command[0].length - words.length;
    const byUv = /\buv[ \t]+(?:python3? -m[ \t]+)?pip/.test(command[0].slice(0, -words.length));
    const found = packagesAmong(words, start, text, lines, byUv);
    const chosen = choosesAt(text, start);
    const conditional = chosen ? { conditional: true as const, ...chosen } : {};
    const offColab = isOffColab(text, start) ? { offColab: true as const } : {};
    return found.map((one) => ({ ...one, ...conditional, ...offColab }));
  });
}

/** How notebooks ask whether they run on Colab: `if "COLAB_" not in "".join(os.environ.keys()):`. */
const OFF_COLAB = /^if\b[^\n]*\bCOLAB_[^\n]*\bnot in\b/;

/** Whether the line of a place stands right under such a question. */
const isOffColab = (text: string, at: number): boolean => OFF_COLAB.test(blockAround(text, at)?.line ?? '');

/** What is installed where a notebook runs, as far as it asks where that is. */
export const installedOnColab = (installs: readonly Install[]): Install[] =>
  installs.filter(({ offColab }) => offColab !== true);

/** Packages that words for pip name; `start`: where the words stand in the text. */
function packagesAmong(
  words: string,
  start: number,
  text: string,
  lines: Pick<Lines, 'range'>,
  byUv = false,
): Install[] {
  const found: Install[] = [];
  const blank = (part: string) => ' '.repeat(part.length);
  const bare = words.replace(WITH_VALUE, blank).replace(OF_WHEEL, blank);
  const bound = withBound(words, text);
  const builds = askedIndex(bound, byUv);
  const upgrades = UPGRADES.test(words) && builds?.only !== true;
  const builtFor = pytorchIndex(bound, byUv);
  const alone = /(?:^|\s)--no-deps(?=$|\s)/.test(words);
  for (const one of bare.matchAll(REQUIREMENT)) {
    const [whole, name = '', extras = '', specifier = ''] = one;
    const at = start + one.index + whole.indexOf(name);
    found.push({
      name: name.toLowerCase(),
      specifier,
      ...(extras === '' ? {} : { extras: extras.slice(1, -1).split(',') }),
      ...(alone ? { alone: true as const } : {}),
      ...(upgrades && specifier === '' ? { upgraded: true as const } : {}),
      ...(builds ? { index: builds.address } : {}),
      ...(name.toLowerCase() === 'torch' && builtFor ? { builtFor } : {}),
      range: lines.range(at, at + name.length + specifier.length),
    });
  }
  for (const wheel of bare.matchAll(WHEEL)) {
    const at = start + wheel.index;
    const range = lines.range(at, at + wheel[0].length);
    found.push({ ...wheelPackage(wheel), ...(alone ? { alone: true as const } : {}), range });
  }
  for (const address of words.matchAll(REPOSITORY)) {
    const { name, specifier, state } = repositoryPackage(address.groups ?? {});
    const at = start + address.index;
    found.push({
      name,
      specifier,
      ...(state ? { open: true, repository: state } : {}),
      ...(state === 'head' ? { upgraded: true } : {}),
      range: lines.range(at, at + address[0].length),
    });
  }
  for (const { name, specifier, state, index, length } of clonedPackages(words, text.slice(0, start)))
    found.push({
      name,
      specifier,
      ...(state ? { open: true, repository: state } : {}),
      ...(state === 'head' ? { upgraded: true } : {}),
      range: lines.range(start + index, start + index + length),
    });
  for (const { 0: whole, 1: name = '', index } of bare.matchAll(BRACED)) {
    const stands = boundPackage(text, name);
    if (stands === undefined) continue;
    const exact = stands.versions.every((version) => /^(?:==\d[\w.]*)?$/.test(version));
    found.push({
      name: stands.name,
      specifier: '',
      open: true,
      ...(exact ? { choices: [...new Set(stands.versions)] } : {}),
      range: lines.range(start + index, start + index + whole.length),
    });
  }
  return found;
}
