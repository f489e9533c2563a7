import { pathToFileURL } from 'node:url';
import type { Breakdown } from '../features/protocol';
import type { Unread } from '../run/unread';
import type { Problem, Severity } from '../text/problem';
import { pathOfUri, relativePath } from '../text/uri';
import type { OpenAnswer } from '../workspace/open-questions';

/** Raised when the shape of the JSON output changes incompatibly. */
export const SCHEMA_VERSION = 1;

/** A problem as printed: lines and columns count from 1. */
export interface Diagnostic {
  readonly code: string;
  readonly severity: Severity;
  readonly message: string;
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
  readonly related: readonly {
    readonly file: string;
    readonly line: number;
    readonly column: number;
    readonly message: string;
  }[];
  readonly source?: string;
}

/** Path of a URI as a person in the given folder would write it. */
export function displayPath(uri: string, folder: string): string {
  return relativePath(pathToFileURL(folder).href, uri) ?? pathOfUri(uri);
}

export function diagnosticOf(problem: Problem, folder: string): Diagnostic {
  const { start, end } = problem.range;
  return {
    code: problem.code,
    severity: problem.severity,
    message: problem.message,
    line: start.line + 1,
    column: start.character + 1,
    endLine: end.line + 1,
    endColumn: end.character + 1,
    related: (problem.related ?? []).map(({ uri, range, message }) => ({
      file: displayPath(uri, folder),
      line: range.start.line + 1,
      column: range.start.character + 1,
      message,
    })),
    source: problem.source,
  };
}

/** What was not understood, as printed: lines and columns count from 1. */
export function notUnderstood(unread: readonly Unread[], folder: string) {
  return unread.map(({ kind, text, message, fields, location: { uri, range } }) => ({
    kind,
    text,
    message,
    file: displayPath(uri, folder),
    line: range.start.line + 1,
    column: range.start.character + 1,
    ...(fields ? { fields } : {}),
  }));
}

/** What decides the run and nobody states. Bytes are per GPU. */
function openReport(open: readonly OpenAnswer[]) {
  return open.map(({ field, reason, otherwise, estimate }) => ({
    field,
    reason,
    otherwise: otherwise?.words ?? null,
    verdict: estimate?.verdict ?? null,
    processBytes: estimate?.processBytes ?? null,
  }));
}

/** One run of `oomlint estimate --format json`; see `schemas/estimate-output.schema.json`. Bytes are per GPU. */
export function runReport(breakdown: Breakdown, folder: string) {
  const { model, hardware, peak } = breakdown;
  return {
    file: displayPath(breakdown.file, folder),
    files: breakdown.files.map((uri) => displayPath(uri, folder)),
    dialect: breakdown.dialect,
    model: model
      ? {
          id: model.id,
          total: model.totalParameters,
          trainable: model.trainableParameters ?? null,
          active: model.activeParameters,
        }
      : null,
    hardware: hardware ?? null,
    verdict: breakdown.verdict,
    foundBatch: breakdown.foundBatch ?? null,
    peak: peak ?? null,
    parts: breakdown.parts,
    ranks: breakdown.ranks,
    hostBytesPerNode: breakdown.host?.bytesPerNode ?? 0,
    host: breakdown.host ?? null,
    compute: breakdown.compute ?? null,
    assumptions: breakdown.assumptions,
    unknown: breakdown.unknown.map(({ field, reason }) => ({ field, reason })),
    notes: breakdown.notes,
    notUnderstood: notUnderstood(breakdown.notUnderstood ?? [], folder),
    open: openReport(breakdown.open ?? []),
    diagnostics: breakdown.diagnostics.map((problem) => diagnosticOf(problem, folder)),
  };
}
