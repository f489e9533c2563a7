import assert from 'node:assert/strict';
import { memoryEffect } from '../../../server/src/features/memory-effects';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const ROOT = 'file:///repo';

async function analyzed(evaluationBatch: number) {
  const files = {
    [`${ROOT}/a.yaml`]: `run:
  model.id: Qwen/Qwen2.5-0.5B
  hardware.gpu: H100
  hardware.gpus: 1
  batch.micro: 1
  batch.sequence: 512
  evaluation.enabled: true
  evaluation.batch: ${evaluationBatch}
`,
  };
  const analysis = await new Workspace(new MemoryHost(files, { folders: [ROOT] })).analyze(`${ROOT}/a.yaml`);
  assert.ok(analysis?.estimate, 'no estimate');
  return analysis;
}

describe('what a field of a moment beside the step costs', () => {
  it('is nothing where the peak is in the step, though the step has parts of that kind', async () => {
    const analysis = await analyzed(1);
    assert.notEqual(analysis.estimate?.peak.moment, 'evaluation');
    assert.equal(memoryEffect(analysis, ['evaluation.batch']), 'no effect on the peak');
  });

  it('is its parts where it is the peak', async () => {
    const analysis = await analyzed(64);
    assert.equal(analysis.estimate?.peak.moment, 'evaluation');
    assert.match(memoryEffect(analysis, ['evaluation.batch']) ?? '', /^logits and loss .* GiB.* peak$/);
  });
});

describe('what a field costs of which nothing is known alone', () => {
  it('is left open: what is not estimated, what a release does, steps that LISA switches layers after', async () => {
    const analysis = await analyzed(1);
    for (const field of ['features.unmodelled', 'version.transformers', 'schedule.steps'] as const)
      assert.equal(memoryEffect(analysis, [field]), undefined, field);
    assert.equal(memoryEffect(analysis, ['lora.alpha']), 'no effect on the peak');
  });
});
