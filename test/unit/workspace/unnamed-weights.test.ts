import assert from 'node:assert/strict';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const ROOT = 'file:///repo';
const XL = {
  model_type: 'gpt2',
  n_embd: 1600,
  n_layer: 48,
  n_head: 25,
  n_positions: 1024,
  vocab_size: 50257,
};

async function estimated(text: string, file: string, card: string, config: Record<string, unknown>) {
  const files = { [`${ROOT}/${file}`]: text, [`${ROOT}/model/config.json`]: JSON.stringify(config) };
  const host = new MemoryHost(files, { folders: [ROOT] });
  const workspace = new Workspace(host, { settings: () => ({ 'hardware.gpu': card, 'hardware.gpus': 1 }) });
  const analysis = await workspace.analyze(`${ROOT}/${file}`);
  assert.ok(analysis?.estimate);
  return analysis.estimate;
}

const RECIPES = {
  'run.sh':
    'python run_clm.py --model_name_or_path ./model --per_device_train_batch_size 1 --block_size 1024 --torch_dtype auto --do_train --output_dir o\n',
  'ms-swift.yaml':
    'model: ./model\nmodel_type: gpt2\ntrain_type: full\ndataset: a\nmax_length: 1024\nper_device_train_batch_size: 1\nbf16: true\n',
};

// `from_pretrained` takes the type of the checkpoint's first floating weight there (transformers 5.23, `_get_dtype`): that of
// GPT-2 XL, published in 2019, is fp32, and needs twice as much.
describe('weights of a model whose config names no type', () => {
  for (const [file, text] of Object.entries(RECIPES)) {
    it(`may be in fp32 (${file}): no run fits that would not then`, async () => {
      const wide = await estimated(text, file, 'A100-SXM4-80GB', { ...XL, torch_dtype: 'float32' });
      const low = await estimated(text, file, 'A100-SXM4-80GB', { ...XL, torch_dtype: 'bfloat16' });
      const unnamed = await estimated(text, file, 'A100-SXM4-80GB', XL);
      assert.ok(low.peak.upperBytes < wide.peak.upperBytes);
      assert.ok(unnamed.peak.upperBytes > wide.peak.lowerBytes);
      assert.ok(unnamed.peak.lowerBytes <= low.peak.lowerBytes);
      const small = 'RTX 3090';
      assert.equal(
        (await estimated(text, file, small, { ...XL, torch_dtype: 'float32' })).verdict,
        'exceeds',
      );
      assert.notEqual((await estimated(text, file, small, XL)).verdict, 'fits');
    });
  }
});
