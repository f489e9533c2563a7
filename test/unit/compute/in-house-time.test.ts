import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import { findAccelerator } from '../../../server/src/hardware/catalog';
import { aModel, aRun } from '../memory/a-run';
import { largeRows, largerRows, notes } from '../memory/in-house-rows';

/** Rates of the in-house notes, in examples per second and GPU. */
describe('in-house rates', () => {
  const text = notes();
  if (text === undefined) {
    it('are not beside the repository', function skip() {
      console.log('    skipped: the in-house notes are not beside the repository');
      this.skip();
    });
    return;
  }
  const rows = [...largeRows(text), ...largerRows(text)].filter(({ rate }) => rate !== undefined);

  it('are read', () => assert.ok(rows.length >= 30, `${rows.length}`));

  for (const { label, rate = 0, values } of rows) {
    it(`${label}: ${rate} examples/s lie in the range`, () => {
      const config = values['model.config'];
      const accelerator = findAccelerator('A100-SXM4-80GB');
      assert.ok(config && accelerator);
      const run = aRun({ ...values, 'hardware.gpu': accelerator.name });
      const { time, timeUnknown } = estimate({ run, model: aModel(config), accelerator }).compute;
      assert.ok(time, timeUnknown);
      const examples = (run['batch.micro'] * run['batch.accumulation']) / run['parallel.tensor'];
      const [least, most] = [examples / time.stepSeconds.high, examples / time.stepSeconds.low];
      assert.ok(least <= rate && rate <= most, `${least.toFixed(1)} to ${most.toFixed(1)}`);
    });
  }
});
