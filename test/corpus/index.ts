import type { Severity } from '../../server/src/text/problem';
import type { Workspace } from '../../server/src/workspace/analyze';
import { type CorpusFile, corpusFiles, corpusIsThere, DIALECTS_OF, launchScripts } from './corpus-files';
import { workspacesOf } from './corpus-workspaces';

/*
 * How much of real configs is read: per family the files, how many are recognised as theirs, read without an exception,
 * and resolved to a complete run where model, GPU and their number are given (few families name them).
 *
 * `named` are files that lack nothing but their model: it has a name that is not in the catalog, such as a fine-tune or a
 * folder on somebody's disk. `parts` are files for a library that another file completes: they say neither the batch nor
 * the length of samples. `whole` is the share of the rest that is resolved.
 */

/** Families of libraries: their files say how to train, another file or a script states what. */
const LIBRARIES: readonly string[] = ['deepspeed', 'accelerate', 'gpt-neox'];

/** Shares that the project wants of every family. */
const GOALS = { recognised: 0.99, read: 1, whole: 0.95 };

interface Result {
  readonly file: CorpusFile;
  readonly dialect?: string;
  readonly recognised: boolean;
  readonly exception?: string;
  readonly unknown: readonly { readonly field: string; readonly reason: string }[];
  readonly resolved: boolean;
  readonly named: boolean;
  readonly part: boolean;
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
  readonly milliseconds: number;
}

async function readOne(file: CorpusFile, workspace: Workspace): Promise<Result> {
  const began = performance.now();
  const analysis = await workspace.analyze(file.uri);
  const milliseconds = performance.now() - began;
  const dialect = analysis?.dialect;
  const problems = analysis?.problems ?? [];
  const of = (wanted: Severity) =>
    problems
      .filter(({ code, severity }) => severity === wanted && code !== 'does-not-fit')
      .map(({ code, message, range }) => `${range.start.line + 1}: ${code}: ${message}`);
  const unknown = analysis?.resolved.unknown ?? [];
  const resolved = analysis?.resolved.run !== undefined;
  const lacks = (test: (field: string) => boolean) =>
    !resolved && unknown.length > 0 && unknown.every(({ field }) => test(field));
  return {
    file,
    dialect: dialect?.id,
    recognised: dialect !== undefined && (DIALECTS_OF[file.family] ?? []).includes(dialect.id),
    exception: problems.find(({ code }) => code === 'internal-error')?.message,
    unknown: unknown.map(({ field, reason }) => ({ field, reason })),
    resolved,
    named: lacks((field) => field.startsWith('model.')),
    part: LIBRARIES.includes(file.family) && lacks((field) => field.startsWith('batch.')),
    errors: of('error'),
    warnings: of('warning'),
    milliseconds,
  };
}

function argument(name: string): string | undefined {
  const index = process.argv.indexOf(name);
  return index < 0 ? undefined : process.argv[index + 1];
}

interface Row {
  readonly family: string;
  readonly files: number;
  readonly recognised: number;
  readonly read: number;
  readonly resolved: number;
  readonly named: number;
  readonly parts: number;
  /** Share of the whole configs with a known model that are resolved. */
  readonly whole: number;
  readonly errors: number;
  readonly warnings: number;
  readonly 'ms/file': number;
}

function rowOf(family: string, results: readonly Result[]): Row {
  const count = (test: (result: Result) => boolean) => results.filter(test).length;
  const sum = (of: (result: Result) => number) => results.reduce((total, each) => total + of(each), 0);
  const [named, parts, resolved] = [
    count((each) => each.named),
    count((each) => each.part),
    count((each) => each.resolved),
  ];
  const wholes = results.length - named - parts;
  return {
    family,
    files: results.length,
    recognised: count((each) => each.recognised),
    read: count((each) => each.exception === undefined),
    resolved,
    named,
    parts,
    whole: wholes === 0 ? 1 : resolved / wholes,
    errors: sum((each) => each.errors.length),
    warnings: sum((each) => each.warnings.length),
    'ms/file': sum((each) => each.milliseconds) / results.length,
  };
}

const COLUMNS = [
  'files',
  'recognised',
  'read',
  'resolved',
  'named',
  'parts',
  'whole',
  'errors',
  'warnings',
  'ms/file',
] as const;

function cell(row: Row, column: (typeof COLUMNS)[number]): string {
  if (column === 'whole') return `${(row.whole * 100).toFixed(1)}%`;
  return column === 'ms/file' ? row[column].toFixed(1) : String(row[column]);
}

async function main(): Promise<void> {
  if (!corpusIsThere) {
    console.log('The corpus of real configs is not at hand: nothing to report.');
    return;
  }
  const scripts = argument('--scripts');
  const files = [...corpusFiles(), ...(scripts === undefined ? [] : launchScripts(scripts))];
  const workspaceOf = workspacesOf(files);
  const wanted = argument('--family');
  const families = Object.keys(DIALECTS_OF).filter((family) => wanted === undefined || wanted === family);
  const json = process.argv.includes('--json');
  const rows: Row[] = [];
  const all: Result[] = [];
  if (!json) console.log(['family'.padEnd(18), ...COLUMNS.map((column) => column.padStart(11))].join(''));
  for (const family of families) {
    const results: Result[] = [];
    for (const file of files.filter((each) => each.family === family))
      results.push(await readOne(file, workspaceOf(file.repository)));
    if (results.length === 0) continue;
    const row = rowOf(family, results);
    rows.push(row);
    all.push(...results);
    if (json) continue;
    console.log([family.padEnd(18), ...COLUMNS.map((column) => cell(row, column).padStart(11))].join(''));
    details(results);
  }
  if (json) {
    const shown = all.map(({ file, ...result }) => ({ family: file.family, name: file.name, ...result }));
    console.log(JSON.stringify({ goals: GOALS, families: rows, files: shown }, null, 2));
  } else summary(rows);
}

/** The goals, and the families that miss them. */
function summary(rows: readonly Row[]): void {
  const shares = (row: Row) => ({
    recognised: row.recognised / row.files,
    read: row.read / row.files,
    whole: row.whole,
  });
  console.log('');
  for (const [goal, share] of Object.entries(GOALS)) {
    const short = rows.filter((row) => shares(row)[goal as keyof typeof GOALS] < share);
    const missed = short.length === 0 ? 'every family' : `not ${short.map((row) => row.family).join(', ')}`;
    console.log(`${goal} at least ${share * 100}%: ${missed}`);
  }
}

function details(results: readonly Result[]): void {
  const asked = (name: string) => process.argv.includes(name);
  for (const result of results) {
    const { file, dialect, recognised, exception, resolved, unknown, errors, warnings } = result;
    if (asked('--misses') && exception !== undefined) console.log(`  ${file.name}: ${exception}`);
    if (asked('--misses') && !recognised) console.log(`  ${file.name}: taken for ${dialect ?? 'no config'}`);
    else if (asked('--misses') && !resolved)
      console.log(`  ${file.name}: ${unknown.map(({ field, reason }) => `${field}: ${reason}`).join('; ')}`);
    if (asked('--problems')) for (const error of errors) console.log(`  ${file.name}:${error}`);
    if (asked('--warnings')) for (const warning of warnings) console.log(`  ${file.name}:${warning}`);
  }
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
