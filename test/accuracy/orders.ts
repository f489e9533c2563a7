import type { EstimateInput } from '../../server/src/estimate';
import { tracedEstimate } from '../../server/src/estimate';
import { lengthShare, records } from '../../server/src/memory/batch-lengths';
import { outsideAllocator } from '../../server/src/memory/device';
import { simulateSteps } from '../../server/src/memory/simulate';
import { inputOf, type Measurement } from './measurement';
import { aligned } from './report';
import { quantile } from './score';

/** Orders that each row is played in, and batches of each. */
const ORDERS = 100;
const BATCHES = 300;

/** A sequence of even numbers below 1 that is the same in every run (Numerical Recipes' generator). */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state + 0.5) / 2 ** 32;
  };
}

/** Reserved bytes of one and the same run with its data in as many random orders, smallest first. */
export function reservedByOrder(input: EstimateInput): number[] {
  const { run, accelerator, model } = input;
  const { stages, walk, sharding, constant } = tracedEstimate(input);
  const capacity = run['hardware.gpuMemory'] ?? accelerator.usableBytes;
  const limit = capacity - outsideAllocator(run, accelerator, model.hiddenSize).likely;
  const next = numbers(1);
  const found: number[] = [];
  for (let order = 0; order < ORDERS; order++) {
    const longer = records(Array.from({ length: BATCHES }, next)).map((uniform) => lengthShare(uniform, run));
    // The longest of all is as long as the run allows.
    const lengths = longer.length > 1 ? [...longer.slice(0, -1), 1] : [1, 1];
    found.push(simulateSteps(stages, walk, run, sharding, constant, limit, lengths).reserved);
  }
  return found.sort((a, b) => a - b);
}

const gib = (bytes: number) => (bytes / 2 ** 30).toFixed(1);

/**
 * What an order decides: for each row whose batches differ in length the reserved memory of its run in other orders, and
 * how often even the middle one would be missed.
 */
export function ordersReport(rows: readonly Measurement[]): string {
  const lines: string[][] = [
    [
      '',
      'measured GiB',
      'least',
      '10 %',
      'middle',
      '90 %',
      'most',
      'orders below',
      '> 15 % off',
      '> 5 % too low',
    ],
  ];
  let played = 0;
  let off = 0;
  let low = 0;
  for (const row of rows) {
    const measured = row.measuredBytes;
    if (!row.scored || row.what !== 'reserved' || measured === undefined) continue;
    const input = inputOf(row);
    if ('error' in input || !input.run['batch.varied'] || input.run['batch.packed']) continue;
    const found = reservedByOrder(input);
    const middle = quantile(found, 0.5);
    const far = found.filter((bytes) => Math.abs(middle / bytes - 1) > 0.15).length;
    const above = found.filter((bytes) => middle / bytes < 0.95).length;
    played += found.length;
    off += far;
    low += above;
    lines.push([
      row.id,
      gib(measured),
      ...[0, 0.1, 0.5, 0.9, 1].map((share) => gib(quantile(found, share))),
      String(found.filter((bytes) => bytes < measured).length),
      String(far),
      String(above),
    ]);
  }
  const percent = (count: number) => `${((100 * count) / played).toFixed(0)} %`;
  return [
    aligned(lines),
    '',
    `${percent(off)} of the orders are more than 15 % from the middle one of their row, ${percent(low)} more than 5 % above it`,
  ].join('\n');
}
