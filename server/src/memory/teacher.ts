import { findModel } from '../model/catalog';
import type { Model } from '../model/model';
import { ELEMENT_BYTES } from '../model/tape';
import type { TeacherForward, TraceSettings } from '../model/trace-settings';
import type { TrainingRun } from '../run/fields';
import { keyValueCacheBytes } from './key-value-cache';
import { totalOf } from './ledger';
import { playForward, rounded } from './play';
import { frozenDtype } from './reference-models';
import { type TracedStage, traceRun } from './traced-run';
import { bytesPer } from './weights';

/** Whether a teacher runs on the GPU, as a model of its own or as the trained one, and its logits are compared with the model's. */
export function hasTeacher(run: TrainingRun): boolean {
  const compared = run['method.objective'] === 'distillation' && run['loss.divergence'] !== undefined;
  const loss = run['loss.implementation'];
  return compared && (loss.startsWith('full') || COMPARING.has(loss));
}

/** Losses that a divergence has a form of, beside that of whole logits. */
const COMPARING: ReadonlySet<TrainingRun['loss.implementation']> = new Set([
  'divergence-chunks',
  'liger',
  'log-probabilities-chunked',
  'chunked',
  'native',
]);

/** What the teacher's forward pass adds to the trace of a run that distils. Nothing where no teacher is there. */
export function teacherForward(model: Model, run: TrainingRun): Partial<TraceSettings> {
  if (!hasTeacher(run)) return {};
  const named = run['method.teacher'];
  const teacher = (named === undefined ? undefined : findModel(named)) ?? model;
  const stages = traceRun(teacher, alone(run), { evaluating: true, trainable: () => false });
  const { hidden, highest } = forwardOf(stages);
  const cache = keyValueCacheBytes(
    teacher,
    run['batch.micro'],
    { prompt: run['batch.sequence'], fresh: 0 },
    cachedWidth(run, stages),
  );
  const forward: TeacherForward = {
    bodyBytes: highest,
    hiddenBytes: hidden,
    cacheBytes: cache / run['parallel.tensor'],
  };
  return { teacher: forward };
}

/** The run of the teacher by itself: nothing is adapted, quantized or compared. */
function alone(run: TrainingRun): TrainingRun {
  return {
    ...run,
    'method.kind': 'full',
    'method.objective': 'lm',
    'quantization.kind': 'none',
    'precision.weights': frozenDtype(run),
    'kernels.lora': [],
    'loss.implementation': 'liger',
    'loss.keptLogits': 'none',
    'method.noisyEmbeddings': false,
  };
}

/** Bytes of an element of the cache: of the type that the rotation gives, where there is one (`DynamicLayer.update`). */
function cachedWidth(run: TrainingRun, stages: readonly TracedStage[]): number {
  const layer = stages.find(({ stage }) => stage.role === 'layer');
  const rotated = layer?.tape.operations.find(({ name }) => /rotary|rope/.test(name))?.outputs[0];
  return rotated ? ELEMENT_BYTES[rotated.dtype] : bytesPer(run['precision.compute']);
}

/** Its last hidden state and the highest level of all before the head, played without a graph. Bytes. */
function forwardOf(stages: readonly TracedStage[]): { readonly hidden: number; readonly highest: number } {
  let level = 0;
  let named = 0;
  let highest = 0;
  let hidden = 0;
  for (const { stage, copies, tape, consumed } of stages) {
    const last = tape.exit[0];
    if (stage.role === 'head') break;
    const callerHoldsEntry = stage.role === 'layer';
    const played = playForward(tape, { grad: false, consumed, callerHoldsEntry });
    const change = totalOf(played.exit);
    highest = Math.max(highest, level + named + Math.max(0, (copies - 1) * change) + played.peakBytes);
    level += copies * change;
    const leaving = new Set(tape.exit.map(({ storage }) => storage));
    for (const storage of tape.heldByModel) if (!leaving.has(storage)) named += rounded(storage.bytes);
    if (last) hidden = rounded(last.elements * ELEMENT_BYTES[last.dtype]);
  }
  return { hidden, highest };
}
