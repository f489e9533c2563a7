import { express } from './express';
import { inputOf, type Measurement } from './measurement';
import type { MeasuredRow } from './row';
import type { ThroughputRow } from './throughput-rows';

/** What a row of the measurements states about speed; each source has its own unit. */
type Published = Readonly<Record<string, unknown>>;

/** Steps, samples or tokens per second as tokens per second and GPU, of a run whose samples are all of one length. */
function rateOf(
  published: Published,
  tokensPerMicroBatch: number,
  samples: number,
  accumulation: number,
  gpus: number,
): number | undefined {
  const value = (key: string) => {
    const number = Number(published[key]);
    return number > 0 ? number : undefined;
  };
  const perIteration = value('s_per_iter');
  if (perIteration !== undefined) return (tokensPerMicroBatch * accumulation) / perIteration;
  const minutes = value('min_per_1k_iterations');
  if (minutes !== undefined) return (1000 * tokensPerMicroBatch) / (60 * minutes);
  const seconds = value('s_total_1024_samples');
  const samplesPerSecond = seconds === undefined ? value('samples_per_s') : 1024 / seconds;
  if (samplesPerSecond !== undefined) return ((tokensPerMicroBatch / samples) * samplesPerSecond) / gpus;
  return value('tokens_per_s_per_gpu') ?? value('tokens_per_s');
}

/**
 * Throughput of a measured row. None of rows whose samples differ in length, as nobody states how many tokens they hold, and of
 * those of kernels that the vocabulary does not know (Unsloth).
 */
export function throughputOf(
  row: MeasuredRow & { readonly throughput?: unknown },
): ThroughputRow | undefined {
  const { throughput } = row;
  if (typeof throughput !== 'object' || throughput === null || /unsloth/i.test(row.framework))
    return undefined;
  const input = express(row);
  if ('error' in input || input.run['batch.varied']) return undefined;
  // Of packed samples nobody states whether one is what was packed or what came out.
  if (input.run['batch.packed'] && 'samples_per_s' in throughput) return undefined;
  const { run } = input;
  const samples = run['batch.micro'];
  const tokensPerSecondPerGpu = rateOf(
    throughput as Published,
    samples * run['batch.sequence'],
    samples,
    run['batch.accumulation'],
    run['hardware.gpus'],
  );
  if (tokensPerSecondPerGpu === undefined) return undefined;
  const name = `${row.id} ${JSON.stringify(throughput)}`;
  return { source: row.framework, name, input, tokensPerSecondPerGpu };
}

export function measuredThroughput(rows: readonly MeasuredRow[]): ThroughputRow[] {
  return rows.flatMap((row) => throughputOf(row) ?? []);
}

/** The same of measurements in the vocabulary's own fields. */
export function throughputsOf(measurements: readonly Measurement[]): ThroughputRow[] {
  return measurements.flatMap((measurement) => {
    const { id, framework, tokensPerSecondPerGpu } = measurement;
    const input = inputOf(measurement);
    return tokensPerSecondPerGpu === undefined || 'error' in input
      ? []
      : [{ source: framework, name: id, input, tokensPerSecondPerGpu }];
  });
}
