import type { Accelerator } from '../hardware/accelerator';
import { type CloudInstance, cloudInstances } from '../hardware/catalog';
import type { Price } from '../results/estimate';
import type { TrainingRun } from '../run/fields';

interface Offer extends CloudInstance {
  /** US dollars per GPU and hour. */
  readonly perGpu: number;
}

/** Machines whose price is known, by their card. */
const OFFERS = new Map<string, Offer[]>();
for (const instance of cloudInstances()) {
  if (instance.usdPerHour === undefined) continue;
  const offer = { ...instance, perGpu: instance.usdPerHour / instance.gpus };
  OFFERS.set(instance.gpu, [...(OFFERS.get(instance.gpu) ?? []), offer]);
}

/**
 * Price of one GPU for one hour: what the run states, else the on-demand list price of the machine that it names, else those
 * of machines with its card. Of these, machines with fewer GPUs than a node of the run has are left out where larger ones
 * exist, and of each provider the cheapest counts.
 */
export function priceOf(run: TrainingRun, accelerator: Accelerator): Price | undefined {
  const own = run['hardware.price'];
  if (own !== undefined) {
    return { usdPerGpuHour: { low: own, likely: own, high: own }, instances: [], source: 'hardware.price' };
  }
  const priced = OFFERS.get(accelerator.name) ?? [];
  const perNode = run['hardware.gpus'] / run['hardware.nodes'];
  const whole = priced.filter(({ gpus }) => gpus >= perNode);
  const named = priced.filter(({ instance }) => instance === run['hardware.instance']);
  if (named.length > 0) return priceIn(named);
  const cheapest = new Map<string, Offer>();
  for (const instance of whole.length > 0 ? whole : priced) {
    const known = cheapest.get(instance.provider);
    if (!known || instance.perGpu < known.perGpu) cheapest.set(instance.provider, instance);
  }
  return priceIn([...cheapest.values()].sort((a, b) => a.perGpu - b.perGpu));
}

/** The range of offers, which are sorted by price. */
function priceIn(offers: readonly Offer[]): Price | undefined {
  const first = offers[0];
  const last = offers.at(-1);
  if (!first || !last) return undefined;
  const likely = offers[Math.floor((offers.length - 1) / 2)] ?? first;
  return {
    usdPerGpuHour: { low: first.perGpu, likely: likely.perGpu, high: last.perGpu },
    instances: offers.map(({ instance }) => instance),
    date: offers.map(({ priceDate }) => priceDate ?? '').sort()[0],
    source: offers.map(({ source }) => source).join('; '),
  };
}
