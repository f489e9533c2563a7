import published from '../../data/checkpoint-weights.json';
import { DTYPES, type DType } from '../terms/dtypes';
import { findModel } from './catalog';
import { findRepackaged } from './repackaged';

/** What a model takes where it only lies on a GPU. */
export interface CheckpointWeights {
  readonly parameters: number;
  readonly bufferBytes: number;
  /** Type of the published weights. */
  readonly dtype: DType | undefined;
  /** Its `model_type`, where it is a model of the catalog. */
  readonly modelType?: string;
  /** Its parameters are those below its head, which is small beside them. */
  readonly headless?: boolean;
}

const rows = new Map(
  published.rows.flatMap((row): [string, CheckpointWeights][] => {
    const { id, parameters } = row;
    const dtype = DTYPES.find((one) => one === row.dtype);
    const weights = { parameters, bufferBytes: row.bufferBytes ?? 0, dtype };
    return [id, ...(row.aliases ?? [])].map((name) => [name.toLowerCase(), weights]);
  }),
);

/** The weights of a checkpoint by its name: of the list of those that only lie there, or of the catalog. */
export function checkpointWeights(name: string): CheckpointWeights | undefined {
  const listed = rows.get(name.trim().toLowerCase());
  if (listed) return listed;
  const copy = findRepackaged(name);
  const model = findModel(name) ?? (copy && Object.keys(copy.values).length === 0 ? copy.model : undefined);
  if (!model) return undefined;
  return {
    parameters: model.parameters.total,
    bufferBytes: 0,
    dtype: model.publishedDtype,
    modelType: model.modelType,
    headless: model.counted !== undefined,
  };
}
