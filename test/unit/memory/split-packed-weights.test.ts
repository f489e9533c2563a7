import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import { findModel } from '../../../server/src/model/catalog';
import type { RunValues } from '../../../server/src/run/fields';
import { aRun, CARD } from './a-run';

describe('packed weights under ZeRO-3', () => {
  const model = findModel('meta-llama/Llama-2-70b-hf');
  const of = (values: RunValues) => {
    assert.ok(model);
    const base = {
      'method.kind': 'lora',
      'lora.rank': 8,
      'lora.targets': ['all-linear'],
      'quantization.kind': 'nf4',
      'parallel.data': 'zero',
      'zero.stage': 3,
      'precision.weights': 'bf16',
      'precision.compute': 'bf16',
      'precision.scheme': 'deepspeed',
      'hardware.gpus': 2,
      'batch.micro': 8,
      'batch.sequence': 8192,
    } as const;
    const e = estimate({ run: aRun({ ...base, ...values }), model, accelerator: CARD });
    return [e.verdict, e.unmodelled];
  };

  it('that are stored in the type of the others are split, which saves what is not counted', () => {
    assert.deepEqual(of({ 'quantization.storage': 'bf16' }), ['unknown', ['split-packed-weights']]);
    const whole = ['exceeds', undefined];
    assert.deepEqual(of({}), whole);
    assert.deepEqual(of({ 'quantization.storage': 'bf16', 'zero.stage': 2 }), whole);
    assert.deepEqual(of({ 'quantization.storage': 'bf16', 'hardware.gpus': 1 }), whole);
  });
});
