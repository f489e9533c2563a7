import { cloudInstances, findAccelerator } from '../hardware/catalog';
import { evenDataParallelSize } from '../run/derive';
import type { FieldPath, RunValues, TrainingRun } from '../run/fields';
import { isFsdp } from '../terms/data-parallel';
import { say } from '../wording/say';
import { type Estimated, type Trial, tryChanges } from './changed-run';
import { pauses, writableMoves } from './fixes';
import { isRefused } from './moves';
import { type RelativeTime, relativeTime } from './speed';
import type { SourceFile } from './write/source-file';

/** What a search may turn. */
interface SearchScope {
  /** Files of the run: only what they have words for is turned. Left out, everything is. */
  readonly files?: readonly SourceFile[];
  /** GPU counts up to this one are tried, in powers of two from one on; else the run's own alone. */
  readonly mostGpus?: number;
  /** Cloud machines with a known price are tried instead of the run's own GPUs. */
  readonly instances?: boolean;
}

/** A run that fits. */
export interface Option {
  readonly changes: RunValues;
  /** For people: `micro batch 4 x 2 accumulation, ZeRO 3`. */
  readonly label: string;
  readonly peakBytes: number;
  readonly capacityBytes: number;
  /** Seconds of a step and tokens per second over all GPUs, where the card's rates are known. */
  readonly stepSeconds?: number;
  readonly tokensPerSecond?: number;
  /** US dollars for a billion tokens, where there is a price. */
  readonly usdPerBillionTokens?: number;
  readonly gpus: number;
  readonly gpu: string;
  readonly instance?: string;
  readonly hostBytesPerNode: number;
  /** Time per token against the run as it is. */
  readonly relativeTime?: RelativeTime;
  /** The run as it is. */
  readonly current: boolean;
}

interface SearchProgress {
  readonly tried: number;
  readonly total: number;
}

export interface SearchResult {
  /** Runs that no other beats in memory, time and cost at once: fastest first, on cloud machines cheapest first. */
  readonly front: readonly Option[];
  readonly tried: number;
  readonly fitting: number;
}

type Dimension = readonly { readonly label: string; readonly changes: RunValues }[];

/**
 * Searches micro batch (with accumulation that keeps the global batch), checkpointing, sharding, offload and GPUs for runs
 * that fit. One estimate for each step of the generator; the result is the Pareto front of memory, time and cost.
 */
export function* search(
  analysis: Estimated,
  scope: SearchScope = {},
): Generator<SearchProgress, SearchResult> {
  const { run } = analysis.resolved;
  if (!run) return { front: [], tried: 0, fitting: 0 };
  const dimensions = [
    hardware(run, scope),
    ...[sharding(run), checkpointing(run), offloads(run)].map((dimension) =>
      writable(analysis, dimension, scope),
    ),
  ];
  const combinations = product(dimensions);
  let tried = 0;
  const total = combinations.length;
  const found: Option[] = [];
  for (const [index, { labels, changes }] of combinations.entries()) {
    const shared = analysis.alternative(changes)?.run;
    for (const micro of shared ? batches(run) : []) {
      const set = shared && withBatch(run, shared, changes, micro);
      if (!set) continue;
      tried++;
      const trial = tryChanges(analysis, set);
      if (!trial || isRefused(trial.run, analysis)) break;
      const fits = trial.estimate.verdict === 'fits' && trial.estimate.host.verdict !== 'exceeds';
      if (fits) found.push(optionOf(analysis, trial, set, labels));
      yield { tried: index, total };
      // Larger micro batches need more.
      if (!fits) break;
    }
  }
  const front = pareto(found);
  return { front: scope.instances ? byPrice(front) : front, tried, fitting: found.length };
}

/** Runs a search in slices, so that others get their turn; undefined where it was cancelled. */
export async function searched(
  steps: Generator<SearchProgress, SearchResult>,
  isCancelled: () => boolean,
  onProgress: (progress: SearchProgress) => void = () => undefined,
): Promise<SearchResult | undefined> {
  const pause = pauses();
  for (;;) {
    if (isCancelled()) return undefined;
    const step = steps.next();
    if (step.done) return step.value;
    onProgress(step.value);
    await pause();
  }
}

const is = (label: string, changes: RunValues) => ({ label, changes });

