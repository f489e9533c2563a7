import { execFileSync, spawn } from 'node:child_process';
import path from 'node:path';

/** The bundle of the command line. */
export const CLI = path.join(process.cwd(), 'server/dist/cli.js');

export interface Finished {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs the bundled command line as people do. */
export function oomlint(
  args: readonly string[],
  cwd: string,
  { environment = {}, input = '' }: { environment?: NodeJS.ProcessEnv; input?: string } = {},
): Promise<Finished> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, FORCE_COLOR: undefined, NO_COLOR: undefined, LC_ALL: 'C', ...environment };
    const child = spawn(process.execPath, [CLI, ...args], { cwd, env });
    let out = '';
    let err = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      out += chunk;
    });
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      err += chunk;
    });
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, out, err }));
  });
}

/** Git in a folder of a test, with no settings of the machine. */
export function gitIn(folder: string, ...args: string[]): string {
  const env = {
    ...process.env,
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_SYSTEM: '/dev/null',
    GIT_AUTHOR_NAME: 'A',
    GIT_AUTHOR_EMAIL: 'a@example.org',
    GIT_COMMITTER_NAME: 'A',
    GIT_COMMITTER_EMAIL: 'a@example.org',
  };
  return execFileSync('git', ['-C', folder, ...args], { env, encoding: 'utf8' });
}
