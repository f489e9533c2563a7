import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { estimate } from '../../server/src/estimate';
import { express } from './express';
import { measuredThroughput } from './measured-throughput';
import { ordersReport } from './orders';
import { coverage, misses, table } from './report';
import type { MeasuredRow } from './row';
import { type Bounds, type EstimateLine, type Scored, score } from './score';
import { throughputRows } from './throughput-rows';
import { timeReport } from './time';

/** Measurements are kept beside the repository, not in it. The bundle lies two folders below its root. */
const MEASURED = path.resolve(__dirname, '../../../shared/measured/measured.jsonl');

/** Published throughputs, in tables of a text. */
const THROUGHPUT = path.resolve(__dirname, '../../../shared/facts/THROUGHPUT.md');

interface Options {
  readonly rows: string;
  readonly estimates?: string;
  readonly misses: boolean;
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
    rows: after('--rows') ?? MEASURED,
    estimates: after('--estimates'),
    misses: args.includes('--misses'),
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

function estimateRow(row: MeasuredRow): { readonly line: EstimateLine; readonly bounds?: Bounds } {
  const { id } = row;
  try {
    const expressed = express(row);
    if ('error' in expressed) return { line: { id, error: expressed.error } };
    const { peak } = estimate(expressed);
    const line = {
      id,
      allocated_bytes: peak.allocatedBytes,
      reserved_bytes: peak.reservedBytes,
      process_bytes: peak.processBytes,
    };
    return { line, bounds: { lower: peak.lowerBytes, upper: peak.upperBytes } };
  } catch (error) {
    // A row of another shape than the others: it costs itself and not the file.
    return { line: { id, error: `the row cannot be read: ${String(error)}` } };
  }
}

function main(args: readonly string[]): void {
  const { rows: file, estimates, misses: showMisses, time, orders } = options(args);
  if (!existsSync(file)) {
    console.log(`no measurements at ${file}: nothing is scored`);
    return;
  }
  const rows = readRows(readFileSync(file, 'utf8'));
  if (time) {
    const tables = existsSync(THROUGHPUT) ? throughputRows(readFileSync(THROUGHPUT, 'utf8')) : [];
    console.log(timeReport([...tables, ...measuredThroughput(rows)], showMisses));
    return;
  }
  if (orders) {
    console.log(ordersReport(rows));
    return;
  }
  const estimated = rows.map(estimateRow);
  const lines = estimated.map(({ line }) => line);
  if (estimates) writeFileSync(estimates, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const scored: Scored[] = [];
  const failed: string[] = [];
  rows.forEach((row, index) => {
    const line = lines[index];
    if (!line || row.use_for_scoring === false) return;
    const result = score(row, line, estimated[index]?.bounds);
    if (result) scored.push(result);
    else if (line.error) failed.push(`${row.id}: ${line.error}`);
  });
  console.log(`${table(scored)}\n${coverage(scored)}\n`);
  const expressed = lines.filter((line) => line.error === undefined).length;
  console.log(`${expressed} of ${rows.length} rows can be expressed; ${scored.length} are scored`);
  if (failed.length > 0) console.log(`for scoring, but not expressed:\n  ${failed.join('\n  ')}`);
  if (showMisses) console.log(`\n${misses(scored)}`);
}

main(process.argv.slice(2));
