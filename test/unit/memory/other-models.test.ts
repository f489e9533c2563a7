import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, CARD, SMALL_LLAMA } from './a-run';

const model = aModel(SMALL_LLAMA);
const of = (values: RunValues) =>
  estimate({ run: aRun({ 'batch.micro': 2, ...values }), model, accelerator: CARD });
const whisper = { parameters: 1_543_490_560, dtype: 'fp16', bufferBytes: 1000 };
const BYTES = 2 * 1_543_490_560 + 1000;

describe('other models on the GPU', () => {
  it('take their weights in every moment, as a part of its own', () => {
    const plain = of({});
    const beside = of({ 'method.otherModels': { 'openai/whisper-large-v3': whisper } });
    assert.equal(beside.peak.allocatedBytes - plain.peak.allocatedBytes, BYTES);
    const part = beside.parts.find(({ category }) => category === 'other-models');
    assert.equal(part?.bytes, BYTES);
    assert.match(part?.formula ?? '', /openai\/whisper-large-v3: 1\.54B parameters in fp16/);
    assert.ok(
      beside.timeline.every(({ parts }) => parts.some(({ category }) => category === 'other-models')),
    );
  });

  it('that come once the model is loaded are not there while it is', () => {
    const beside = of({ 'method.otherModels': { w: { ...whisper, later: true }, x: whisper } });
    const at = (moment: string) =>
      beside.timeline
        .filter((sample) => sample.moment === moment)
        .map(({ parts }) => parts.find(({ category }) => category === 'other-models')?.bytes);
    assert.ok(at('initialization').every((bytes) => bytes === BYTES));
    assert.ok(at('forward').every((bytes) => bytes === 2 * BYTES));
  });

  it('are not split, and entries that state no size take nothing', () => {
    const zero = { 'parallel.data': 'zero', 'zero.stage': 3, 'hardware.gpus': 4 } as const;
    const bytes = (values: RunValues) =>
      of(values).parts.find(({ category }) => category === 'other-models')?.bytes;
    assert.equal(bytes({ ...zero, 'method.otherModels': { w: whisper } }), BYTES);
    assert.equal(bytes({ 'method.otherModels': { w: { parameters: -1, dtype: 'fp16' }, x: 7 } }), undefined);
  });
});
