import { betweenStages } from '../../../server/src/memory/between-stages';
import { emptyLedger } from '../../../server/src/memory/ledger';
import { type AllocatorEvent, rounded } from '../../../server/src/memory/play';
import { shardingOf } from '../../../server/src/memory/sharding';
import { walkStep } from '../../../server/src/memory/step';
import { traceRun } from '../../../server/src/memory/traced-run';
import { sumWeights } from '../../../server/src/memory/weights';
import type { Model } from '../../../server/src/model/model';
import type { RunValues } from '../../../server/src/run/fields';
import { aRun } from './a-run';

const MIB = 2 ** 20;

/** Requests of a step that grow with the length and are never given back, and returns of what nobody asked for. */
export function unsettled(model: Model, values: RunValues): string[] {
  const run = aRun({ 'precision.weights': 'bf16', 'precision.compute': 'bf16', ...values });
  const stages = traceRun(model, run);
  const sharding = shardingOf(run, sumWeights(stages, run), stages);
  // What the loop hands in is there before the step: a stage that is done with it gives it back.
  const handedIn = new Set(
    stages.flatMap(({ tape }) =>
      tape.entry.flatMap(({ storage }, position) => (tape.origins[position] ? [] : [rounded(storage.bytes)])),
    ),
  );
  const { stretches } = walkStep(stages, run, sharding, emptyLedger());
  const open = new Map<string, number>();
  const count = (events: readonly AllocatorEvent[], times: number) => {
    for (const { bytes, power } of events) {
      if (power === 0 || Math.abs(bytes) <= MIB || handedIn.has(Math.abs(bytes))) continue;
      const key = `${Math.abs(bytes) / MIB} MiB, power ${power}`;
      open.set(key, (open.get(key) ?? 0) + Math.sign(bytes) * times);
    }
  };
  for (const { traced, segment, repeats } of stretches) {
    for (const events of Object.values(betweenStages(traced))) count(events, 1);
    for (const { events } of [segment.forward, segment.backward]) count(events, repeats);
  }
  for (const { segment, repeats } of stretches) count(segment.copyReturns, repeats);
  return [...open].filter(([, net]) => net !== 0).map(([key, net]) => `${net} of ${key}`);
}
