import assert from 'node:assert/strict';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const ROOT = 'file:///repo';
const config = (offload: string) => `{
  "train_micro_batch_size_per_gpu": 1,
  "bf16": {"enabled": true},
  "zero_optimization": {
    "stage": 2,
    "offload_optimizer": {"device": "${offload}", "pin_memory": false}
  },
  "optimizer": {"type": "AdamW", "params": {"lr": 1e-5}}
}`;

async function analyzed(offload: string, hostMemory: string) {
  const files = {
    [`${ROOT}/a.json`]: config(offload),
    [`${ROOT}/oomlint.yaml`]: `targets: {gpu: H100, gpus: 8, hardware.hostMemory: ${hostMemory}}\ndefaults: {model: meta-llama/Llama-3.1-8B, sequence: 1024, loading.hostCopies: none}\n`,
  };
  const analysis = await new Workspace(new MemoryHost(files, { folders: [ROOT] })).analyze(`${ROOT}/a.json`);
  assert.ok(analysis?.estimate, 'no estimate');
  return analysis;
}

describe('host memory as a problem', () => {
  it('is a warning at the key that moves states to the host, where a node has less', async () => {
    const { problems, estimate } = await analyzed('cpu', '64GiB');
    assert.equal(estimate?.host.verdict, 'exceeds');
    const found = problems.filter(({ code }) => code === 'host-memory');
    assert.equal(found.length, 1);
    assert.equal(found[0]?.severity, 'warning');
    // 18 bytes of each of 8.03 G parameters.
    assert.match(
      found[0]?.message ?? '',
      /142\.4 of 64\.0 GiB while it trains; most of it optimizer states 59\.8 GiB/,
    );
    const line = config('cpu')
      .split('\n')
      .findIndex((text) => text.includes('offload_optimizer'));
    assert.equal(found[0]?.range.start.line, line);
  });

  it('is none where it suffices, is not needed or not known', async () => {
    for (const [offload, memory] of [
      ['cpu', '1TiB'],
      ['none', '64GiB'],
    ] as const) {
      const { problems } = await analyzed(offload, memory);
      assert.ok(!problems.some(({ code }) => code === 'host-memory'));
    }
  });
});
