import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseConfig } from '../../../server/src/config/parse';
import { detectDialect, mightBeTrainingConfig } from '../../../server/src/dialects/registry';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { processorMs } from '../processor-time';

const FOLDER = path.join('test', 'fixtures', 'not-configs');

/** Files of every kind that a workspace holds beside its training configs. */
const FILES = readdirSync(FOLDER, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map(({ parentPath, name }) => {
    const file = path.join(parentPath, name);
    return { name, uri: `file:///project/${path.relative(FOLDER, file)}`, text: readFileSync(file, 'utf8') };
  });

describe('files that are no training config', () => {
  it('are many and of many kinds', () => {
    assert.ok(FILES.length >= 100, String(FILES.length));
  });

  for (const { name, uri, text } of FILES) {
    it(`${uri.slice('file:///project/'.length)} is nobody's`, () => {
      const worth = mightBeTrainingConfig(text, name);
      assert.equal(worth ? detectDialect(parseConfig(uri, text))?.id : undefined, undefined);
    });
  }

  it('get no analysis and so no diagnostic, side by side in one workspace', async () => {
    const host = new MemoryHost(Object.fromEntries(FILES.map(({ uri, text }) => [uri, text])), {
      folders: ['file:///project'],
    });
    const workspace = new Workspace(host);
    for (const { uri } of FILES) assert.equal(await workspace.analyze(uri), undefined, uri);
  });

  it('mostly end at their first words, in well under a millisecond', async () => {
    const turned = FILES.filter(({ name, text }) => !mightBeTrainingConfig(text, name));
    assert.ok(turned.length >= 0.8 * FILES.length, `${turned.length} of ${FILES.length}`);
    const looks = 200;
    const took = await processorMs(() => {
      for (let i = 0; i < looks; i++) for (const { name, text } of turned) mightBeTrainingConfig(text, name);
    });
    const each = took / looks / turned.length;
    console.log(`      ${turned.length} of ${FILES.length} are turned away, ${each.toFixed(4)} ms each`);
    assert.ok(each < 0.5, `${each} ms`);
  });
});

describe('configs of a trainer that train nothing', () => {
  const detected = (text: string) => detectDialect(parseConfig('file:///a.yaml', text))?.id;

  it("are inference among Megatron's functional tests", () => {
    const config = 'MODEL_ARGS:\n  --num-layers: 24\n  --micro-batch-size: 1\n';
    assert.equal(detected(`MODE: pretraining\n${config}`), 'megatron');
    assert.equal(detected(`MODE: inference\n${config}`), undefined);
  });

  it('are generation, quantization, conversion and evaluation of NeMo', () => {
    const config = 'trainer:\n  devices: 8\nmodel:\n  micro_batch_size: 1\n  tensor_model_parallel_size: 2\n';
    assert.equal(detected(config), 'nemo');
    for (const more of [
      'inference:\n  greedy: false\n',
      'quantization:\n  algorithm: fp8\nexport:\n  decoder_type: gpt\n',
      'pred_file_path: out.txt\n',
      'run:\n  convert_name: to_nemo\n',
      'run:\n  eval_name: lambada\n',
    ])
      assert.equal(detected(config + more), undefined, more);
  });
});
