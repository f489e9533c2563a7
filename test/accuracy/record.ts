import { writeFileSync } from 'node:fs';
import { findModel } from '../../server/src/model/catalog';
import { findRepackaged } from '../../server/src/model/repackaged';
import { express } from './express';
import { throughputOf } from './measured-throughput';
import type { Measurement } from './measurement';
import type { MeasuredRow } from './row';
import { kindOf } from './score';

/** A row of free text in the fields of the vocabulary: figures, settings and where they are published, no words of others. */
export function measurementOf(row: MeasuredRow): Measurement {
  const expressed = express(row);
  const shared = {
    id: row.id,
    framework: row.framework,
    method: row.method,
    source: row.source ?? '',
    what: kindOf(row.what) ?? 'not said',
    ...(row.measured_bytes ? { measuredBytes: row.measured_bytes } : {}),
    ...(row.oom ? { outOfMemory: true } : {}),
    scored: row.use_for_scoring !== false,
  };
  if ('error' in expressed) return { ...shared, notExpressed: expressed.error };
  const { values, model } = expressed;
  const known = findModel(model.id) ?? findRepackaged(model.id)?.model;
  const rate = throughputOf(row)?.tokensPerSecondPerGpu;
  return {
    ...shared,
    ...(rate === undefined ? {} : { tokensPerSecondPerGpu: rate }),
    run: values,
    ...(known && JSON.stringify(known.config) === JSON.stringify(model.config)
      ? {}
      : { config: model.config }),
  };
}

export function writeMeasurements(file: string, rows: readonly MeasuredRow[]): void {
  writeFileSync(file, rows.map((row) => `${JSON.stringify(measurementOf(row))}\n`).join(''));
}
