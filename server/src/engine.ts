/**
 * Oomlint as a library: parse a training config, join it with what is known around it, estimate what one GPU holds at
 * the worst moment of a step. No editor, no network, nothing written.
 */

export { type Fix, fixesFor } from './advice/fixes';
export { type Option, search, searched } from './advice/search';
export { type WhatIf, whatIf } from './advice/what-if';
export type { ConfigDocument, ConfigNode } from './config/node';
export { parseConfig } from './config/parse';
export type { Dialect, KeySpec } from './dialects/dialect';
export { DIALECTS, detectDialect } from './dialects/registry';
export { type EstimateInput, estimate } from './estimate';
export { breakdownOf } from './features/breakdown';
export type { Accelerator } from './hardware/accelerator';
export { acceleratorNames, findAccelerator, matchAccelerator } from './hardware/catalog';
export { findModel, modelFromConfig, modelNames } from './model/catalog';
export type { Model, ModelConfig } from './model/model';
export type {
  Category,
  Estimate,
  Part,
  Peak,
  Sample,
  Verdict,
} from './results/estimate';
export { FIELDS, type FieldPath, type RunValues, type TrainingRun } from './run/fields';
export { type Fact, fact, type Origin } from './run/origin';
export { findField, parseFact, parseField } from './run/parse-field';
export { resolveRun } from './run/resolve';
export type { ResolvedRun } from './run/resolved-run';
export type { Problem, Severity } from './text/problem';
export type { Analysis } from './workspace/analysis';
export { Workspace, type WorkspaceOptions } from './workspace/analyze';
export { DiskHost } from './workspace/disk-host';
export type { Host } from './workspace/host';
export { MemoryHost } from './workspace/memory-host';
