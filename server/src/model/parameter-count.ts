import type { Flow, ParameterCount, Stage } from './model';
import { Tracer, type TraceSettings } from './tracer';

/** One token through the model on one GPU: enough to see every weight. */
const ONE_TOKEN: TraceSettings = {
  batch: 1,
  sequence: 1,
  targetSequence: 1,
  images: 1,
  weightDtype: 'bf16',
  computeDtype: 'bf16',
  autocast: false,
  attention: 'sdpa',
  attentionMask: false,
  liger: false,
  loss: 'full',
  objective: 'lm',
  tensorParallel: 1,
  sequenceParallel: false,
  contextParallel: 1,
  expertParallel: 1,
  quantization: 'none',
  trainable: () => true,
};

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
