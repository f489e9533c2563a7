import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import { findAccelerator } from '../../../server/src/hardware/catalog';
import { findModel } from '../../../server/src/model/catalog';
import { notesOf } from '../../../server/src/model/model';
import type { RunValues } from '../../../server/src/run/fields';
import { aRun } from '../memory/a-run';
import { smallWorkspace } from '../workspace/small-workspace';

const accelerator = findAccelerator('H100') ?? assert.fail();

function peak(model: string, values: RunValues): number {
  const known = findModel(model) ?? assert.fail(model);
  const run = aRun({ 'batch.images': 8, 'method.trainable': ['visual.*'], ...values });
  return estimate({ run, model: known, accelerator }).peak.allocatedBytes;
}

async function pixels(name: string, text: string): Promise<unknown> {
  const analysis = await smallWorkspace({ [name]: text }).analyze(name);
  return analysis.resolved.values['batch.imagePixels'];
}

describe('pixels of an image', () => {
  it('decide how many patches a tower sees that keeps its size', () => {
    for (const model of ['Qwen/Qwen2.5-VL-3B-Instruct', 'Qwen/Qwen3-VL-2B-Instruct']) {
      const assumed = peak(model, {});
      assert.equal(peak(model, { 'batch.imagePixels': 672 * 672 }), assumed, model);
      assert.ok(peak(model, { 'batch.imagePixels': 1344 * 1344 }) > assumed, model);
      assert.ok(peak(model, { 'batch.imagePixels': 224 * 224 }) < assumed, model);
      assert.ok(peak(model, { 'batch.imagePixels': 1 }) > 0, model);
    }
  });

  it('decide how many patches of Pixtral there are, up to the largest image', () => {
    const model = 'mistralai/Ministral-3-3B-Instruct-2512';
    const of = (values: RunValues) => peak(model, { 'method.trainable': ['vision_tower.*'], ...values });
    const assumed = of({});
    assert.equal(of({ 'batch.imagePixels': 1540 * 1540 }), assumed);
    assert.equal(of({ 'batch.imagePixels': 4000 * 4000 }), assumed);
    assert.ok(of({ 'batch.imagePixels': 512 * 512 }) < assumed);
  });

  it('decide into how many tiles an image is cut', () => {
    const model = 'llava-hf/llava-onevision-qwen2-0.5b-ov-hf';
    const assumed = peak(model, { 'batch.images': 1, 'method.trainable': ['.*'] });
    const tiles = (pixels: number) =>
      peak(model, { 'batch.images': 1, 'method.trainable': ['.*'], 'batch.imagePixels': pixels });
    // Two by two tiles of 384 pixels hold 672 pixels, as they hold 768.
    assert.equal(tiles(768 * 768), assumed);
    assert.ok(tiles(384 * 384) < assumed);
    assert.ok(tiles(1200 * 1200) > assumed);
    const notes = notesOf(findModel('llava-hf/llava-v1.6-mistral-7b-hf'), {});
    // 672 x 672: four tiles and the whole, 576 tokens each, with 48 ends of lines.
    assert.ok(
      notes.some((note) => note.includes('5 tiles, 2928 tokens')),
      notes.join(),
    );
  });

  it('are fixed by other towers', () => {
    const model = 'google/gemma-3-4b-pt';
    assert.equal(peak(model, { 'batch.imagePixels': 4e6 }), peak(model, {}));
  });

  it('are read from LLaMA-Factory, and its default for models that see images', async () => {
    const recipe = (model: string, more = '') =>
      `model_name_or_path: ${model}\nstage: sft\ndo_train: true\nfinetuning_type: lora\ndataset: mllm_demo\ntemplate: qwen2_vl\noutput_dir: out\n${more}`;
    assert.equal(await pixels('a.yaml', recipe('Qwen/Qwen2.5-VL-7B-Instruct')), 589_824);
    assert.equal(
      await pixels('a.yaml', recipe('Qwen/Qwen2.5-VL-7B-Instruct', 'image_max_pixels: 262144\n')),
      262_144,
    );
    assert.equal(await pixels('a.yaml', recipe('Qwen/Qwen3-4B')), undefined);
  });

  it("are read from ms-swift's environment", async () => {
    const script =
      'MAX_PIXELS=1003520 swift sft --model Qwen/Qwen2.5-VL-7B-Instruct --dataset a --train_type lora\n';
    assert.equal(await pixels('a.sh', script), 1_003_520);
  });
});
