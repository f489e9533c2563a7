import { type CheckedFile, type CheckedRun, findingsOf, worstVerdict } from '../checked-file';
import { diagnosticOf, notUnderstood, SCHEMA_VERSION } from '../report';
import { counted } from './counted';
import type { FormatContext } from './format';

/** A run with its figures; bytes are per GPU. */
function runJson({ asked, verdict, gpu, gpus, peak, capacityBytes, parts, costUsd }: CheckedRun) {
  return {
    ...(asked === undefined ? {} : { asked }),
    verdict,
    gpu: gpu ?? null,
    gpus: gpus ?? null,
    capacityBytes: capacityBytes ?? null,
    peak: peak
      ? {
          processBytes: peak.processBytes,
          lowerBytes: peak.lowerBytes,
          upperBytes: peak.upperBytes,
          allocatedBytes: peak.allocatedBytes,
          reservedBytes: peak.reservedBytes,
          moment: peak.moment,
        }
      : null,
    parts: parts.map(({ category, bytes }) => ({ category, bytes })),
    costUsd: costUsd ?? null,
  };
}

/** One file of `oomlint check --format json`; see `schemas/check-output.schema.json`. */
export function fileJson(file: CheckedFile, folder: string) {
  const { path, runs, unread } = file;
  return {
    file: path,
    verdict: worstVerdict(runs),
    runs: runs.map(runJson),
    notUnderstood: notUnderstood(unread, folder),
    diagnostics: findingsOf([file]).map(({ problem, fingerprint }) => ({
      ...diagnosticOf(problem, folder),
      fingerprint,
    })),
  };
}

export function json(files: readonly CheckedFile[], { folder }: FormatContext): string {
  const report = {
    schemaVersion: SCHEMA_VERSION,
    files: files.map((file) => fileJson(file, folder)),
    ...counted(files),
  };
  return `${JSON.stringify(report, null, 2)}\n`;
}