function hardware(run: TrainingRun, { mostGpus, instances }: SearchScope): Dimension {
  if (instances) {
    return cloudInstances().flatMap(({ instance, gpu, gpus, usdPerHour, provider }) =>
      usdPerHour !== undefined && findAccelerator(gpu)
        ? [
            is(`${instance} (${provider})`, {
              'hardware.gpu': gpu,
              'hardware.gpus': gpus,
              'hardware.nodes': 1,
              'hardware.instance': instance,
            }),
          ]
        : [],
    );
  }
  if (mostGpus === undefined) return [is('', {})];
  const counts: number[] = [];
  for (let gpus = 1; gpus <= mostGpus; gpus *= 2) counts.push(gpus);
  if (!counts.includes(mostGpus)) counts.push(mostGpus);
  const perNode = Math.max(1, Math.ceil(run['hardware.gpus'] / run['hardware.nodes']));
  return counts.map((gpus) =>
    is(say('{0} {0|GPU|GPUs}', gpus), {
      'hardware.gpus': gpus,
      'hardware.nodes': Math.max(1, Math.ceil(gpus / Math.max(8, perNode))),
    }),
  );
}

function sharding(run: TrainingRun): Dimension {
  const data = run['parallel.data'];
  if (data === 'zero') return [0, 1, 2, 3].map((stage) => is(`ZeRO ${stage}`, { 'zero.stage': stage }));
  if (isFsdp(data))
    return [
      is(say('FSDP, gradients and states'), { 'fsdp.strategy': 'grad-op' }),
      is(say('FSDP, full'), { 'fsdp.strategy': 'full' }),
    ];
  if (data === 'ddp')
    return [
      is(say('replicas'), {}),
      is(say('FSDP, full'), { 'parallel.data': 'fsdp2', 'fsdp.strategy': 'full' }),
    ];
  return [is('', {})];
}

function checkpointing(run: TrainingRun): Dimension {
  const full = is(say('full checkpointing'), { 'activations.checkpointing': 'full' });
  const none = is(say('no checkpointing'), { 'activations.checkpointing': 'none' });
  const selective = is(say('selective checkpointing'), { 'activations.checkpointing': 'selective' });
  if (run['model.code'] === 'tensorflow') return [is('', {})];
  const selects = run['model.code'] === 'torchtitan' || run['model.code'] === 'megatron';
  return selects ? [none, selective, full] : [none, full];
}

function offloads(run: TrainingRun): Dimension {
  const data = run['parallel.data'];
  const none = is('', { 'offload.optimizer': 'none', 'offload.parameters': 'none' });
  if (data === 'zero')
    return [
      none,
      is(say('optimizer offload'), { 'offload.optimizer': 'cpu', 'offload.parameters': 'none' }),
      is(say('full offload'), { 'offload.optimizer': 'cpu', 'offload.parameters': 'cpu' }),
    ];
  if (isFsdp(data))
    return [none, is(say('full offload'), { 'offload.optimizer': 'cpu', 'offload.parameters': 'cpu' })];
  return [is('', {})];
}

/** The values of a dimension that the files have words for; where there is only one, the run keeps its own. */
function writable(analysis: Estimated, dimension: Dimension, { files }: SearchScope): Dimension {
  const { run } = analysis.resolved;
  if (!files || !run) return dimension;
  const can = writableMoves(analysis, run, files);
  const own = dimension.filter(({ changes }) => {
    const fields = changedFields(run, changes);
    return fields.length === 0 || can({ kind: '', name: '', price: 0, changes, fields });
  });
  return own.length > 0 ? own : [is('', {})];
}

const changedFields = (run: TrainingRun, changes: RunValues) =>
  (Object.keys(changes) as FieldPath[]).filter((field) => run[field] !== changes[field]);

function product(
  dimensions: readonly Dimension[],
): { readonly labels: readonly string[]; readonly changes: RunValues }[] {
  return dimensions.reduce<{ labels: readonly string[]; changes: RunValues }[]>(
    (sets, dimension) =>
      sets.flatMap(({ labels, changes }) =>
        dimension.map((value) => ({
          labels: value.label ? [...labels, value.label] : labels,
          changes: { ...changes, ...value.changes },
        })),
      ),
    [{ labels: [], changes: {} }],
  );
}

