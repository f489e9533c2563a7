import { Lines } from '../config/lines';
import { entryOf, nodeAt } from '../config/lookup';
import type { ConfigNode } from '../config/node';
import { notebookInstalls } from '../config/notebook-commands';
import { parseConfig } from '../config/parse';
import { shellInstalls } from '../config/python/magics';
import { type PytorchIndex, pytorchIndex, specifierWithin } from '../config/python/pytorch-index';
import { flagOf, textOf } from '../config/scalar';
import { commandsAlone } from '../config/shown-commands';
import type { Range } from '../text/place';
import { imageVersions } from './container-images';
import { normalName, parseRequirement, type Requirement } from './requirement';

/** How a file states which packages there are. */
export interface EnvironmentFormat {
  /** Names of files, tested without their folder. */
  readonly names: RegExp;
  /** Lower is stronger: what is locked counts before what is asked for. */
  readonly rank: number;
  read(text: string, name: string): readonly Requirement[];
}

export const lineRange = (line: number, start: number, end: number): Range => ({
  start: { line, character: start },
  end: { line, character: end },
});

/** `[[package]]` tables of `uv.lock`, `poetry.lock` and `pdm.lock`: a name, then its version, each on a line. */
function lockedPackages(text: string): Requirement[] {
  const found: Requirement[] = [];
  let name: string | undefined;
  text.split('\n').forEach((line, index) => {
    if (line.startsWith('[[package]]')) name = undefined;
    else if (line.startsWith('name = "')) name = line.slice(8, line.indexOf('"', 8));
    else if (name !== undefined && line.startsWith('version = "')) {
      const version = line.slice(11, line.indexOf('"', 11));
      found.push(exactRequirement(name, version, lineRange(index, 0, line.length)));
      name = undefined;
    }
  });
  return found;
}

/** Versions of a build (`2.4.0+cu121`) are those of the release. */
export function exactRequirement(name: string, version: string, range: Range): Requirement {
  const bare = version.split('+', 1)[0] ?? version;
  return { name: normalName(name), specifier: `==${bare}`, exact: bare, range };
}

/** `"torch": { ... "version": "==2.4.0" }` of a `Pipfile.lock`, in its order of lines. */
function pipfileLock(text: string): Requirement[] {
  const found: Requirement[] = [];
  let name: string | undefined;
  text.split('\n').forEach((line, index) => {
    const opened = /^\s{4,12}"([A-Za-z0-9._-]{1,80})": \{/.exec(line);
    if (opened) name = opened[1];
    const version = name === undefined ? undefined : /^\s*"version": "==([^"]{1,60})"/.exec(line)?.[1];
    if (name !== undefined && version !== undefined)
      found.push(exactRequirement(name, version, lineRange(index, 0, line.length)));
  });
  return found;
}

/** The lists of a `setup.cfg`, of which those of a section for extras are optional. */
function setupLists(text: string): Requirement[] {
  const lines = text.split('\n');
  const isExtra = ({ range }: Requirement) =>
    lines
      .slice(0, range.start.line)
      .findLast((line) => line.startsWith('['))
      ?.startsWith('[options.extras_require]');
  return requirementLines(text).map((found) => (isExtra(found) ? asOptional(found) : found));
}

/** As pip takes them away: `COMMENT_RE`, https://github.com/pypa/pip/blob/25.3/src/pip/_internal/req/req_file.py */
const COMMENTS = /(?:^|\s)#.*$/gm;

/** Lines of a `requirements.txt` or a `constraints.txt`, and of the lists of a `setup.cfg`. */
function requirementLines(text: string): Requirement[] {
  return withinIndex(pytorchIndex(text.replace(COMMENTS, '')), pinnedLines(text));
}

