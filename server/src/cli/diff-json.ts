import type { Paint } from './output';
import { diagnosticOf, displayPath, SCHEMA_VERSION } from './report';
import type { RunDiff, TreeDiff } from './run-diff';

/** What the reports of a difference ask for besides it. */
export interface DiffContext {
  /** Folder that paths are relative to. */
  readonly folder: string;
  /** Full names of commits; no head: the files on the disk. No base: those files as they are, before `versions`. */
  readonly base?: string;
  readonly head?: string;
  /** Versions of packages that the files are held to, by package. */
  readonly versions?: Readonly<Record<string, string>>;
  /** When the head was committed, or now, in ISO 8601 and UTC: later ones sort behind. */
  readonly at: string;
  readonly tag: string;
  readonly paint: Paint;
}

function side(run: RunDiff['before']) {
  if (!run) return null;
  const { verdict, gpu, gpus, capacityBytes, peak, stepSeconds, stepSpread, costUsd, costSpread } = run;
  return {
    verdict,
    gpu: gpu ?? null,
    gpus: gpus ?? null,
    capacityBytes: capacityBytes ?? null,
    processBytes: peak?.processBytes ?? null,
    lowerBytes: peak?.lowerBytes ?? null,
    upperBytes: peak?.upperBytes ?? null,
    stepSeconds: stepSeconds ?? null,
    lowerStepSeconds: stepSpread?.low ?? null,
    upperStepSeconds: stepSpread?.high ?? null,
    costUsd: costUsd ?? null,
    lowerCostUsd: costSpread?.low ?? null,
    upperCostUsd: costSpread?.high ?? null,
  };
}

/** `oomlint diff --format json`; see `schemas/diff-output.schema.json`. Bytes are per GPU. */
export function diffJson(
  { runs, equal, unknown }: TreeDiff,
  { folder, base, head, versions }: DiffContext,
): string {
  const report = {
    schemaVersion: SCHEMA_VERSION,
    base: base ?? null,
    head: head ?? null,
    ...(versions ? { versions } : {}),
    runs: runs.map((run) => ({
      kind: run.kind,
      file: displayPath(run.uri, folder),
      from: run.from === undefined ? null : displayPath(run.from, folder),
      before: side(run.before),
      after: side(run.after),
      parts: run.parts,
      causes: run.causes.map(({ fields, before, after, bytes, seconds, key, assumed }) => ({
        fields,
        before,
        after,
        bytes,
        seconds: seconds ?? null,
        assumed,
        key: key ? { name: key.name, file: displayPath(key.uri, folder), line: key.line } : null,
      })),
      newProblems: run.newProblems.map((problem) => diagnosticOf(problem, folder)),
      goneProblems: run.goneProblems.map((problem) => diagnosticOf(problem, folder)),
    })),
    equal,
    unknown,
  };
  return `${JSON.stringify(report, null, 2)}\n`;
}
