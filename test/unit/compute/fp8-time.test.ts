import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import { findAccelerator } from '../../../server/src/hardware/catalog';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, SMALL_LLAMA } from '../memory/a-run';

const RUN: RunValues = {
  'batch.sequence': 4096,
  'precision.weights': 'fp32',
  'precision.compute': 'bf16',
  'precision.scheme': 'fsdp',
  'parallel.data': 'fsdp2',
  'hardware.gpus': 8,
  'attention.implementation': 'flash2',
  'optimizer.implementation': 'fused',
};

function time(card: string, values: RunValues = {}) {
  const accelerator = findAccelerator(card);
  assert.ok(accelerator);
  const run = aRun({ ...RUN, 'hardware.gpu': accelerator.name, ...values });
  const found = estimate({ run, model: aModel(SMALL_LLAMA), accelerator }).compute.time;
  assert.ok(found?.mfu);
  return { seconds: found.stepSeconds, mfu: found.mfu };
}

describe('the time of steps that multiply in fp8', () => {
  // Dialects state who multiplies in fp8; the type of everything else is bf16.
  it('is shorter where the card has fp8', () => {
    for (const recipe of ['torchao', 'transformer-engine', 'blockwise'] as const) {
      const bf16 = time('H100-SXM5-80GB');
      const fp8 = time('H100-SXM5-80GB', { 'precision.fp8': recipe });
      assert.ok(fp8.seconds.likely < 0.95 * bf16.seconds.likely, recipe);
      assert.ok(fp8.seconds.low < bf16.seconds.low, recipe);
      assert.ok(fp8.seconds.high <= bf16.seconds.high * 1.01, recipe);
    }
  });

  it('is that of bf16 where it has none', () => {
    const { seconds } = time('A100-SXM4-80GB', { 'precision.fp8': 'transformer-engine' });
    assert.ok(seconds.likely >= time('A100-SXM4-80GB').seconds.likely);
  });

  it('gives a utilization of the rate that products run at', () => {
    const { mfu } = time('H100-SXM5-80GB', { 'precision.fp8': 'torchao' });
    assert.ok(mfu.high < 1, `${mfu.high}`);
  });
});
