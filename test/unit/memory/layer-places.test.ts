import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import { findAccelerator } from '../../../server/src/hardware/catalog';
import { findModel } from '../../../server/src/model/catalog';
import type { RunValues } from '../../../server/src/run/fields';
import { aRun } from './a-run';

describe('the place of a layer in words', () => {
  const labels = (id: string, values: RunValues = {}) => {
    const model = findModel(id) ?? assert.fail(id);
    const accelerator = findAccelerator('H100-SXM5-80GB') ?? assert.fail();
    const run = aRun({ 'batch.micro': 1, 'batch.sequence': 512, 'hardware.gpus': 1, ...values });
    return estimate({ run, model, accelerator }).timeline.map(({ label }) => label);
  };
  const highest = (all: readonly string[], of: RegExp) =>
    Math.max(...all.flatMap((label) => of.exec(label)?.[1] ?? []).map(Number));

  it('counts as the model does: layers of a tower apart', () => {
    const all = labels('google/gemma-4-E2B', { 'batch.imagePixels': 262_144, 'method.kind': 'lora' });
    assert.equal(highest(all, /layer (\d+),/), 34);
    assert.equal(highest(all, /layer (\d+) of vision tower,/), 15);
  });

  it('counts those of an encoder and of a decoder each from zero, with generation too', () => {
    const generates = {
      'evaluation.enabled': true,
      'evaluation.batch': 2,
      'evaluation.generatedTokens': 16,
    } as const;
    const all = labels('google-t5/t5-small', generates);
    for (const of of [
      /layer (\d+) of encoder,/,
      /layer (\d+) of decoder,/,
      /generation.* layer (\d+) of decoder,/,
    ])
      assert.equal(highest(all, of), 5, String(of));
    assert.equal(all.filter((label) => /layer \d+,/.test(label)).length, 0);
  });

  it('names no stack where a model has one', () => {
    const all = labels('google-bert/bert-base-uncased');
    assert.equal(highest(all, /layer (\d+),/), 11);
  });
});
