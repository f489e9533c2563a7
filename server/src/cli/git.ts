import { spawn } from 'node:child_process';
import path from 'node:path';
import { say } from '../wording/say';
import { UsageError } from '../workspace/usage-error';

/** The most that git may print. Bytes. */
const MOST_OUTPUT = 2 ** 28;

/** What git prints in a folder; throws `UsageError` with its words where it fails. No shell takes part. */
export function git(folder: string, args: readonly string[], input?: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const child = spawn('git', ['-C', folder, ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
    const out: Buffer[] = [];
    let size = 0;
    let error = '';
    child.stdout.on('data', (data: Buffer) => {
      size += data.length;
      if (size > MOST_OUTPUT) child.kill();
      else out.push(data);
    });
    child.stderr.on('data', (data: Buffer) => {
      error = (error + String(data)).slice(0, 2000);
    });
    child.on('error', () => reject(new UsageError(say('git cannot be run.'))));
    child.on('close', (code) => {
      if (code === 0) resolve(Buffer.concat(out));
      else reject(new UsageError(['git', error.trim() || String(code)].join(': ')));
    });
    // It may end before it has read what it is given.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });
}

/** Throws `UsageError` where a name could be taken for an option of git. */
export function revision(name: string): string {
  if (name.startsWith('-') || name === '') throw new UsageError(say('"{0}" is no commit.', name));
  return name;
}

/** Root of the repository that a folder lies in. */
export async function repositoryOf(folder: string): Promise<string> {
  return String(await git(folder, ['rev-parse', '--show-toplevel'])).replace(/\r?\n$/, '');
}

/** Paths of files that differ from a commit, and of those that are new; without one, from the last commit. */
export async function filesSince(folder: string, since: string | undefined): Promise<ReadonlySet<string>> {
  const root = await repositoryOf(folder);
  // A branch that went on since is not what changed here.
  const base =
    since === undefined
      ? 'HEAD'
      : String(
          await git(root, ['merge-base', revision(since), 'HEAD']).catch(() => Buffer.from(since)),
        ).trim();
  const differing = await git(root, ['diff', '--name-only', '-z', base, '--']);
  const fresh = await git(root, ['ls-files', '--others', '--exclude-standard', '-z']);
  const names = `${differing}${fresh}`.split('\0').filter((name) => name !== '');
  return new Set(names.map((name) => path.join(root, name)));
}
