import type { StatePackage } from '../terms/state-packages';
import type { Flow, ParameterCount, Stage } from './model';
import { ONE_TOKEN } from './trace-settings';
import { Tracer } from './tracer';

interface StageCount {
  total: number;
  active: number;
  embedding: number;
}

/** Weights of all stages times their copies; a tied weight once, with the table it shares. */
export function countParameters(stages: readonly Stage[]): ParameterCount {
  const flow: Flow = new Map();
  const seen = new Map<Stage['trace'], StageCount>();
  const sum: StageCount = { total: 0, active: 0, embedding: 0 };
  for (const stage of stages) {
    let one = seen.get(stage.trace);
    if (!one) {
      one = countStage(stage, flow);
      seen.set(stage.trace, one);
    }
    sum.total += one.total * stage.count;
    sum.active += one.active * stage.count;
    sum.embedding += one.embedding * stage.count;
  }
  return { total: sum.total, active: Math.round(sum.active), embedding: sum.embedding };
}

/** Packages whose kernels the layers of a model run where they are installed. */
export function statePackagesOf(stages: readonly Stage[]): readonly StatePackage[] {
  const flow: Flow = new Map();
  const traced = new Set<Stage['trace']>();
  const packages = new Set<StatePackage>();
  for (const { trace } of stages) {
    if (traced.has(trace)) continue;
    traced.add(trace);
    const tracer = new Tracer(ONE_TOKEN);
    trace(tracer, flow);
    for (const name of tracer.finish().packages ?? []) packages.add(name);
  }
  return [...packages];
}

function countStage(stage: Stage, flow: Flow): StageCount {
  const tracer = new Tracer(ONE_TOKEN);
  stage.trace(tracer, flow);
  const count: StageCount = { total: 0, active: 0, embedding: 0 };
  for (const weight of tracer.finish().weights) {
    if (weight.tiedTo) continue;
    count.total += weight.elements;
    count.active += weight.elements * weight.activeShare;
    if (weight.role === 'embedding') count.embedding += weight.elements;
  }
  return count;
}
