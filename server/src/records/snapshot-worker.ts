import { closeSync, openSync, readSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import type { ReadBytes } from '../measured/byte-stream';
import { readSnapshot } from '../measured/memory-snapshot';
import { speakLanguage } from '../wording/language';
import type { SnapshotReport, SnapshotTask } from './snapshot-file';

/** A thread of its own that reads one snapshot: whoever asked stays free, and may end it in the middle. */

/** Bytes between two words of how far it is. */
const TELLS = 4 * 2 ** 20;

function report(report: SnapshotReport): void {
  parentPort?.postMessage(report);
}

async function run({ file, language }: SnapshotTask): Promise<void> {
  await speakLanguage(language);
  const handle = openSync(file, 'r');
  let reported = 0;
  const read: ReadBytes = (position, length) => {
    const bytes = Buffer.allocUnsafe(length);
    let have = 0;
    while (have < length) {
      const got = readSync(handle, bytes, have, length - have, position + have);
      if (got === 0) break;
      have += got;
    }
    if (position - reported >= TELLS) {
      reported = position;
      report({ kind: 'progress', bytes: position });
    }
    return bytes.subarray(0, have);
  };
  try {
    report({ kind: 'done', snapshots: readSnapshot(read) });
  } finally {
    closeSync(handle);
  }
}

run(workerData as SnapshotTask).catch((error: unknown) =>
  report({ kind: 'failed', reason: error instanceof Error ? error.message : String(error) }),
);
