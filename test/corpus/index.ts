import { parseConfig } from '../../server/src/config/parse';
import { detectDialect, mightBeTrainingConfig } from '../../server/src/dialects/registry';
import type { RunValues } from '../../server/src/run/fields';
import { Workspace } from '../../server/src/workspace/analyze';
import { MemoryHost } from '../../server/src/workspace/memory-host';
import { type CorpusFile, corpusFiles, corpusIsThere, DIALECTS_OF, launchScripts } from './corpus-files';

/*
 * How much of real configs is read: per family the files, how many are recognised as theirs, read without an exception,
 * and resolved to a complete run where model, GPU and their number are given (few families name them).
 */

/** What a person would say once for a workspace. */
const SUPPLIED: RunValues = {
  'model.id': 'meta-llama/Llama-3.1-8B',
  'hardware.gpu': 'H100-SXM5-80GB',
  'hardware.gpus': 8,
};

interface Result {
  readonly file: CorpusFile;
  readonly dialect?: string;
  readonly recognised: boolean;
  readonly exception?: string;
  readonly unknown: readonly string[];
  readonly resolved: boolean;
  readonly errors: readonly string[];
  readonly others: number;
  readonly milliseconds: number;
}

async function readOne(file: CorpusFile, workspace: Workspace): Promise<Result> {
  const began = performance.now();
  const name = file.uri.split('/').at(-1) ?? '';
  const dialect = mightBeTrainingConfig(file.text, name)
    ? detectDialect(parseConfig(file.uri, file.text))
    : undefined;
  const recognised = dialect !== undefined && (DIALECTS_OF[file.family] ?? []).includes(dialect.id);
  const analysis = await workspace.analyze(file.uri);
  const milliseconds = performance.now() - began;
  const problems = analysis?.problems ?? [];
  const own = problems.filter(({ code }) => code !== 'does-not-fit');
  return {
    file,
    dialect: dialect?.id,
    recognised,
    exception: problems.find(({ code }) => code === 'internal-error')?.message,
    unknown: analysis?.resolved.unknown.map(({ field, reason }) => `${field}: ${reason}`) ?? [],
    resolved: analysis?.resolved.run !== undefined,
    errors: own
      .filter(({ severity }) => severity === 'error')
      .map(({ code, message, range }) => `${range.start.line + 1}: ${code}: ${message}`),
    others: own.filter(({ severity }) => severity === 'warning').length,
    milliseconds,
  };
}

function argument(name: string): string | undefined {
  const index = process.argv.indexOf(name);
  return index < 0 ? undefined : process.argv[index + 1];
}

async function main(): Promise<void> {
  if (!corpusIsThere) {
    console.log('The corpus of real configs is not at hand: nothing to report.');
    return;
  }
  const scripts = argument('--scripts');
  const files = [...corpusFiles(), ...(scripts === undefined ? [] : launchScripts(scripts))];
  const host = new MemoryHost(Object.fromEntries(files.map((file) => [file.uri, file.text])), {
    folders: [...new Set(files.map((file) => `file:///${file.repository}`))],
  });
  const workspace = new Workspace(host, { settings: () => SUPPLIED });
  const wanted = argument('--family');
  const columns = ['files', 'recognised', 'read', 'resolved', 'errors', 'warnings', 'ms/file'];
  console.log(['family'.padEnd(18), ...columns.map((column) => column.padStart(11))].join(''));
  for (const family of Object.keys(DIALECTS_OF)) {
    if (wanted !== undefined && wanted !== family) continue;
    const results: Result[] = [];
    for (const file of files.filter((each) => each.family === family))
      results.push(await readOne(file, workspace));
    if (results.length === 0) continue;
    const count = (test: (result: Result) => boolean) => results.filter(test).length;
    const numbers = [
      results.length,
      count((result) => result.recognised),
      count((result) => result.exception === undefined),
      count((result) => result.resolved),
      results.reduce((sum, result) => sum + result.errors.length, 0),
      results.reduce((sum, result) => sum + result.others, 0),
    ];
    const time = results.reduce((sum, result) => sum + result.milliseconds, 0) / results.length;
    console.log(
      [family.padEnd(18), ...numbers.map((n) => String(n).padStart(11)), time.toFixed(1).padStart(11)].join(
        '',
      ),
    );
    details(results);
  }
}

function details(results: readonly Result[]): void {
  const misses = process.argv.includes('--misses');
  const problems = process.argv.includes('--problems');
  for (const result of results) {
    const { file, dialect, recognised, exception, resolved, unknown, errors } = result;
    if (misses && exception !== undefined) console.log(`  ${file.name}: ${exception}`);
    if (misses && !recognised) console.log(`  ${file.name}: taken for ${dialect ?? 'no config'}`);
    else if (misses && !resolved) console.log(`  ${file.name}: ${unknown.join('; ')}`);
    if (problems) for (const error of errors) console.log(`  ${file.name}:${error}`);
  }
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