/** Powers of two, and the present one. */
function batches(run: TrainingRun): number[] {
  const sizes = new Set([run['batch.micro']]);
  for (let size = 1; size <= 256; size *= 2) sizes.add(size);
  return [...sizes].sort((a, b) => a - b);
}

/**
 * A micro batch with the accumulation that keeps the global batch of `run`; undefined where none does. `shared` is the run after
 * the changes, whatever its batch.
 */
function withBatch(
  run: TrainingRun,
  shared: TrainingRun,
  changes: RunValues,
  micro: number,
): RunValues | undefined {
  const copies = evenDataParallelSize(shared);
  const global = run['batch.global'] ?? micro;
  if (copies === undefined) return undefined;
  const accumulation = global / (micro * copies);
  if (!Number.isInteger(accumulation) || accumulation < 1) return undefined;
  // Offload of weights needs stage 3, of states a stage at all.
  const stage = shared['zero.stage'];
  const zero = shared['parallel.data'] === 'zero';
  if (zero && changes['offload.parameters'] === 'cpu' && stage < 3) return undefined;
  if (zero && changes['offload.optimizer'] === 'cpu' && stage < 1) return undefined;
  return { ...changes, 'batch.micro': micro, 'batch.accumulation': accumulation };
}

function optionOf(analysis: Estimated, trial: Trial, changes: RunValues, labels: readonly string[]): Option {
  const { run, estimate, accelerator } = trial;
  const { time, tokensPerStep } = estimate.compute;
  const seconds = time?.stepSeconds.likely;
  const hourly = time?.price?.usdPerGpuHour.likely;
  const perToken = seconds === undefined ? undefined : seconds / tokensPerStep;
  const own = analysis.resolved.run;
  const current = own !== undefined && changedFields(own, changes).length === 0;
  return {
    changes,
    label: [say('micro batch {0} × {1}', run['batch.micro'], run['batch.accumulation']), ...labels].join(
      ', ',
    ),
    peakBytes: estimate.peak.processBytes,
    capacityBytes: estimate.capacityBytes,
    stepSeconds: seconds,
    tokensPerSecond: perToken === undefined ? undefined : 1 / perToken,
    usdPerBillionTokens:
      perToken === undefined || hourly === undefined
        ? undefined
        : (perToken * 1e9 * hourly * run['hardware.gpus']) / 3600,
    gpus: run['hardware.gpus'],
    gpu: accelerator.name,
    instance: run['hardware.instance'],
    hostBytesPerNode: estimate.host.bytesPerNode,
    relativeTime: relativeTime(trial, analysis),
    current,
  };
}

/**
 * What an option takes: memory, time as it is likely and at its longest, money. What is not known is taken as endless.
 * The longest time counts the transfers of offload that nothing may hide: an offload as fast as likely as not does not
 * push aside the plainer run.
 */
function costsOf({ peakBytes, tokensPerSecond, relativeTime, usdPerBillionTokens }: Option): number[] {
  return [
    peakBytes,
    1 / (tokensPerSecond ?? 0),
    relativeTime?.worst ?? Number.POSITIVE_INFINITY,
    usdPerBillionTokens ?? Number.POSITIVE_INFINITY,
  ];
}

/** Cloud machines are chosen by what a token costs; what has no price comes last. */
function byPrice(options: readonly Option[]): Option[] {
  const price = ({ usdPerBillionTokens }: Option) => usdPerBillionTokens ?? Number.POSITIVE_INFINITY;
  return [...options].sort((a, b) => {
    const [one, other] = [price(a), price(b)];
    return one === other ? 0 : one - other;
  });
}

/** Options that no other one equals or beats everywhere, fastest first. */
export function pareto(options: readonly Option[]): Option[] {
  const costs = options.map(costsOf);
  const beats = (a: number[], b: number[], first: boolean) =>
    a.every((cost, i) => cost <= (b[i] ?? 0)) && (first || a.some((cost, i) => cost < (b[i] ?? 0)));
  return options
    .filter((_, i) => !costs.some((other, j) => j !== i && beats(other, costs[i] ?? [], j < i)))
    .sort(
      (a, b) =>
        (b.tokensPerSecond ?? 0) - (a.tokensPerSecond ?? 0) ||
        (a.relativeTime?.worst ?? 0) - (b.relativeTime?.worst ?? 0) ||
        a.peakBytes - b.peakBytes,
    );
}
