import { achievedShares } from '../../server/src/compute/achieved-rates';
import { computeEstimate } from '../../server/src/compute/flops';
import { multipliedIn } from '../../server/src/compute/matrix-rates';
import { microBatchWork, rooflineSeconds } from '../../server/src/compute/roofline';
import { timeEstimate } from '../../server/src/compute/time-estimate';
import { traceRun } from '../../server/src/memory/traced-run';
import { sumWeights } from '../../server/src/memory/weights';
import { aligned } from './report';
import { quantile } from './score';
import type { ThroughputRow } from './throughput-rows';

/** A published throughput held to the estimate. */
export interface Held {
  readonly row: ThroughputRow;
  /** Published tokens per second and GPU over the likely one of the estimate; above 1 the run was faster. */
  readonly ratio: number;
  readonly place: 'within' | 'faster' | 'slower';
  /** The rates of `data/achieved-rates.json` were taken from it. */
  readonly isSource: boolean;
}

function hold(row: ThroughputRow): Held | undefined {
  const { run, model, accelerator } = row.input;
  const stages = traceRun(model, run);
  const compute = computeEstimate(stages, run);
  const time = timeEstimate(stages, sumWeights(stages, run), run, accelerator, compute);
  if (typeof time === 'string') return undefined;
  const { low, likely, high } = time.tokensPerSecondPerGpu;
  const rate = row.tokensPerSecondPerGpu;
  return {
    row,
    ratio: rate / likely,
    place: rate > high ? 'faster' : rate < low ? 'slower' : 'within',
    isSource: isSource(row),
  };
}

/** Share of the roofline that a plain data-parallel run in bf16 reached: what `data/achieved-rates.json` states per card. */
function shareOf({ input, tokensPerSecondPerGpu }: ThroughputRow): number {
  const { run, model, accelerator } = input;
  const stages = traceRun(model, run);
  const rates = {
    flops: accelerator.denseFlops.bf16 ?? Number.NaN,
    bytes: accelerator.bandwidthBytesPerSecond ?? Number.NaN,
  };
  const { products, attention, elementwise } = rooflineSeconds(microBatchWork(stages, run), rates);
  const kernel = achievedShares(accelerator, run['attention.implementation']).attention;
  const ideal = products + attention / kernel + elementwise;
  const seconds = (run['batch.micro'] * run['batch.sequence']) / tokensPerSecondPerGpu;
  return ideal / seconds;
}

/** Every row whose time can be estimated. */
export function holdTimes(rows: readonly ThroughputRow[]): Held[] {
  return rows.flatMap((row) => hold(row) ?? []);
}

/** How many published throughputs lie in the estimated range, by source, and the shares that the ranges rest on. */
export function timeReport(rows: readonly ThroughputRow[], misses: boolean): string {
  const groups = new Map<string, Held[]>();
  const all = holdTimes(rows);
  for (const held of all) {
    const { source, input } = held.row;
    const name = `${source}, ${input.accelerator.name}, ${multipliedIn(input.run, input.accelerator)}`;
    groups.set(name, [...(groups.get(name) ?? []), held]);
  }
  const lines: string[][] = [
    ['', 'n', 'within', 'faster', 'slower', 'published / likely: least', 'median', 'most'],
  ];
  for (const [name, held] of groups) lines.push(cells(name, held));
  const taken = all.filter((held) => held.isSource);
  const others = all.filter((held) => !held.isSource);
  lines.push(cells('rates were taken from', taken), cells('others', others));
  const shares = ['A100', 'H100'].map((card) => {
    const of = rows
      .filter((row) => row.source === 'llm-foundry' && isSource(row))
      .filter((row) => row.input.accelerator.name.startsWith(card))
      .map(shareOf)
      .sort((a, b) => a - b);
    return `${card}: ${of.length} rows, least ${quantile(of, 0).toFixed(3)}, median ${quantile(of, 0.5).toFixed(3)}, most ${quantile(of, 1).toFixed(3)}`;
  });
  const outside = all
    .filter(({ place }) => place !== 'within')
    .map(({ row, ratio, place }) => `${place} ${ratio.toFixed(2)}  ${row.source}: ${row.name}`);
  return [aligned(lines), '', 'shares of the roofline', ...shares, ...(misses ? ['', ...outside] : [])].join(
    '\n',
  );
}

/** Rows that the rates of `data/achieved-rates.json` come from. */
function isSource({ source, input }: ThroughputRow): boolean {
  const { run, accelerator } = input;
  if (source === 'llm-foundry') return multipliedIn(run, accelerator) === 'bf16';
  return /^(B200|MI300X|V100)/.test(accelerator.name);
}

function cells(name: string, held: readonly Held[]): string[] {
  const ratios = held.map(({ ratio }) => ratio).sort((a, b) => a - b);
  const count = (place: Held['place']) => String(held.filter((h) => h.place === place).length);
  const at = (share: number) => quantile(ratios, share).toFixed(2);
  return [
    name,
    String(held.length),
    count('within'),
    count('faster'),
    count('slower'),
    at(0),
    at(0.5),
    at(1),
  ];
}
