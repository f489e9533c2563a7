import assert from 'node:assert/strict';
import { traceRun } from '../../../server/src/memory/traced-run';
import { sumWeights } from '../../../server/src/memory/weights';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, SMALL_LLAMA } from './a-run';

const SMALL = {
  ...SMALL_LLAMA,
  hidden_size: 256,
  intermediate_size: 1024,
  num_attention_heads: 4,
  num_key_value_heads: 4,
};

function traced(more: RunValues) {
  const run = aRun({
    'batch.micro': 1,
    'batch.sequence': 2048,
    'precision.weights': 'bf16',
    'precision.compute': 'bf16',
    'precision.scheme': 'native',
    ...more,
  });
  return { run, stages: traceRun(aModel(SMALL), run) };
}

const ADAPTERS: RunValues = { 'method.kind': 'lora', 'lora.rank': 8, 'lora.targets': ['q_proj'] };

describe('an MLP on parts of the tokens', () => {
  it('takes what PyTorch takes for it', () => {
    const { stages } = traced({ ...ADAPTERS, 'kernels.tiledMlp': true });
    const found = stages.flatMap(({ tape }) => tape.operations.filter(({ part }) => part !== undefined));
    assert.ok(found.length > 0);
    // `TiledMLP` of Unsloth Zoo 2026.10.9 around a gated MLP of these sizes, frozen, [1, 2048, 256] in bf16, eight parts, torch 2.13 on
    // the CPU: 2,752,512 bytes in forward with the result, 4,325,376 in backward with the gradient of the input, 1,048,576 each.
    for (const { forwardScratch, backwardScratch, saves, inputs } of found) {
      assert.equal(forwardScratch, 2_752_512 - 1_048_576);
      assert.equal(backwardScratch, 4_325_376 - 1_048_576);
      assert.deepEqual(
        saves,
        inputs.map(({ storage }) => storage),
      );
    }
  });

  it('has the same weights and computes the same, once more in backward', () => {
    for (const more of [{}, ADAPTERS]) {
      const plain = traced(more);
      const tiled = traced({ ...more, 'kernels.tiledMlp': true });
      assert.deepEqual(sumWeights(tiled.stages, tiled.run), sumWeights(plain.stages, plain.run));
      const flops = (stages: typeof plain.stages, of: 'flops' | 'backwardFlops') =>
        stages.flatMap(({ tape }) => tape.operations).reduce((all, operation) => all + operation[of], 0);
      assert.equal(flops(tiled.stages, 'flops'), flops(plain.stages, 'flops'));
      assert.ok(flops(tiled.stages, 'backwardFlops') > flops(plain.stages, 'backwardFlops'));
    }
  });
});
