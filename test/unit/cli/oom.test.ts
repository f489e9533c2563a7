import assert from 'node:assert/strict';
import { oomlint } from './oomlint';

const LOG = 'test/fixtures/logs/torch-2.5-loss.log';
const CONFIG = 'examples/zero3-llama-8b.json';

const run = (...args: string[]) => oomlint(args, process.cwd());

describe('oomlint oom', () => {
  it('tells tensor, moment, key and what would make room', async () => {
    const { code, out } = await run('oom', LOG, CONFIG);
    assert.equal(code, 1);
    assert.match(out, /^Run: examples\/zero3-llama-8b\.json$/m);
    assert.match(out, /torch-2\.5-loss\.log:8 {2}CUDA out of memory: 3\.9 GiB asked for \(rank 3\)/);
    assert.match(
      out,
      /^ {2}copy of the logits \(head; the loss; 4 B × 2 samples × 4096 tokens × 128256 = 3\.9 GiB\)$/m,
    );
    assert.match(out, /Shaped by: train_micro_batch_size_per_gpu \(zero3-llama-8b\.json:2\)/);
    assert.match(out, /^ {2}1\. .+ by the estimate, /m);
  });

  it('reports what the message states where no config is found', async () => {
    const { code, out } = await run('oom', LOG);
    assert.equal(code, 1);
    assert.match(out, /^No config of the run was found/);
    assert.doesNotMatch(out, /Estimate|copy of the logits \(/);
  });

  it('gives programs the same', async () => {
    const { out } = await run('oom', LOG, CONFIG, '--json');
    const report = JSON.parse(out);
    assert.equal(report.run.by, 'name');
    const [message] = report.messages;
    assert.equal(message.rank, 3);
    assert.equal(message.moment, 'loss');
    assert.equal(message.tensors[0].bytes, 2 * 4096 * 128_256 * 4);
    assert.equal(message.causes[0].kind, 'excess');
    assert.ok(message.relief.length > 0);
  });

  it('finds nothing in a file without a message, and reports what it cannot read', async () => {
    const { code, out } = await run('oom', CONFIG);
    assert.equal(code, 0);
    assert.match(out, /^No message in /);
    const missing = await run('oom', 'nowhere.log');
    assert.equal(missing.code, 2);
    assert.match(missing.err, /nowhere\.log cannot be read/);
    assert.equal((await run('oom', LOG, 'nowhere.yaml')).code, 2);
  });
});
