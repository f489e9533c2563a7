import assert from 'node:assert/strict';
import { bytesOf, emptyLedger } from '../../../server/src/memory/ledger';
import { shardingOf } from '../../../server/src/memory/sharding';
import { walkStep } from '../../../server/src/memory/step';
import { traceRun } from '../../../server/src/memory/traced-run';
import { sumWeights } from '../../../server/src/memory/weights';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, SMALL_LLAMA } from './a-run';

const LORA: RunValues = {
  'hardware.gpus': 2,
  'parallel.data': 'fsdp1',
  'method.kind': 'lora',
  'lora.rank': 8,
  'lora.targets': ['q_proj', 'v_proj'],
  'lora.dtype': 'bf16',
  'precision.weights': 'bf16',
  'precision.compute': 'bf16',
  'precision.scheme': 'native',
};

/** Gradients between micro steps and at the optimizer step, bytes. */
function gradientsOf(values: RunValues) {
  const run = aRun({ ...LORA, ...values });
  const stages = traceRun(aModel(SMALL_LLAMA), run);
  const sums = sumWeights(stages, run);
  const sharding = shardingOf(run, sums, stages);
  const walk = walkStep(stages, run, sharding, emptyLedger());
  const last = walk.points.findLast((point) => point.moment === 'backward');
  return {
    before: bytesOf(sharding.gradientsBefore, 'gradients'),
    atStep: bytesOf(sharding.gradientsAtStep, 'gradients'),
    afterBackward: bytesOf(last?.ledger ?? sharding.atRest, 'gradients'),
    adapters: sums.adapters,
    inLayers: sums.layers.elements,
  };
}

describe('frozen weights in a flat weight of FSDP 1', () => {
  it('have gradients where a policy wraps whole layers, adapters and all', () => {
    // 8 layers of 4 x 2048^2 + 3 x 2048 x 5632 + 2 x 2048 frozen and 2 x 8 x 4096 adapter elements; embedding and head have none.
    const elements = 8 * (4 * 2048 ** 2 + 3 * 2048 * 5632 + 2 * 2048 + 2 * 8 * 4096);
    const { before, atStep, inLayers } = gradientsOf({ 'model.code': 'litgpt', 'batch.accumulation': 4 });
    assert.equal(inLayers, elements);
    assert.equal(before, 2 * elements);
    assert.equal(atStep, (2 * elements) / 2);
  });

  it('leave their shards when backward is over', () => {
    const { before, atStep, afterBackward } = gradientsOf({ 'model.code': 'litgpt' });
    assert.equal(before, 0);
    assert.ok(Math.abs(afterBackward / atStep - 1) < 0.15, `${afterBackward} for ${atStep}`);
  });

  it('have none where PEFT wraps adapters apart', () => {
    const { before, atStep, adapters } = gradientsOf({ 'batch.accumulation': 4 });
    assert.equal(before, 2 * adapters);
    assert.equal(atStep, (2 * adapters) / 2);
  });

  it('have none under FSDP 2', () => {
    const { atStep, adapters } = gradientsOf({ 'model.code': 'litgpt', 'parallel.data': 'fsdp2' });
    assert.equal(atStep, (2 * adapters) / 2);
  });
});
