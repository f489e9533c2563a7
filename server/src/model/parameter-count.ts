import type { StatePackage } from '../terms/state-packages';
import type { Flow, ParameterCount, Stage } from './model';
import type { Tape } from './tape';
import { ONE_TOKEN } from './trace-settings';
import { Tracer } from './tracer';

interface StageCount {
  total: number;
  active: number;
  embedding: number;
}

type OneTokenTapes = ReadonlyMap<Stage['trace'], Tape>;

/** Each distinct stage, played once on one token. */
export function oneTokenTapes(stages: readonly Stage[], settings = ONE_TOKEN): OneTokenTapes {
  const flow: Flow = new Map();
  const tapes = new Map<Stage['trace'], Tape>();
  for (const { trace } of stages) {
    if (tapes.has(trace)) continue;
    const tracer = new Tracer(settings);
    trace(tracer, flow);
    tapes.set(trace, tracer.finish());
  }
  return tapes;
}

/** Weights of all stages times their copies; a tied weight once, with the table it shares. */
export function countParameters(stages: readonly Stage[], tapes = oneTokenTapes(stages)): ParameterCount {
  const seen = new Map([...tapes].map(([trace, tape]) => [trace, countStage(tape)]));
  const sum: StageCount = { total: 0, active: 0, embedding: 0 };
  for (const stage of stages) {
    const one = seen.get(stage.trace);
    if (!one) continue;
    sum.total += one.total * stage.count;
    sum.active += one.active * stage.count;
    sum.embedding += one.embedding * stage.count;
  }
  return { total: sum.total, active: Math.round(sum.active), embedding: sum.embedding };
}

/** Packages whose kernels the layers of a model run where they are installed. */
export function statePackagesOf(tapes: OneTokenTapes): readonly StatePackage[] {
  return [...new Set([...tapes.values()].flatMap(({ packages = [] }) => packages))];
}

function countStage({ weights }: Tape): StageCount {
  const count: StageCount = { total: 0, active: 0, embedding: 0 };
  for (const weight of weights) {
    if (weight.tiedTo) continue;
    count.total += weight.elements;
    count.active += weight.elements * weight.activeShare;
    if (weight.role === 'embedding') count.embedding += weight.elements;
  }
  return count;
}
