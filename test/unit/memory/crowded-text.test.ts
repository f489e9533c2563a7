import assert from 'node:assert/strict';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

async function estimated(model: string, batch: string, release = '5.23.0', method = 'method: full') {
  const uri = 'file:///w/run.oomlint.yaml';
  const text = `run:\n  model: { id: ${model} }\n  hardware: { gpu: B200, gpus: 1 }\n  ${method}\n  batch: { micro: 2, images: 1, ${batch} }\n  version: { transformers: "${release}" }\n`;
  const analysis = await new Workspace(new MemoryHost({ [uri]: text })).analyze(uri);
  assert.ok(analysis?.estimate, JSON.stringify(analysis?.problems));
  const { verdict, unmodelled = [], notes } = analysis.estimate;
  return {
    verdict,
    cut: unmodelled.includes('cut-image-tokens'),
    note: notes.find((one) => /do not match|not divisible/.test(one)),
  };
}

describe('images whose tokens do not go into the text', () => {
  it('make no step that runs: nothing fits', async () => {
    const smol = await estimated('HuggingFaceTB/SmolVLM-Instruct', 'sequence: 1024, imageTiles: 17');
    assert.deepEqual([smol.verdict, smol.cut], ['unknown', true]);
    // 17 tiles of 81 tokens, in each of two samples.
    assert.match(smol.note ?? '', /^Images take 1,377 tokens of a text that has 1,024/);
  });

  it('are counted of one text, where a loss computes two per sample', async () => {
    const { note } = await estimated(
      'HuggingFaceTB/SmolVLM-Instruct',
      'sequence: 1024, imageTiles: 17',
      '5.23.0',
      'method: { kind: full, objective: dpo }',
    );
    assert.match(note ?? '', /^Images take 1,377 tokens of a text that has 1,024/);
  });

  it('are left where a release of Idefics 3 counts none', async () => {
    const id = 'HuggingFaceTB/SmolVLM-Instruct';
    const cutBy = async (release: string, model = id) =>
      (await estimated(model, 'sequence: 1024, imageTiles: 17', release)).cut;
    assert.deepEqual(
      await Promise.all(['4.53.3', '4.57.1', '5.20.2', '5.21.0'].map((release) => cutBy(release))),
      [true, false, false, true],
    );
  });

  it('stop SmolVLM inside of a tile, in releases that ask for whole ones', async () => {
    const id = 'HuggingFaceTB/SmolVLM2-2.2B-Instruct';
    const noteBy = async (release: string) =>
      (await estimated(id, 'sequence: 1024, imageTiles: 17', release)).note ?? '';
    assert.match(await noteBy('4.57.1'), /not divisible by patch_size/);
    assert.match(await noteBy('5.23.0'), /do not match/);
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

  it('leave a verdict only as far as it is that of a text with them, where nothing cuts it', async () => {
    const of = async (gpu: string) => {
      const uri = 'file:///w/train.py';
      const text = `# oomlint: gpu=${gpu} gpus=1
import torch
from peft import LoraConfig
from transformers import BitsAndBytesConfig, Mistral3ForConditionalGeneration
from trl import GRPOConfig, GRPOTrainer
quantized = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.float16)
model = Mistral3ForConditionalGeneration.from_pretrained("mistralai/Ministral-3-3B-Instruct-2512-BF16", quantization_config=quantized, dtype=torch.float16)
args = GRPOConfig(bf16=False, per_device_train_batch_size=8, num_generations=2, max_completion_length=1024)
adapters = LoraConfig(r=8, target_modules=["q_proj", "v_proj"])
GRPOTrainer(model=model, reward_funcs=score, args=args, train_dataset=images, peft_config=adapters).train()
`;
      const analysis = await new Workspace(new MemoryHost({ [uri]: text })).analyze(uri);
      assert.ok(analysis?.estimate?.crowdsText, JSON.stringify(analysis?.problems));
      return analysis.estimate;
    };
    const [large, small] = [await of('B200'), await of('L4')];
    assert.deepEqual([large.verdict, small.verdict], ['fits', 'unknown']);
    assert.ok(small.unmodelled?.includes('cut-image-tokens'));
    // The band reaches to what they take with them.
    assert.ok(large.peak.upperBytes > 1.4 * large.peak.processBytes);
  });
});
