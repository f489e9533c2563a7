import { readFile, writeFile } from 'node:fs/promises';
import { say } from '../wording/say';
import { UsageError } from '../workspace/usage-error';
import { type CheckedFile, findingsOf } from './checked-file';

const VERSION = 1;

/** Problems that are known: they are not reported until they are gone and come again. */
interface Baseline {
  readonly version: number;
  readonly findings: readonly {
    readonly fingerprint: string;
    readonly rule: string;
    readonly file: string;
  }[];
}

/** Fingerprints of a baseline; throws `UsageError` on what is none. */
export async function readBaseline(path: string): Promise<ReadonlySet<string>> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) throw new UsageError(`--baseline: ${say('{0} cannot be read.', path)}`);
  try {
    const { version, findings } = JSON.parse(text) as Baseline;
    if (version !== VERSION) throw new Error(String(version));
    return new Set(findings.map(({ fingerprint }) => fingerprint));
  } catch {
    throw new UsageError(`--baseline: ${say('{0} is no baseline of this version.', path)}`);
  }
}

/** Writes the errors and warnings that there are, in a steady order: a change of the file is a change of the problems. */
export async function writeBaseline(path: string, files: readonly CheckedFile[]): Promise<number> {
  const findings = findingsOf(files)
    .filter(({ problem: { severity } }) => severity === 'error' || severity === 'warning')
    .map(({ file, problem, fingerprint }) => ({ file: file.path, rule: problem.code, fingerprint }))
    .sort((a, b) =>
      `${a.file} ${a.rule} ${a.fingerprint}` < `${b.file} ${b.rule} ${b.fingerprint}` ? -1 : 1,
    );
  await writeFile(path, `${JSON.stringify({ version: VERSION, findings }, null, 2)}\n`);
  return findings.length;
}

/** The files without the problems of a baseline. */
export function beyondBaseline(files: readonly CheckedFile[], known: ReadonlySet<string>): CheckedFile[] {
  const fresh = findingsOf(files).filter(({ fingerprint }) => !known.has(fingerprint));
  return files.map((file) => ({
    ...file,
    problems: fresh.filter((finding) => finding.file === file).map(({ problem }) => problem),
  }));
}
