import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import { findAccelerator } from '../../../server/src/hardware/catalog';
import { findModel } from '../../../server/src/model/catalog';
import type { RunValues } from '../../../server/src/run/fields';
import { aRun } from '../memory/a-run';

const IMAGES: RunValues = {
  'hardware.gpu': 'A100-SXM4-80GB',
  'batch.sequence': 2048,
  'precision.weights': 'bf16',
  'method.kind': 'lora',
  'lora.targets': ['all-linear'],
};

function peaks(id: string, values: RunValues) {
  const [model, accelerator] = [findModel(id), findAccelerator('A100-SXM4-80GB')];
  assert.ok(model && accelerator);
  return estimate({ model, accelerator, run: aRun({ ...IMAGES, ...values }) }).peak;
}

describe('Images that a processor cuts into tiles', () => {
  const TILED: Readonly<Record<string, number>> = {
    'HuggingFaceTB/SmolVLM-Instruct': 17,
    'OpenGVLab/InternVL3-2B-hf': 13,
    'LiquidAI/LFM2-VL-1.6B': 11,
  };

  for (const [id, most] of Object.entries(TILED))
    it(`${id}: as many as it makes at most, and at least one`, () => {
      const open = peaks(id, {});
      const [one, all] = [peaks(id, { 'batch.imageTiles': 1 }), peaks(id, { 'batch.imageTiles': most })];
      assert.equal(open.processBytes, all.processBytes);
      assert.equal(open.lowerBytes, one.lowerBytes);
      assert.ok(one.processBytes < all.processBytes);
    });

  it('are one where the image is no larger than a tile', () => {
    const small = { 'batch.imagePixels': 512 * 512 };
    const one = peaks('LiquidAI/LFM2-VL-1.6B', { ...small, 'batch.imageTiles': 1 });
    assert.equal(peaks('LiquidAI/LFM2-VL-1.6B', small).processBytes, one.processBytes);
  });

  it('are none where samples are texts', () => {
    const texts = peaks('HuggingFaceTB/SmolVLM-Instruct', { 'batch.images': 0 });
    const one = peaks('HuggingFaceTB/SmolVLM-Instruct', { 'batch.images': 0, 'batch.imageTiles': 1 });
    assert.deepEqual([texts.processBytes, texts.lowerBytes], [one.processBytes, one.lowerBytes]);
  });
});
