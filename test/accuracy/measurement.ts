import { readFileSync } from 'node:fs';
import { estimate, rankFigures } from '../../server/src/estimate';
import type { Accelerator } from '../../server/src/hardware/accelerator';
import { findAccelerator } from '../../server/src/hardware/catalog';
import { findModel, modelFromConfig } from '../../server/src/model/catalog';
import type { Model } from '../../server/src/model/model';
import { findRepackaged } from '../../server/src/model/repackaged';
import type { Estimate } from '../../server/src/results/estimate';
import type { RunValues } from '../../server/src/run/fields';
import { complete, type Expression } from './express';

/** A published measurement with its run in Oomlint's own fields; `measurements.jsonl` has one a line. */
export interface Measurement {
  readonly id: string;
  /** Whose code ran. */
  readonly framework: string;
  /** How it was trained: `full`, `lora`, `qlora`. */
  readonly method: string;
  /** Where it is published. */
  readonly source: string;
  /** Which meter: `allocated`, `reserved`, `process` (nvidia-smi), `nvml` (what is used of the card), or what the source calls it. */
  readonly what: string;
  /** Whose figure it is where GPUs differ: that of the last rank, on the last pipeline stage. Absent: of the fullest. */
  readonly rank?: 'last';
  /** Bytes of one GPU; absent where the run ended out of memory, or nobody states it. */
  readonly measuredBytes?: number;
  /** Weights that the run itself printed as trained. */
  readonly trainedWeights?: number;
  readonly outOfMemory?: boolean;
  /** Why the published figure cannot be that of the stated run; its verdict is then no question. */
  readonly doubtful?: string;
  /** What of the run the estimate is known not to meet, and why; the row is then not scored. */
  readonly unmet?: string;
  /** Where the lengths of the data come from, where the run's own source does not publish them. */
  readonly lengths?: string;
  /** Every setting that decides memory is published: the row counts. */
  readonly scored: boolean;
  readonly tokensPerSecondPerGpu?: number;
  /** Fields that are stated; the others have the defaults of the vocabulary. Absent where the run cannot be expressed. */
  readonly run?: RunValues;
  /** Fields of `config.json` where the model is none of the catalog's. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** What keeps the run from being expressed. */
  readonly notExpressed?: string;
}

export function readMeasurements(file: string): Measurement[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Measurement);
}

/**
 * Bytes that the run itself took. `nvmlDeviceGetMemoryInfo` counts what the driver sets aside of the card as used, which `nvidia-smi` and the
 * card's size as PyTorch has it leave out (NVML API reference, `nvmlMemory_t`: "sum of reserved and allocated device memory").
 */
export function measuredOf(
  { what, measuredBytes }: Pick<Measurement, 'what' | 'measuredBytes'>,
  { totalBytes, usableBytes }: Pick<Accelerator, 'totalBytes' | 'usableBytes'>,
): number | undefined {
  if (what !== 'nvml' || measuredBytes === undefined) return measuredBytes;
  return measuredBytes - (totalBytes - usableBytes);
}

/** The run of a measurement as the engine takes it, or why there is none. */
export function inputOf({
  id,
  run,
  config,
  notExpressed,
}: Pick<Measurement, 'id' | 'run' | 'config' | 'notExpressed'>): Expression {
  if (!run) return { error: notExpressed ?? 'the run is not stated' };
  const model = modelOf(run, config);
  const accelerator = findAccelerator(run['hardware.gpu'] ?? '');
  if (!model || 'error' in model) return { error: model?.error ?? `${id}: the model is not known` };
  if (!accelerator) return { error: `${id}: the GPU is not known` };
  return { run: complete(run), values: run, model, accelerator };
}

function modelOf(
  run: RunValues,
  config: Measurement['config'],
): Model | { readonly error: string } | undefined {
  const name = run['model.id'] ?? '';
  if (config) return modelFromConfig(config, name, 'inline');
  return findModel(name) ?? findRepackaged(name)?.model;
}

/** The estimate of a row, with the figures of the GPU that was measured. */
export function estimateOf(
  { rank }: Measurement,
  input: Exclude<Expression, { readonly error: string }>,
): Estimate {
  const found = estimate(input);
  const last = rank === 'last' && input.run['parallel.pipeline'] > 1 ? rankFigures(input).at(-1) : undefined;
  if (!last) return found;
  const { allocatedBytes, processBytes } = last;
  const outside = found.peak.processBytes - found.peak.reservedBytes;
  return {
    ...found,
    peak: { ...found.peak, allocatedBytes, processBytes, reservedBytes: processBytes - outside },
  };
}