/** Of PyTorch none that is newer than the last on the index that is asked. */
const withinIndex = (index: PytorchIndex | undefined, asked: readonly Requirement[]): Requirement[] =>
  asked.map((one) => {
    const specifier = one.name === 'torch' ? specifierWithin(one.specifier, index) : one.specifier;
    return index === undefined || specifier === one.specifier
      ? one
      : { ...one, specifier, builtFor: index.name };
  });

function pinnedLines(text: string): Requirement[] {
  return text.split('\n').flatMap((line, index) => {
    const start = line.length - line.trimStart().length;
    const words = line.trim();
    if (words === '' || /^(?:#|\[|-(?!e git\+))/.test(words) || /^\w+\s*=\s*[^=]/.test(words)) return [];
    return parseRequirement(words, lineRange(index, start, start + words.length)) ?? [];
  });
}

/**
 * Requirements in quotes, as `setup.py` lists them. Of a package that it lists in several ways, for extras of other hardware, nobody knows which
 * was installed; a build for CPUs is that of no GPU.
 */
function setupRequirements(text: string): Requirement[] {
  return inOneWay(quotedRequirements(text).filter(({ specifier }) => !/\+cpu\b/.test(specifier)));
}

/** Requirements of packages that a text asks for in one way alone, however often. */
const inOneWay = (asked: readonly Requirement[]): Requirement[] =>
  asked.filter(({ name, specifier }) =>
    asked.every((other) => other.name !== name || other.specifier === specifier),
  );

function quotedRequirements(text: string): Requirement[] {
  return text.split('\n').flatMap((line, index) =>
    [...line.slice(0, 2000).matchAll(/["']([A-Za-z][^"']{0,200})["']/g)].flatMap((match) => {
      const start = (match.index ?? 0) + 1;
      const words = match[1] ?? '';
      const requirement = /[=<>~]=|[<>]/.test(words)
        ? parseRequirement(words, lineRange(index, start, start + words.length))
        : undefined;
      return requirement ?? [];
    }),
  );
}

function items(node: ConfigNode | null | undefined): ConfigNode[] {
  return node?.kind === 'list' ? [...node.items] : [];
}

function fromNodes(nodes: readonly ConfigNode[]): Requirement[] {
  return nodes.flatMap((node) => {
    const text = textOf(node);
    return (text === undefined ? undefined : parseRequirement(text, node.range)) ?? [];
  });
}

/** Poetry's carets and tildes in the terms of PEP 440. */
export function poetrySpecifier(text: string): string {
  return text
    .split(',')
    .map((part) => {
      const [, sign = '', version = ''] = /^(?:([~^])\s*)?v?(\d[\w.]*)$/.exec(part.trim()) ?? [];
      if (version === '') return part.trim() === '*' ? '' : part.replace(/\s+/g, '');
      if (sign === '') return `==${version}`;
      const numbers = version.split('.').map(Number);
      // A caret keeps the first number that is not 0, a tilde the second one, where there is one.
      const first = numbers.findIndex((number) => number !== 0);
      const kept = sign === '^' ? (first < 0 ? numbers.length - 1 : first) : Math.min(1, numbers.length - 1);
      const above = numbers.slice(0, kept + 1).map((number, index) => (index === kept ? number + 1 : number));
      return `>=${version},<${above.join('.')}`;
    })
    .filter((part) => part !== '')
    .join(',');
}

/** `[project]`, dependency groups, and Poetry's own tables. */
function pyproject(text: string, name: string): Requirement[] {
  const { root } = parseConfig(`file:///${name}`, text);
  const project = nodeAt(root, ['project']);
  const optional = nodeAt(project, ['optional-dependencies']);
  const groups = nodeAt(root, ['dependency-groups']);
  const within = (block: ConfigNode | null | undefined) =>
    fromNodes(block?.kind === 'map' ? block.entries.flatMap(({ value }) => items(value)) : []);
  const listed = [
    ...fromNodes(items(nodeAt(project, ['dependencies']))),
    ...within(groups),
    ...within(optional).map(asOptional),
  ];
  const poetry = nodeAt(root, ['tool', 'poetry', 'dependencies']);
  const tabled = poetry?.kind === 'map' ? poetry.entries : [];
  return [
    ...listed,
    ...tabled.flatMap(({ key, value }) => {
      const stated = value.kind === 'map' ? entryOf(value, 'version')?.value : value;
      const words = textOf(stated);
      const specifier = words === undefined ? undefined : poetrySpecifier(words);
      const found = specifier === undefined ? undefined : parseRequirement(`${key}${specifier}`, value.range);
      const extra = value.kind === 'map' ? entryOf(value, 'optional')?.value : undefined;
      return found ? [extra && flagOf(extra) === true ? asOptional(found) : found] : [];
    }),
  ];
}

const asOptional = (requirement: Requirement): Requirement => ({ ...requirement, optional: true });

/** Conda's `pytorch=2.4` is any 2.4, `==2.4.1` that one; packages of pip stand in a list of their own. */
function condaEnvironment(text: string, name: string): Requirement[] {
  const { root } = parseConfig(`file:///${name}`, text);
  return items(nodeAt(root, ['dependencies'])).flatMap((node) => {
    if (node.kind === 'map') return pipList(items(entryOf(node, 'pip')?.value));
    const words = (textOf(node) ?? '').replace(/^[\w-]+::/, '');
    const match = /^([A-Za-z][\w.-]{0,80})\s*(=?)\s*([\d][\w.]*)?(?:=\S*)?$/.exec(words);
    if (match?.[1] && match[2] === '=' && match[3])
      return parseRequirement(`${condaName(match[1])}==${match[3]}.*`, node.range) ?? [];
    return parseRequirement(words.replace(/^pytorch(?![\w-])/, 'torch'), node.range) ?? [];
  });
}

/** A list that conda hands to pip as the lines of a `requirements.txt`. */
const pipList = (lines: readonly ConfigNode[]): Requirement[] =>
  withinIndex(pytorchIndex(lines.map((line) => textOf(line) ?? '').join('\n')), fromNodes(lines));

const condaName = (name: string) => (name === 'pytorch' ? 'torch' : name);

/** A `FROM` with the arguments of the build in their places, by their defaults; undefined where one has none. */
function withArguments(image: string, given: ReadonlyMap<string, string>): string | undefined {
  let open = false;
  const filled = image.replace(
    /\$(?:(\w+)|\{(\w+)(?::?-([^}]*))?\})/g,
    (_, bare?: string, name?: string, other?: string) => {
      const value = given.get(bare ?? name ?? '') ?? other;
      open ||= value === undefined;
      return value ?? '';
    },
  );
  return open ? undefined : filled;
}

/** PyTorch among the words of a command, by its name alone or with what it is to be. */
const TORCH = /(?:^|[\s"'])torch(?![\w.-])/;
const BARE_TORCH = /\btorch(?![\w.=<>~!-])/;

/** The command that installs PyTorch in a line, with the lines that it began in and goes on in. */
function torchCommand(lines: readonly string[], at: number): string {
  const goesOn = (index: number) => /\\\s*$/.test(lines[index] ?? '');
  let first = at;
  while (first > 0 && goesOn(first - 1)) first--;
  let last = at;
  while (last < lines.length - 1 && goesOn(last)) last++;
  const command = lines
    .slice(first, last + 1)
    .join('\n')
    .slice(0, LONGEST_LINE);
  return command.split(/&&|;/).find((part) => TORCH.test(part)) ?? '';
}

/** Images that a `Dockerfile` starts from, and what it installs by name. */
function dockerfile(text: string): Requirement[] {
  const given = new Map<string, string>();
  const lines = text.split('\n');
  const found = lines.flatMap((line, index) => {
    if (/^\s*#/.test(line)) return [];
    const range = lineRange(index, 0, line.length);
    // An argument may stand for one before it.
    // The older `ENV name value` has no sign between.
    const words =
      /^\s*(?:ARG|ENV)\s+(.{0,2000})/i.exec(line)?.[1]?.replace(/^(\w+)[ \t]+(?=\S+\s*$)/, '$1=') ?? '';
    for (const [, name = '', value = ''] of words.matchAll(/(\w+)=["']?([^\s"']*)/g)) {
      const known = withArguments(value, given);
      if (known !== undefined) given.set(name, known);
    }
    const image = /^\s*FROM\s+(?:--\S+\s+)?(\S+)/i.exec(line)?.[1];
    if (image !== undefined) return imageVersions(withArguments(image, given) ?? '', range);
    const command = TORCH.test(line) ? torchCommand(lines, index) : '';
    const built =
      command === ''
        ? undefined
        : pytorchIndex(withArguments(command, given) ?? command, /\buv\s+pip\b/.test(command));
    const pinned = [
      ...line
        .slice(0, 2000)
        .matchAll(/(?:^|\s)["']?([A-Za-z][\w.-]{0,80}(?:\[[\w,]{0,80}\])?[=<>~]=[^\s"']{1,80})/g),
    ].flatMap((match) => parseRequirement(withArguments(match[1] ?? '', given) ?? '', range) ?? []);
    const torch = built && BARE_TORCH.test(line) ? parseRequirement('torch', range) : undefined;
    return withinIndex(built, [...(torch ? [torch] : []), ...pinned]);
  });
  return [...found, ...fromRepositories(text).filter(({ name }) => found.every((one) => one.name !== name))];
}

/** Packages that the commands of a `Dockerfile` take from a repository, by its address or from a folder that holds it. */
function fromRepositories(text: string): Requirement[] {
  if (!/github\.com/.test(text)) return [];
  const commands = text.replace(/^[ \t]*RUN\b(?:[ \t]+--\S+)*/gm, (start) => ' '.repeat(start.length));
  return shellInstalls(commands, new Lines(text)).flatMap(
    ({ name, specifier, repository, range }): Requirement | readonly Requirement[] =>
      repository
        ? { name: normalName(name), specifier, repository, range }
        : (parseRequirement(`${name}${specifier}`, range) ?? []),
  );
}

/** What runs a command in an image: by itself, or as an option of Slurm (pyxis). */
const RUNS_IMAGES =
  /\b(?:docker|podman|nerdctl|singularity|apptainer|enroot|srun|sbatch|shifter|charliecloud)\b|--container[-_]image\b/;

/** Images that a launch script runs in: `docker run IMAGE`, `--container-image=IMAGE`, and variables that hold one. */
function scriptImages(text: string): Requirement[] {
  if (!RUNS_IMAGES.test(text)) return [];
  return text.split('\n').flatMap((line, index) => {
    if (line.length > LONGEST_LINE || /^\s*#(?!SBATCH\b)/.test(line)) return [];
    return [...line.matchAll(/[\w./#:+-]{1,200}:[\w.+-]{1,120}/g)].flatMap((match) =>
      imageVersions(match[0], lineRange(index, match.index, match[0].length)),
    );
  });
}

const LONGEST_LINE = 2000;

/** The images of a launch script, which is looked into where it starts the run. */
export const SCRIPT_IMAGES: EnvironmentFormat = {
  names: /\.(?:sh|slurm|sbatch)$/,
  rank: 5,
  read: scriptImages,
};

/** Scripts of a shell, and manifests that hold one. */
const SCRIPT = /\.(?:sh|bash|slurm|sbatch|ya?ml)$/i;
/** Commands that are items of a list. */
const ITEM = /^([ \t]*)- /gm;
/** Such a command over several lines, which YAML folds into one. */
const FOLDED =
  /^([ \t]*)- (?:sudo[ \t]+)?(?:uv[ \t]+)?(?:python3? -m[ \t]+)?pip3?[ \t]+install\b[^\n]*(?:\n\1[ \t]+(?!- )[^\s#][^\n]*)+/gm;
const oneLine = (command: string) => command.replace(/\r?\n/g, (end) => ' '.repeat(end.length));

/**
 * What the commands of a script, or in a text for people, install: `pip install transformers==4.43.1`. Of a package that they ask for in several ways
 * nobody knows which was typed.
 */
function shownInstalls(text: string, file: string): Requirement[] {
  const commands = () =>
    SCRIPT.test(file) ? text.replace(FOLDED, oneLine).replace(ITEM, '$1  ') : commandsAlone(text);
  const installs = notebookInstalls(file, text) ?? shellInstalls(commands(), new Lines(text));
  const asked = installs.flatMap(({ name, specifier, open, conditional, range, builtFor, repository }) => {
    // What a branch of a script installs need not be there.
    if (conditional && SCRIPT.test(file)) return [];
    if (repository) return [{ name: normalName(name), specifier, repository, range }];
    const found = open ? undefined : parseRequirement(`${name}${specifier.replace(/#.*$/, '')}`, range);
    return found ? withinIndex(builtFor, [found]) : [];
  });
  return inOneWay(asked);
}

/** Which statement of a release counts before others: the lowest. */
export const RANKS = {
  /** What a run wrote down of itself. */
  recorded: -1,
  locked: 0,
  /** It is there, but perhaps not where the run is. */
  installed: 0.5,
  listed: 1,
  /** For one of several uses. */
  listedForUse: 1.5,
  conda: 2,
  project: 3,
  image: 4,
  shown: 6,
} as const;

/** A text that shows how the run is started, which is looked into where it does. */
export const SHOWN_INSTALLS: EnvironmentFormat = {
  names: /\.(?:md|markdown|rst|txt)$/i,
  rank: RANKS.shown,
  read: shownInstalls,
};

/** Every format, the strongest first. */
const ENVIRONMENT_FORMATS: readonly EnvironmentFormat[] = [
  { names: /^(?:uv|poetry|pdm)\.lock$/, rank: RANKS.locked, read: lockedPackages },
  { names: /^Pipfile\.lock$/, rank: RANKS.locked, read: pipfileLock },
  {
    names: /^(?:requirements|constraints)\.(?:txt|in)$|^requirements$/i,
    rank: RANKS.listed,
    read: requirementLines,
  },
  // Such as `requirements-verl.txt`.
  {
    names: /^(?:requirements|constraints)[-_.][\w.-]{0,40}\.(?:txt|in)$/i,
    rank: RANKS.listedForUse,
    read: requirementLines,
  },
  {
    names: /^(?:environment|conda)(?:[-_.][\w.-]{0,40})?\.ya?ml$/i,
    rank: RANKS.conda,
    read: condaEnvironment,
  },
  { names: /^pyproject\.toml$/, rank: RANKS.project, read: pyproject },
  { names: /^setup\.cfg$/, rank: RANKS.project, read: setupLists },
  { names: /^setup\.py$/, rank: RANKS.project, read: setupRequirements },
  {
    names: /^(?:Dockerfile(?:\.[\w-]{1,40})?|[\w-]{1,40}\.Dockerfile)$/i,
    rank: RANKS.image,
    read: dockerfile,
  },
];

/** The format of a file by its name; undefined where it states nothing about packages. */
export function environmentFormatOf(name: string): EnvironmentFormat | undefined {
  return ENVIRONMENT_FORMATS.find(({ names }) => names.test(name));
}

/** Packages that are installed in a `site-packages` folder, by the names of their metadata folders. */
export function installedPackages(names: readonly string[]): Requirement[] {
  return names.flatMap((name) => {
    const match = /^([A-Za-z0-9_.]{1,80})-(\d[\w.+]{0,60})\.dist-info$/.exec(name);
    return match?.[1] && match[2] ? [exactRequirement(match[1], match[2], lineRange(0, 0, 0))] : [];
  });
}
