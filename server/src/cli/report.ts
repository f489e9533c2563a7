import { pathToFileURL } from 'node:url';

import type { Problem, Severity } from '../config/node';
import type { Breakdown } from '../features/protocol';
import { pathOfUri, relativePath } from '../workspace/uri';

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
    peak: peak ?? null,
    parts: breakdown.parts,
    ranks: breakdown.ranks,
    hostBytesPerNode: breakdown.hostBytesPerNode,
    host: breakdown.host ?? null,
    compute: breakdown.compute ?? null,
    assumptions: breakdown.assumptions,
    unknown: breakdown.unknown,
    notes: breakdown.notes,
    diagnostics: breakdown.diagnostics.map((problem) => diagnosticOf(problem, folder)),
  };
}
