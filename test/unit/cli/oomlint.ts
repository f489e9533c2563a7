import { execFileSync, spawn } from 'node:child_process';
import path from 'node:path';
import { Readable } from 'node:stream';
import { paintFor, shown } from '../../../server/src/cli/output';
import { runCli } from '../../../server/src/cli/program';
import { terminalLanguage } from '../../../server/src/cli/terminal-language';
import { speakLanguage } from '../../../server/src/wording/language';
import { inTurn } from '../../house/own-process';

/** The bundle of the command line. */
export const CLI = path.join(process.cwd(), 'server/dist/cli.js');

export interface Finished {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface Surroundings {
  /** Variables beside those of the test. */
  readonly environment?: NodeJS.ProcessEnv;
  /** Standard input. */
  readonly input?: string;
}

function environmentOf({ environment = {} }: Surroundings): NodeJS.ProcessEnv {
  return { ...process.env, FORCE_COLOR: undefined, NO_COLOR: undefined, LC_ALL: 'C', ...environment };
}

/** Runs the bundled command line as people do: a process of its own. */
export function spawned(
  args: readonly string[],
  cwd: string,
  surroundings: Surroundings = {},
): Promise<Finished> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [CLI, ...args], { cwd, env: environmentOf(surroundings) });
    let out = '';
    let err = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      out += chunk;
    });
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      err += chunk;
    });
    child.stdin.on('error', () => undefined);
    child.stdin.end(surroundings.input ?? '');
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, out, err }));
  });
}

/**
 * Runs the command line in the process of the test: the same but for the start of a process, which takes longer than most
 * commands. `test/protocol/cli-bundle.test.ts` holds it to `spawned`.
 */
export function oomlint(
  args: readonly string[],
  cwd: string,
  surroundings: Surroundings = {},
): Promise<Finished> {
  return inTurn(() => inThisProcess(args, cwd, surroundings));
}

async function inThisProcess(
  args: readonly string[],
  cwd: string,
  surroundings: Surroundings,
): Promise<Finished> {
  const folder = process.cwd();
  const { env } = process;
  const standardInput = Object.getOwnPropertyDescriptor(process, 'stdin');
  const stated = Object.entries(environmentOf(surroundings)).filter(([, value]) => value !== undefined);
  let out = '';
  let err = '';
  process.chdir(cwd);
  process.env = Object.fromEntries(stated);
  Object.defineProperty(process, 'stdin', {
    value: Readable.from([Buffer.from(surroundings.input ?? '')]),
    configurable: true,
  });
  try {
    await speakLanguage(terminalLanguage(process.env));
    const code = await runCli(args, {
      write: (text) => {
        out += shown(text);
      },
      writeError: (text) => {
        err += shown(text);
      },
      paint: paintFor(false, process.env),
      width: 100,
    });
    return { code, out, err };
  } finally {
    await speakLanguage('en');
    if (standardInput) Object.defineProperty(process, 'stdin', standardInput);
    process.env = env;
    process.chdir(folder);
  }
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
