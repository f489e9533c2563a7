import assert from 'node:assert/strict';
import { computeEstimate } from '../../../server/src/compute/flops';
import { flopFigures } from '../../../server/src/explanation/flop-figures';
import { traceRun } from '../../../server/src/memory/traced-run';
import type { DetailNode } from '../../../server/src/results/detail-node';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, SMALL_LLAMA } from '../memory/a-run';

const llama = aModel(SMALL_LLAMA);

function addsUp({ name, value, children }: DetailNode): void {
  if (!children || children.length === 0) return;
  const sum = children.reduce((total, child) => total + child.value, 0);
  assert.ok(Math.abs(sum - value) <= 1e-6 * Math.abs(value), `${name}: ${sum} of ${value}`);
  for (const child of children) addsUp(child);
}

describe('figures of FLOPs', () => {
  const RUNS: Readonly<Record<string, RunValues>> = {
    'a plain step': {},
    checkpointing: { 'activations.checkpointing': 'full', 'activations.reentrant': false },
    'LoRA with a reference': { 'method.kind': 'lora', 'method.objective': 'dpo' },
    'a value model, a reference and a reward model': {
      'method.objective': 'ppo',
      'method.valueModel': true,
      'method.referenceModel': true,
      'method.frozenModels': 1,
    },
    'a teacher': { 'method.frozenParameters': 7e9, 'batch.accumulation': 3 },
  };
  for (const [name, values] of Object.entries(RUNS)) {
    it(`add up to the step: ${name}`, () => {
      const run = aRun({ 'batch.sequence': 256, ...values });
      const stages = traceRun(llama, run);
      const compute = computeEstimate(stages, run);
      const [root] = flopFigures(stages, run, compute, { batch: 1, sequence: 256 });
      assert.equal(root?.value, compute.flopsPerStep);
      if (root) addsUp(root);
    });
  }
});
