/** What the server and the sides that show its answers say to each other: requests, their plain data, and figures. Part of the door through which the client sees the engine. */

export type { Option } from '../advice/search';
export {
  APPLY_REQUEST,
  type Applied,
  type ApplyParams,
  FIXES_REQUEST,
  type FileChange,
  type FixCard,
  type FixCards,
  type FixesParams,
  PLAN_REQUEST,
  type Planned,
  type PlanParams,
  WRITE_RUN_COMMAND,
  type WriteRunArguments,
} from '../features/advice-protocol';
export { TOOL_REQUEST, type ToolAnswer, type ToolParams } from '../features/agent-protocol';
export { CATALOG_REQUEST, type Catalog, type CatalogParams } from '../features/catalog-protocol';
export {
  COMPARE_RUN_COMMAND,
  LEARN_COMMAND,
  LEARN_REQUEST,
  type Learned,
  type LearnParams,
  MEASURED_PROGRESS,
  MEASURED_REQUEST,
  type MeasuredAnswer,
  type MeasuredArguments,
  type MeasuredBeside,
  type MeasuredParams,
  type MeasuredProgress,
} from '../features/measured-protocol';
export type { Compared } from '../features/measured-run';
export type { MeasuredTimeline } from '../features/measured-timeline';
export { NOTE_REQUEST, type NoteParams } from '../features/note-protocol';
export {
  EXPLAIN_OOM_COMMAND,
  EXPLAIN_OOM_REQUEST,
  type ExplainedOom,
  type ExplainOomArguments,
  type OomCard,
  type OomParams,
  type OomRelief,
} from '../features/oom-protocol';
export {
  BREAKDOWN_REQUEST,
  type Breakdown,
  type BreakdownParams,
  type CausingKey,
  CHANGE_COST_REQUEST,
  type ChangeCost,
  type ChangeCostParams,
  COMPARE_REQUEST,
  type CompareParams,
  type Comparison,
  type CostAtKey,
  DETAIL_REQUEST,
  type DetailParams,
  type Difference,
  ESTIMATE_COMMAND,
  type EstimateArguments,
  type InitializationOptions,
  type JudgedLens,
  KNOBS,
  type Knob,
  type KnobId,
  type NumberKnob,
  type Opened,
  type RankFigures,
  STATUS_NOTIFICATION,
  type StatusParams,
  SUPPLY_COMMAND,
  type SupplyArguments,
  TRY_REQUEST,
  type Tried,
  type TryParams,
  type Turned,
} from '../features/protocol';
export {
  type Found,
  SEARCH_REQUEST,
  type SearchParams,
  WHAT_FITS_COMMAND,
} from '../features/search-protocol';
export {
  CHOOSE_RUN_COMMAND,
  CHOSEN_RUN_NOTIFICATION,
  type ChosenRunParams,
  CONFIGS_REQUEST,
  type ConfigsParams,
  FAMILY_NOTIFICATION,
  type FamilyParams,
  FILES_REQUEST,
  type FilesAnswer,
  type FilesParams,
  type FolderNames,
  GRAMMAR_REQUEST,
  type GrammarParams,
  type KnownConfig,
  type KnownConfigs,
  RUNS_REQUEST,
  type Runs,
  type RunsParams,
  SCHEMA_REQUEST,
  SCHEMAS_NOTIFICATION,
  type SchemaParams,
  type SchemasParams,
  TEXTS_REQUEST,
  type TextsParams,
  type WorkspaceOptionsOfClient,
} from '../features/workspace-protocol';
export type { DetailNode } from '../results/detail-node';
export {
  CATEGORIES,
  type Category,
  type ComputeEstimate,
  type Moment,
  type Part,
  type RatedSeconds,
  type Sample,
} from '../results/estimate';
export type { RunOption } from '../workspace/analysis';
