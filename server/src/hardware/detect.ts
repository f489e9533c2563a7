import { execFile } from 'node:child_process';

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
    const match = /^\s*(.+?)\s*,\s*(\d+)\s*MiB\s*$/.exec(line);
    const name = match?.[1];
    if (name !== undefined) {
      cards.push({ name, totalBytes: Number(match?.[2]) * 2 ** 20 });
    }
  }
  const smallest = cards.reduce<(typeof cards)[number] | undefined>(
    (least, card) => (least === undefined || card.totalBytes < least.totalBytes ? card : least),
    undefined,
  );
  if (!smallest) {
    return undefined;
  }
  const known = findAccelerator(smallest.name);
  // A name can cover cards of several sizes (V100 with 16 and 32 GB): a known card must also agree in size.
  const agrees = known && Math.abs(known.totalBytes - smallest.totalBytes) < 0.1 * smallest.totalBytes;
  return {
    gpu: agrees ? known.name : smallest.name,
    count: cards.length,
    totalBytes: smallest.totalBytes,
  };
}

/**
 * Asks the driver which GPUs this machine has; undefined where there is none or it does not answer within two
 * seconds. Starts a program: call it only in a trusted workspace.
 */
export function detectGpus(): Promise<DetectedGpus | undefined> {
  return new Promise((resolve) => {
    execFile(
      'nvidia-smi',
      ['--query-gpu=name,memory.total', '--format=csv,noheader'],
      { timeout: 2000, windowsHide: true },
      (error, stdout) => resolve(error ? undefined : parseNvidiaSmi(stdout)),
    );
  });
}
