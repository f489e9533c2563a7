import type { MeasuredRow } from './row';

/** What was measured, and which of an estimate's figures it is held against. */
export type Kind = 'allocated' | 'reserved' | 'process';

/** One line of the estimates file. */
export interface EstimateLine {
  readonly id: string;
  readonly allocated_bytes?: number;
  readonly reserved_bytes?: number;
  readonly process_bytes?: number;
  readonly error?: string;
}

/** Where the figure of each meter is expected to lie, bytes. */
export type Bounds = Readonly<Record<Kind, { readonly lower: number; readonly upper: number }>>;

/** What of a row is scored. */
export type ScoredRow = Pick<MeasuredRow, 'id' | 'framework' | 'method' | 'what' | 'measured_bytes' | 'oom'>;

export interface Scored {
  readonly row: ScoredRow;
  readonly kind: Kind;
  readonly measured: number;
  readonly estimated: number;
  /** Estimate over measurement, less one: below zero where the estimate is too low. */
  readonly error: number;
  /** Where the measurement lies: inside the band of its meter, or beyond an end of it. */
  readonly within?: 'below' | 'inside' | 'above';
}

/** Like is compared with like: what a row measured decides which figure of the estimate it is held against. */
export function kindOf(what: string | null | undefined): Kind | undefined {
  const text = (what ?? '').toLowerCase();
  if (/unknown|component/.test(text)) return undefined;
  if (/allocated|active/.test(text)) return 'allocated';
  if (/reserved/.test(text)) return 'reserved';
  if (/nvidia-smi|nvml|^process$/.test(text)) return 'process';
  return undefined;
}

const FIGURE = {
  allocated: 'allocated_bytes',
  reserved: 'reserved_bytes',
  process: 'process_bytes',
} as const;

/** The row's error, or nothing where it has no measurement or no estimate. */
export function score(row: ScoredRow, line: EstimateLine, bounds?: Bounds): Scored | undefined {
  const kind = kindOf(row.what);
  const measured = row.measured_bytes;
  if (!kind || !measured || row.oom) return undefined;
  const estimated = line[FIGURE[kind]];
  if (estimated === undefined) return undefined;
  const within = bounds && placeOf(measured, bounds[kind]);
  return { row, kind, measured, estimated, error: estimated / measured - 1, within };
}

function placeOf(bytes: number, { lower, upper }: Bounds[Kind]): NonNullable<Scored['within']> {
  if (bytes < lower) return 'below';
  return bytes > upper ? 'above' : 'inside';
}

export interface Summary {
  readonly count: number;
  /** Of absolute relative errors. */
  readonly median: number;
  readonly mean: number;
  readonly percentile90: number;
  /** Share of rows whose estimate is more than 5 % too low. */
  readonly tooLow: number;
}

/** Linear interpolation between the two nearest ranks. */
export function quantile(sorted: readonly number[], share: number): number {
  const position = (sorted.length - 1) * share;
  const lower = sorted[Math.floor(position)] ?? Number.NaN;
  const upper = sorted[Math.ceil(position)] ?? lower;
  return lower + (upper - lower) * (position - Math.floor(position));
}

export function summarize(scored: readonly Scored[]): Summary {
  const errors = scored.map((s) => Math.abs(s.error)).sort((a, b) => a - b);
  const low = scored.filter((s) => s.error < -0.05).length;
  return {
    count: scored.length,
    median: quantile(errors, 0.5),
    mean: errors.reduce((sum, error) => sum + error, 0) / errors.length,
    percentile90: quantile(errors, 0.9),
    tooLow: low / scored.length,
  };
}
