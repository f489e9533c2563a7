import assert from 'node:assert/strict';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

async function estimated(model: string, batch: string) {
  const uri = 'file:///w/run.oomlint.yaml';
  const text = `run:\n  model: { id: ${model} }\n  hardware: { gpu: B200, gpus: 1 }\n  method: full\n  batch: { micro: 2, images: 1, ${batch} }\n`;
  const analysis = await new Workspace(new MemoryHost({ [uri]: text })).analyze(uri);
  assert.ok(analysis?.estimate, JSON.stringify(analysis?.problems));
  const { verdict, unmodelled = [], notes } = analysis.estimate;
  return {
    verdict,
    cut: unmodelled.includes('cut-image-tokens'),
    note: notes.find((one) => one.includes('do not match')),
  };
}

describe('images whose tokens do not go into the text', () => {
  it('make no step that runs: nothing fits', async () => {
    const smol = await estimated('HuggingFaceTB/SmolVLM-Instruct', 'sequence: 1024, imageTiles: 17');
    assert.deepEqual([smol.verdict, smol.cut], ['unknown', true]);
    // 17 tiles of 81 tokens, in each of two samples.
    assert.match(smol.note ?? '', /^Images take 2,754 tokens of a text that has 2,048/);
  });

  it('go in where samples are longer, or images smaller', async () => {
    for (const batch of ['sequence: 1400', 'sequence: 1024, imageTiles: 5'])
      assert.equal((await estimated('HuggingFaceTB/SmolVLM-Instruct', batch)).cut, false, batch);
    const qwen = 'Qwen/Qwen3-VL-8B-Instruct';
    assert.equal((await estimated(qwen, 'sequence: 256, imagePixels: 451584')).cut, true);
    assert.equal((await estimated(qwen, 'sequence: 256, imagePixels: 65536')).cut, false);
  });

  it('are noted where images may be smaller, and withhold nothing then', async () => {
    for (const [model, batch] of [
      ['HuggingFaceTB/SmolVLM-Instruct', 'sequence: 1024'],
      ['Qwen/Qwen3-VL-8B-Instruct', 'sequence: 256'],
    ] as const) {
      const { verdict, cut, note } = await estimated(model, batch);
      assert.deepEqual([verdict, cut], ['fits', false], model);
      assert.match(note ?? '', /do not match/);
    }
  });
});
