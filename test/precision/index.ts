import { execFile } from 'node:child_process';
import { access, readFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { type CheckReport, changesOf, findingsOf, type Repository, tableOf } from './findings';

/*
 * How many of the errors and warnings on public repositories are right. Each was read once beside its file and classed in
 * `repositories.json`; what appeared or vanished since is printed as a diff, and fails.
 */

const ROOT = process.cwd();
const CLASSED = path.join(ROOT, 'test/precision/repositories.json');
const CLI = path.join(ROOT, 'server/dist/cli.js');

/** Exit codes of `check` with a whole report: nothing wrong, errors found. A config that failed gives 2 and a report, too. */
function check(folder: string): Promise<CheckReport> {
  return new Promise((resolve, reject) => {
    const options = { cwd: folder, maxBuffer: 256 * 2 ** 20 };
    execFile(process.execPath, [CLI, 'check', '.', '--format', 'json'], options, (error, stdout, stderr) => {
      try {
        resolve(JSON.parse(stdout) as CheckReport);
      } catch {
        reject(error ?? new Error(`no report of ${folder}: ${stderr}`));
      }
    });
  });
}

const isThere = (file: string) =>
  access(file).then(
    () => true,
    () => false,
  );

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { folder: { type: 'string' } } });
  const repositories = JSON.parse(await readFile(CLASSED, 'utf8')) as readonly Repository[];
  console.log(tableOf(repositories));
  if (values.folder === undefined) {
    console.log('\nThe classed findings. --folder DIR checks clones in DIR/OWNER+NAME against them.');
    return;
  }
  let changed = 0;
  let checked = 0;
  for (const { name, findings } of repositories) {
    const clone = path.join(path.resolve(values.folder), name.replace('/', '+'));
    if (!(await isThere(clone))) {
      console.log(`\n${name}: no folder ${clone}`);
      continue;
    }
    checked++;
    const { appeared, vanished } = changesOf(findings, findingsOf(await check(clone)));
    if (appeared.length + vanished.length === 0) continue;
    changed += appeared.length + vanished.length;
    console.log(`\n${name}`);
    for (const each of vanished) {
      console.log(`- ${each.severity} ${each.path} ${each.code} ${each.hash} (${each.class})`);
    }
    for (const each of appeared) console.log(`+ ${each.severity} ${each.path} ${each.code} ${each.hash}`);
  }
  console.log(`\n${checked} of ${repositories.length} repositories checked, ${changed} findings changed.`);
  if (changed > 0 || checked === 0) process.exitCode = 1;
}

void main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
});
