import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import { breakdownOf } from '../../../server/src/features/breakdown';
import { findAccelerator } from '../../../server/src/hardware/catalog';
import { findModel } from '../../../server/src/model/catalog';
import { notesOf } from '../../../server/src/model/model';
import type { RunValues } from '../../../server/src/run/fields';
import { aRun } from '../memory/a-run';
import { smallWorkspace } from '../workspace/small-workspace';

const accelerator = findAccelerator('A100') ?? assert.fail();

function notes(id: string, values: RunValues): readonly string[] {
  const model = findModel(id) ?? assert.fail(id);
  return estimate({ run: aRun({ 'batch.sequence': 512, ...values }), model, accelerator }).notes;
}

describe('notes on images', () => {
  const SIZE = /are taken to be \d+ × \d+ pixels|is taken for|is cut into/;
  const ANY = /an image|images are|image tokens/;

  for (const id of [
    'Qwen/Qwen2.5-VL-3B-Instruct',
    'LiquidAI/LFM2.5-VL-1.6B',
    'microsoft/swin-tiny-patch4-window7-224',
  ]) {
    it(`of ${id} name a size only where the run states none`, () => {
      assert.ok(notes(id, {}).some((note) => SIZE.test(note)));
      assert.deepEqual(
        notes(id, { 'batch.imagePixels': 512 ** 2 }).filter((note) => SIZE.test(note)),
        [],
      );
    });
  }

  it('name no other size than the run has where no estimate is made', async () => {
    const shown = async (id: string, comment = '') => {
      const text = `${comment}from transformers import AutoModelForObjectDetection, Trainer, TrainingArguments
model = AutoModelForObjectDetection.from_pretrained("${id}")
Trainer(model=model, args=TrainingArguments("o"), train_dataset=rows).train()
`;
      const analysis = await smallWorkspace({ 'train.py': text }).analyze('train.py');
      assert.equal(analysis.estimate, undefined);
      return breakdownOf(analysis).notes.filter((note) => SIZE.test(note));
    };
    assert.equal((await shown('facebook/detr-resnet-50')).length, 1);
    assert.deepEqual(await shown('facebook/detr-resnet-50', '# oomlint: batch.imagePixels=360000\n'), []);
  });

  it('are none where samples hold text alone', () => {
    for (const id of ['google/gemma-3n-E2B', 'google/gemma-3-4b-it', 'Qwen/Qwen2.5-VL-3B-Instruct']) {
      const shown = notes(id, { 'batch.images': 0 });
      assert.deepEqual(
        shown.filter((note) => ANY.test(note)),
        [],
      );
      assert.ok(notesOf(findModel(id), {}).some((note) => ANY.test(note)));
    }
  });
});
