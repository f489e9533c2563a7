import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { RunValues } from '../../server/src/run/fields';
import type { Expression } from './express';
import { writeFunctionalTests } from './functional-tests';
import { throughputsOf } from './measured-throughput';
import { estimateOf, inputOf, type Measurement, measuredOf, readMeasurements } from './measurement';
import { ordersReport } from './orders';
import { measurementOf, writeMeasurements } from './record';
import { coverage, misses, namedTable, table } from './report';
import type { MeasuredRow } from './row';
import { type Bounds, type EstimateLine, type Scored, score } from './score';
import { throughputRows } from './throughput-rows';
import { timeReport } from './time';
import { boundsOf, type Estimated, verdictReport } from './verdicts';

/** Published measurements. The bundle lies two folders below the root of the repository. */
const MEASUREMENTS = path.resolve(__dirname, '../../test/accuracy/measurements.jsonl');

/** More published throughputs, in tables of a text that is kept beside the repository. */
const THROUGHPUT = path.resolve(__dirname, '../../../shared/facts/THROUGHPUT.md');

interface Options {
  /** Rows of free text to be scored in the place of the repository's measurements. */
  readonly rows?: string;
  /** File that the rows are written to in the vocabulary's own fields. */
  readonly record?: string;
  readonly estimates?: string;
  readonly misses: boolean;
  /** Checkout of Megatron-LM whose functional tests are recorded, and its commit. */
  readonly megatron?: string;
  readonly commit?: string;
  /** Throughput and not memory. */
  readonly time: boolean;
  /** Rows of varied lengths, with their data in other orders. */
  readonly orders: boolean;
}

function options(args: readonly string[]): Options {
  const after = (flag: string): string | undefined => {
    const at = args.indexOf(flag);
    return at < 0 ? undefined : args[at + 1];
  };
  return {
    rows: after('--rows'),
    record: after('--record'),
    estimates: after('--estimates'),
    misses: args.includes('--misses'),
    megatron: after('--megatron'),
    commit: after('--commit'),
    time: args.includes('--time'),
    orders: args.includes('--orders'),
  };
}

function readRows(text: string): MeasuredRow[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as MeasuredRow);
}

/** An estimate of a row as it is written out, and what verdict and bands are read off. */
interface RowEstimate {
  readonly line: EstimateLine;
  readonly bounds?: Bounds;
  readonly row?: Estimated;
}

function estimated(measurement: Measurement): RowEstimate {
  const { id } = measurement;
  try {
    const input: Expression = inputOf(measurement);
    if ('error' in input) return { line: { id, error: input.error } };
    const row = { measurement, input, estimate: estimateOf(measurement, input) };
    const { peak } = row.estimate;
    const line = {
      id,
      allocated_bytes: peak.allocatedBytes,
      reserved_bytes: peak.reservedBytes,
      process_bytes: peak.processBytes,
    };
    return { line, bounds: boundsOf(row), row };
  } catch (error) {
    // A row of another shape than the others: it costs itself and not the file.
    return { line: { id, error: `the row cannot be estimated: ${String(error)}` } };
  }
}

type Result = RowEstimate & { readonly measurement: Measurement };

function scoreOf({ measurement, line, bounds, row }: Result): Scored | undefined {
  const { id, framework, method, what, measuredBytes, outOfMemory } = measurement;
  const measured = row ? measuredOf(measurement, row.input.accelerator) : measuredBytes;
  return score({ id, framework, method, what, measured_bytes: measured, oom: outOfMemory }, line, bounds);
}

/** Peaks that notebooks saved beside their run: not all of their settings are published, so that they stand by themselves. */
function savedPeaks(results: readonly Result[]): string {
  const kinds: readonly (readonly [string, (run: RunValues, measurement: Measurement) => boolean])[] = [
    ['lengths published', (_, { lengths }) => lengths !== undefined],
    ['lengths as the trainer keeps', (_, { lengths }) => lengths === undefined],
    ['QLoRA', (_, { method }) => method === 'qlora'],
    ['LoRA', (_, { method }) => method === 'lora'],
    ['images', (_, { id }) => id.endsWith('-vision')],
    ['texts', (_, { id }) => !id.endsWith('-vision')],
    ['T4', (run) => run['hardware.gpu'] === 'T4'],
    ['L4, A10G, A100', (run) => run['hardware.gpu'] !== 'T4'],
    ['all', () => true],
  ];
  const saved = results.filter(({ measurement }) => isSaved(measurement));
  return namedTable(
    "peaks that Unsloth's notebooks saved",
    kinds.map(([name, takes]) => [
      name,
      saved.flatMap((r) =>
        r.measurement.run && takes(r.measurement.run, r.measurement) ? (scoreOf(r) ?? []) : [],
      ),
    ]),
  );
}

const isSaved = ({ source, doubtful }: Measurement) =>
  source.includes('unslothai/notebooks') && doubtful === undefined;

async function main(args: readonly string[]): Promise<void> {
  const { rows, record, estimates, misses: showMisses, time, orders, megatron, commit } = options(args);
  if (megatron !== undefined && commit !== undefined && record !== undefined) {
    await writeFunctionalTests(megatron, commit, record);
    return;
  }
  if (rows !== undefined && !existsSync(rows)) {
    console.log(`no measurements at ${rows}: nothing is scored`);
    return;
  }
  const texts = rows === undefined ? undefined : readRows(readFileSync(rows, 'utf8'));
  if (texts && record !== undefined) {
    writeMeasurements(record, texts);
    return;
  }
  const measurements = texts?.map(measurementOf) ?? readMeasurements(MEASUREMENTS);
  if (time) {
    const tables = existsSync(THROUGHPUT) ? throughputRows(readFileSync(THROUGHPUT, 'utf8')) : [];
    console.log(timeReport([...tables, ...throughputsOf(measurements)], showMisses));
    return;
  }
  if (orders) {
    console.log(ordersReport(measurements));
    return;
  }
  const results = measurements.map((measurement) => ({ measurement, ...estimated(measurement) }));
  const lines = results.map(({ line }) => line);
  if (estimates) writeFileSync(estimates, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const scored: Scored[] = [];
  const failed: string[] = [];
  for (const result of results) {
    if (!result.measurement.scored) continue;
    const found = scoreOf(result);
    if (found) scored.push(found);
    else if (result.line.error) failed.push(`${result.measurement.id}: ${result.line.error}`);
  }
  console.log(`${table(scored)}\n${coverage(scored)}\n`);
  console.log(`${verdictReport(results.flatMap(({ row }) => row ?? []))}\n`);
  console.log(`${savedPeaks(results)}\n`);
  const expressed = lines.filter((line) => line.error === undefined).length;
  console.log(`${expressed} of ${measurements.length} rows can be expressed; ${scored.length} are scored`);
  if (failed.length > 0) console.log(`for scoring, but not expressed:\n  ${failed.join('\n  ')}`);
  if (showMisses) console.log(`\n${misses(scored)}`);
}

void main(process.argv.slice(2));
