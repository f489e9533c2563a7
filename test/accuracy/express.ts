import type { EstimateInput } from '../../server/src/estimate';
import { FIELDS, type RunValues, type TrainingRun } from '../../server/src/run/fields';
import { accelerator, allocator, memory } from './express-hardware';
import { modelOf } from './express-model';
import { parallelism } from './express-parallel';
import { precision } from './express-precision';
import { adapters, training } from './express-training';
import { type MeasuredRow, NotExpressed } from './row';
import { bitsandbytesVersion, torchVersion, transformersVersion } from './versions';

/** A row in Oomlint's vocabulary, or why it cannot be expressed in it. */
export type Expression = (EstimateInput & { readonly values: RunValues }) | { readonly error: string };

/** Reads a row's free text by its meaning. Whatever is missing or has no word makes an error, never a guess. */
export function express(row: MeasuredRow): Expression {
  try {
    const model = modelOf(row);
    const card = accelerator(row);
    const values: RunValues = {
      'model.id': model.id,
      'hardware.gpu': card.name,
      'hardware.gpus': row.num_gpus ?? 1,
      'hardware.nodes': row.nodes ?? 1,
      ...versions(row),
      ...memory(row, card),
      ...allocator(row),
      ...training(row, model),
      ...adapters(row, model),
      ...precision(row),
      ...parallelism(row),
    };
    return { run: complete(values), values, model, accelerator: card };
  } catch (error) {
    if (error instanceof NotExpressed) return { error: error.message };
    throw error;
  }
}

function versions(row: MeasuredRow): RunValues {
  const torch = torchVersion(row);
  const transformers = transformersVersion(row);
  const bitsandbytes = bitsandbytesVersion(row);
  return {
    ...(torch ? { 'version.torch': torch } : {}),
    ...(transformers ? { 'version.transformers': transformers } : {}),
    ...(bitsandbytes ? { 'version.bitsandbytes': bitsandbytes } : {}),
  };
}

/** The values on top of the vocabulary's defaults. */
export function complete(values: RunValues): TrainingRun {
  const defaults = Object.fromEntries(
    Object.entries(FIELDS).flatMap(([path, spec]) => ('default' in spec ? [[path, spec.default]] : [])),
  );
  return { ...defaults, ...values } as TrainingRun;
}
