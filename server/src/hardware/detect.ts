import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';

import { findAccelerator } from './catalog';

/** GPUs of this machine, as its driver names them. */
export interface DetectedGpus {
  /** Catalog name where the card is known, else the driver's name. */
  readonly gpu: string;
  readonly count: number;
  /** Total memory of one card in bytes, as nvidia-smi reports it. */
  readonly totalBytes: number;
}

/**
 * Reads `nvidia-smi --query-gpu=name,memory.total --format=csv,noheader`. Where cards differ, the kind with the
 * least memory counts: a run over all of them must fit it. Undefined where no line can be read.
 */
export function parseNvidiaSmi(output: string): DetectedGpus | undefined {
  const cards: { name: string; totalBytes: number }[] = [];
  for (const line of output.split(/\r?\n/)) {
    const comma = line.lastIndexOf(',');
    const name = line.slice(0, Math.max(0, comma)).trim();
    const size = /^(\d{1,9})\s*MiB$/.exec(line.slice(comma + 1).trim())?.[1];
    if (name !== '' && size !== undefined) cards.push({ name, totalBytes: Number(size) * 2 ** 20 });
  }
  const smallest = cards.reduce<(typeof cards)[number] | undefined>(
    (least, card) => (least === undefined || card.totalBytes < least.totalBytes ? card : least),
    undefined,
  );
  if (!smallest) {
    return undefined;
  }
  // A name can cover cards of several sizes (V100 with 16 and 32 GB): a known card must also agree in size.
  const size = `${Math.round(smallest.totalBytes / 2 ** 30)}GB`;
  const known = [smallest.name, `${smallest.name} ${size}`]
    .map(findAccelerator)
    .find((card) => card && Math.abs(card.totalBytes - smallest.totalBytes) < 0.1 * smallest.totalBytes);
  return {
    gpu: known ? known.name : smallest.name,
    count: cards.length,
    totalBytes: smallest.totalBytes,
  };
}

/** How long the driver may take to answer. Milliseconds. */
const PATIENCE = 2000;

/**
 * The driver's own program by its full path, where `PATH` has one: a bare name would be looked for in the current folder
 * first on Windows, and that may be anybody's repository.
 */
function findProgram(environment: NodeJS.ProcessEnv, platform: NodeJS.Platform): string | undefined {
  const name = platform === 'win32' ? 'nvidia-smi.exe' : 'nvidia-smi';
  const value = environment.PATH ?? environment.Path ?? '';
  const folders = value.split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  return folders.map((folder) => path.join(folder, name)).find((file) => existsSync(file));
}

/**
 * Asks the driver which GPUs this machine has; undefined where there is none or it does not answer within two
 * seconds. A driver that hangs never ends, not even when it is killed: nobody waits for its end. Starts a program: call it
 * only in a trusted workspace.
 */
export function detectGpus(environment: NodeJS.ProcessEnv = process.env): Promise<DetectedGpus | undefined> {
  const program = findProgram(environment, process.platform);
  if (program === undefined) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const child = execFile(
      program,
      ['--query-gpu=name,memory.total', '--format=csv,noheader'],
      { windowsHide: true, cwd: path.dirname(program), maxBuffer: 2 ** 20, env: environment },
      (error, stdout) => {
        clearTimeout(timer);
        resolve(error ? undefined : parseNvidiaSmi(stdout));
      },
    );
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      // A process that cannot be killed keeps neither its pipes nor us.
      child.stdout?.destroy();
      child.stderr?.destroy();
      child.unref();
      resolve(undefined);
    }, PATIENCE);
  });
}
