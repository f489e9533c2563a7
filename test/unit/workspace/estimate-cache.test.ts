import assert from 'node:assert/strict';
import { type EstimateInput, estimate as realEstimate } from '../../../server/src/estimate';
import type { Estimate } from '../../../server/src/results/estimate';
import { remembering } from '../../../server/src/workspace/estimate-cache';
import { aModel, aRun, CARD, SMALL_LLAMA } from '../memory/a-run';

describe('remembered estimates', () => {
  const model = aModel(SMALL_LLAMA);
  let asked = 0;
  const count = (input: EstimateInput): Estimate => {
    asked++;
    return realEstimate(input);
  };

  it('answers the same run once, and another model, card or field anew', () => {
    asked = 0;
    const estimate = remembering(count);
    const run = aRun({});
    estimate({ run, model, accelerator: CARD });
    estimate({ run: { ...run }, model, accelerator: { ...CARD } });
    assert.equal(asked, 1);
    estimate({ run: aRun({ 'batch.micro': 2 }), model, accelerator: CARD });
    assert.equal(asked, 2);
    estimate({ run, model: { ...model }, accelerator: CARD });
    assert.equal(asked, 3);
    const smaller = estimate({ run, model, accelerator: { ...CARD, usableBytes: 1 } });
    assert.equal(smaller.capacityBytes, 1);
    assert.equal(asked, 4);
  });

  it('forgets the oldest, not the newest', () => {
    asked = 0;
    const some = count({ run: aRun({}), model, accelerator: CARD });
    asked = 0;
    const estimate = remembering(() => {
      asked++;
      return some;
    });
    for (let micro = 1; micro <= 300; micro++)
      estimate({ run: aRun({ 'batch.micro': micro }), model, accelerator: CARD });
    estimate({ run: aRun({ 'batch.micro': 300 }), model, accelerator: CARD });
    assert.equal(asked, 300);
    estimate({ run: aRun({ 'batch.micro': 1 }), model, accelerator: CARD });
    assert.equal(asked, 301);
  });
});
