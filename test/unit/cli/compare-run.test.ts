import assert from 'node:assert/strict';
import { oomlint } from './oomlint';

const RUN = 'test/fixtures/logs/zero3-run';
const CONFIG = 'examples/zero3-llama-8b.json';

const run = (...args: string[]) => oomlint(args, process.cwd());

describe('oomlint compare-run', () => {
  it('holds the peaks of steps to the estimate, and lists what has no like', async () => {
    const { code, out } = await run('compare-run', RUN, CONFIG);
    assert.equal(code, 0, out);
    assert.match(
      out,
      /✓ 31\.1 GiB in tensors measured, \d+\.\d GiB estimated \([+−]\d\.\d %\); metrics, step 2/,
    );
    assert.match(out, /✓ 36\.0 GiB held by the allocator measured/);
    // The peak up to a moment before the first step is none of the steps.
    assert.match(out, /^ {2}14\.0 GiB in tensors \(DeepSpeed, After initializing optimizer states\)$/m);
    assert.match(out, /92\.6 GiB of the machine/);
    assert.match(out, /All of it lies within/);
  });

  it('reports what can explain a difference', async () => {
    const { code, out } = await run('compare-run', RUN, CONFIG, '--set', 'batch.sequence=1024');
    assert.equal(code, 1);
    assert.match(out, /≠ 31\.1 GiB in tensors measured/);
    assert.match(out, /What can explain \d+\.\d GiB more than estimated/);
  });

  it('reads a snapshot, and refuses one that would run something', async () => {
    const { out } = await run('compare-run', 'test/fixtures/snapshots/step-4.pickle', CONFIG);
    assert.match(out, /Snapshot of GPU 0: 22 events, 1\.8 GiB at the highest point/);
    assert.match(out, /512 MiB {2}llama\/modeling_llama\.py:312 forward × 8/);
    const evil = await run('compare-run', 'test/fixtures/snapshots/evil.pickle', CONFIG);
    assert.equal(evil.code, 2);
    assert.match(evil.err, /more than plain data/);
  });

  it('reports where nothing was measured', async () => {
    const { code, err } = await run('compare-run', 'examples/README.md', CONFIG);
    assert.equal(code, 2);
    assert.match(err, /Nothing in examples\/README\.md says how much memory/);
    assert.equal((await run('compare-run', 'nowhere')).code, 2);
  });

  it('finds the run in the arguments that ms-swift left beside its figures', async () => {
    const { out, err } = await run('compare-run', 'test/fixtures/logs/swift-run', '--gpu', 'A100-80GB');
    assert.equal(err, '');
    assert.match(out, /^Run: test\/fixtures\/logs\/swift-run\/args\.json, the only config beside the log$/m);
    assert.match(out, /26\.3 GiB held by the allocator measured, \d+\.\d GiB estimated .*ms-swift, step 5$/m);
  });

  it("reads LLaMA-Factory's figures of each step, the GiB that they are", async () => {
    const { out } = await run('compare-run', 'test/fixtures/logs/llama-factory-run');
    assert.match(out, /^ {2}20\.0 GiB in tensors \(LLaMA-Factory, highest of 2\)$/m);
    assert.match(out, /^ {2}23\.4 GiB held by the allocator \(LLaMA-Factory, highest of 2\)$/m);
  });

  it('gives programs the same', async () => {
    const report = JSON.parse((await run('compare-run', RUN, CONFIG, '--json')).out);
    assert.deepEqual(
      report.comparison.compared.map((one: { kind: string; within: boolean }) => [one.kind, one.within]),
      [
        ['allocated', true],
        ['reserved', true],
      ],
    );
  });
});

describe('oomlint measured --export', () => {
  it('is one line without paths, names or data', async () => {
    const { code, out } = await run('measured', RUN, CONFIG, '--export');
    assert.equal(code, 0);
    assert.equal(out.trim().split('\n').length, 1);
    const row = JSON.parse(out);
    assert.equal(row.settings['batch.sequence'], 4096);
    assert.equal(row.settings['model.id'], 'meta-llama/Llama-3.1-8B');
    assert.equal(row.measured.length, 4);
    assert.doesNotMatch(out, /zero3-llama-8b\.json|zero3-run|fixtures|output\.log|\/work|\/home/);
  });
});
