import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import { findModel } from '../../../server/src/model/catalog';
import type { RunValues } from '../../../server/src/run/fields';
import { aRun, CARD } from './a-run';

const model = findModel('openai-community/gpt2') ?? assert.fail();

function peakOf(more: RunValues): { allocated: number; reserved: number; moment: string } {
  const run = aRun({
    'batch.micro': 8,
    'batch.sequence': 1024,
    'precision.weights': 'fp32',
    'precision.compute': 'fp32',
    'precision.scheme': 'native',
    'optimizer.name': 'adamw',
    // No logits of the vocabulary, whose gradients would outweigh those of the weights.
    'method.objective': 'classification',
    ...more,
  });
  const { peak } = estimate({ run, model, accelerator: CARD });
  return { allocated: peak.allocatedBytes, reserved: peak.reservedBytes, moment: peak.moment };
}

describe('gradients that go between forward and backward', () => {
  const gradients = 4 * 124_439_808;

  it('lie beside what forward keeps, and are gone when backward begins', () => {
    const [early, late] = [peakOf({}), peakOf({ 'optimizer.lateZero': true })];
    const more = late.allocated - early.allocated;
    assert.ok(more > 0 && more <= gradients * 1.01, `${more}`);
    assert.match(late.moment, /^(?:forward|loss)$/);
    assert.ok(more > 0.5 * gradients);
    assert.ok(late.reserved >= early.reserved);
  });

  it('are there anyway where several micro batches add up, or weights are stepped in backward', () => {
    for (const more of [{ 'batch.accumulation': 4 }, { 'optimizer.inBackward': true }] as const)
      assert.deepEqual(peakOf({ ...more, 'optimizer.lateZero': true }), peakOf(more));
  });

  it('change nothing of a peak in backward', () => {
    const full: RunValues = { 'activations.checkpointing': 'full', 'batch.micro': 1, 'batch.sequence': 128 };
    const { allocated } = peakOf(full);
    const late = peakOf({ ...full, 'optimizer.lateZero': true }).allocated;
    assert.ok(late - allocated < 0.2 * gradients);
  });
});
