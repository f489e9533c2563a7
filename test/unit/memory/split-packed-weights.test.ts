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
      'quantization.double': true,
      'parallel.data': 'zero',
      'zero.stage': 3,
      'precision.weights': 'bf16',
      'precision.compute': 'bf16',
      'precision.scheme': 'deepspeed',
      'activations.checkpointing': 'full',
      'hardware.gpus': 2,
      'batch.micro': 2,
      'batch.sequence': 2048,
    } as const;
    const e = estimate({ run: aRun({ ...base, ...values }), model, accelerator: CARD });
    const highest = (moment: string) =>
      Math.max(...e.timeline.filter((point) => point.moment === moment).map(({ bytes }) => bytes)) / 2 ** 30;
    return { ...e, loading: highest('initialization'), backward: highest('backward') };
  };

  // PEFT reports 36.6 GB for each of two cards, which is what all of its weights take while they are loaded: 36.85e9 bytes
  // (https://github.com/huggingface/peft/blob/v0.21.0/docs/source/accelerate/deepspeed.md).
  it('are whole on every GPU before they are split, and fit where that fits', () => {
    for (const storage of ['bf16', 'uint8'] as const) {
      const { loading, backward, verdict, unmodelled, peak } = of({ 'quantization.storage': storage });
      assert.ok(loading > 34 && loading < 34.7, `${loading}`);
      assert.ok(backward < 0.85 * loading, `${backward} of ${loading}`);
      assert.deepEqual([verdict, unmodelled, peak.moment], ['fits', undefined, 'initialization']);
    }
    const many = of({ 'hardware.gpus': 8 });
    assert.ok(many.loading > 34, `${many.loading}`);
    assert.ok(many.backward < 20, `${many.backward}`);
  });

  it('are split but for their scales', () => {
    const rest = (values: RunValues) =>
      of(values).parts.find(({ category }) => category === 'quantized-weights')?.bytes ?? 0;
    // A step that is higher than loading.
    const long = { 'batch.micro': 8, 'batch.sequence': 8192 } as const;
    const [whole, halved, eighth] = [
      rest({ ...long, 'zero.stage': 2 }),
      rest(long),
      rest({ ...long, 'hardware.gpus': 8 }),
    ];
    // Codes of half a byte, a byte and an fp32 number per 256 of them for each block of 64.
    const scales = (1 + 4 / 256) / 64 / (0.5 + (1 + 4 / 256) / 64);
    const split = (gpus: number) => whole * (scales + (1 - scales) / gpus);
    assert.ok(Math.abs(halved / split(2) - 1) < 1e-3, `${halved} for ${split(2)}`);
    assert.ok(Math.abs(eighth / split(8) - 1) < 1e-3, `${eighth} for ${split(8)}`);
  });

  it('are gathered layer by layer', () => {
    const gathered = (values: RunValues) =>
      of({ 'batch.micro': 8, 'batch.sequence': 8192, ...values }).parts.find(
        ({ category }) => category === 'gathered-parameters',
      )?.bytes ?? 0;
    assert.ok(gathered({}) > gathered({ 'zero.maxReuseDistance': 0, 'zero.prefetchBucket': 0 }));
  });
});
