import { rememberedOf } from '../memo/remembered';
import type { Model } from '../model/model';
import { FIELD_PATHS, type TrainingRun } from '../run/fields';
import { settingsText } from '../run/settings-text';
import { teacherForward } from './teacher';
import { cardSettings, type TracedStage, traceRun } from './traced-run';

/** Fields that a trace never depends on but through `cardSettings`: it knows one GPU's batch and weights, not who shares or steps them. */
export const ELSEWHERE =
  /^(hardware|optimizer|zero(?!\.leafModules)|fsdp|ddp|offload|allocator|schedule)\.|^quantization\.(partial|checkpointBytes|plainShare)$/;

/** Few enough that they cost little memory, enough for a search, which comes back to a batch under another sharding. */
const KEPT = 32;

/** What of a run its trace depends on. An estimate asks for the trace, and who wants to know its FLOPs asks again. */
export const traceText = settingsText(FIELD_PATHS.filter((path) => !ELSEWHERE.test(path)));
/** The rest of it. */
export const elsewhereText = settingsText(FIELD_PATHS.filter((path) => ELSEWHERE.test(path)));
const traces = rememberedOf<Model, readonly TracedStage[]>(KEPT);

/**
 * What `traceRun` gives, remembered per model for the last few settings. `free`: bytes that the first loss finds free, for those that are
 * sized by it.
 */
export function rememberedTrace(model: Model, run: TrainingRun, free?: number): readonly TracedStage[] {
  const key = `${free} ${JSON.stringify(cardSettings(run))} ${traceText(run)}`;
  const overrides = () => ({
    ...teacherForward(model, run),
    ...(free === undefined ? {} : { freeBytes: free }),
  });
  return traces.of(model, key, () => traceRun(model, run, overrides()));
}
