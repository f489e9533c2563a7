import assert from 'node:assert/strict';
import type { Sample } from '../../../server/src/results/estimate';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

describe('layers that the timeline skips', () => {
  it('are counted: with the samples of layers they are all that there are, in each pass', async () => {
    const workspace = new Workspace(
      new MemoryHost(
        {
          'file:///p/ds.json':
            '{"train_micro_batch_size_per_gpu":1,"bf16":{"enabled":true},"zero_optimization":{"stage":2}}',
          'file:///p/oomlint.yaml':
            'targets:\n  gpu: H100\n  gpus: 8\ndefaults:\n  model: meta-llama/Llama-3.1-8B\n  sequence: 4096\n',
        },
        { folders: ['file:///p'] },
      ),
    );
    const estimate = (await workspace.analyze('file:///p/ds.json'))?.estimate;
    assert.ok(estimate);
    for (const moment of ['forward', 'backward']) {
      const layers: readonly Sample[] = estimate.timeline.filter(
        (sample) => sample.moment === moment && /^layer \d/.test(sample.label),
      );
      const skipped = layers.reduce((sum, sample) => sum + (sample.skipped ?? 0), 0);
      assert.ok(skipped > 0, moment);
      assert.equal(layers.length + skipped, 32, moment);
    }
  });
});
