import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Applied } from '../../server/src/features/advice-protocol';
import type { ExplainedOom } from '../../server/src/features/oom-protocol';
import { TestServer } from './server-process';

const LOG = readFileSync('test/fixtures/logs/torch-2.5-loss.log', 'utf8');
const CONFIG =
  '{"train_micro_batch_size_per_gpu": 2, "bf16": {"enabled": true}, "zero_optimization": {"stage": 3}}\n';
const PROJECT =
  'targets:\n  gpu: A100-SXM4-40GB\n  gpus: 8\ndefaults:\n  model: meta-llama/Llama-3.1-8B\n  sequence: 4096\n';

describe('out-of-memory messages', function () {
  this.timeout(60_000);
  let server: TestServer;
  afterEach(async () => {
    await server.stop();
  });
  const explain = (params: object) => server.request<ExplainedOom>('oomlint/explainOutOfMemory', params);

  it('are explained by the config beside the log, or the one that is named', async () => {
    server = await TestServer.start({ files: { 'oomlint.yaml': PROJECT, 'ds.json': CONFIG } });
    const uri = await server.open('ds.json', CONFIG);
    const folder = uri.slice(0, uri.lastIndexOf('/'));
    for (const params of [{ folder }, { config: uri }]) {
      const { messages, config } = await explain({ text: LOG, ...params });
      assert.equal(config, uri);
      assert.equal(messages.length, 1);
      assert.equal(messages[0]?.line, 7);
      assert.equal(messages[0]?.title, 'CUDA out of memory: 3.9 GiB asked for (rank 3)');
      assert.match(
        messages[0]?.markdown ?? '',
        /copy of the logits \\?\(head; the loss; 4 B × 2 samples × 4096 tokens/,
      );
      assert.match(messages[0]?.markdown ?? '', /What would make room/);
      const [relief] = messages[0]?.reliefs ?? [];
      assert.ok(relief && Object.keys(relief.values).length > 0);
      const { values, fix } = relief;
      const applied = await server.request<Applied>('oomlint/apply', { uri, values, fix });
      assert.ok(applied.edit || applied.byHand.length > 0 || applied.left.length > 0, relief.title);
    }
  });

  it('are found at once, and are explained by themselves where nothing else is known', async () => {
    server = await TestServer.start({});
    const titles = await explain({ text: LOG, titlesOnly: true });
    assert.deepEqual(titles.messages, [
      { line: 7, title: 'CUDA out of memory: 3.9 GiB asked for (rank 3)', markdown: '' },
    ]);
    const alone = await explain({ text: LOG });
    assert.equal(alone.config, undefined);
    assert.match(alone.messages[0]?.markdown ?? '', /No config of the run was found/);
    assert.deepEqual((await explain({ text: 'step 1 loss 2.0' })).messages, []);
  });
});
