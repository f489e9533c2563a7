import assert from 'node:assert/strict';
import { bytesOf } from '../../../server/src/memory/ledger';
import { shardingOf } from '../../../server/src/memory/sharding';
import { wrapsEndsApart } from '../../../server/src/memory/sharding-scheme';
import { traceRun } from '../../../server/src/memory/traced-run';
import { sumWeights } from '../../../server/src/memory/weights';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, SMALL_LLAMA } from './a-run';

const FSDP2: RunValues = {
  'hardware.gpus': 8,
  'parallel.data': 'fsdp2',
  'precision.weights': 'bf16',
  'precision.compute': 'bf16',
  'precision.scheme': 'fsdp',
  'lora.dtype': 'bf16',
};

describe('what FSDP wraps beside the layers', () => {
  it('lies apart from the root in Accelerate from 1.14 on, under FSDP 2', () => {
    const apart = (values: RunValues) => wrapsEndsApart(aRun({ ...FSDP2, ...values }));
    assert.equal(apart({ 'version.accelerate': '1.13.0' }), false);
    assert.equal(apart({ 'version.accelerate': '1.14.0' }), true);
    assert.equal(apart({ 'version.accelerate': '1.14.0', 'parallel.data': 'fsdp1' }), false);
    assert.equal(apart({ 'version.accelerate': '1.14.0', 'model.code': 'torchtune' }), false);
    assert.equal(apart({ 'version.accelerate': '1.13.0', 'fsdp.separateEnds': true }), true);
  });

  it('is gathered from the beginning only as the root', () => {
    const started = (version: string) => {
      const run = aRun({ ...FSDP2, 'version.accelerate': version });
      const stages = traceRun(aModel(SMALL_LLAMA), run);
      const plan = shardingOf(run, sumWeights(stages, run), stages).plan?.(stages);
      return bytesOf(plan?.start ?? new Float64Array(), 'gathered-parameters');
    };
    // Embedding, head and last norm, in bf16.
    assert.equal(started('1.13.0'), 2 * (2 * 32000 * 2048 + 2048));
    assert.ok(started('1.14.0') <= 2 * 2048);
  });
});

describe('frozen experts that are split over GPUs', () => {
  it('are shared by as many fewer', () => {
    const config = {
      ...SMALL_LLAMA,
      model_type: 'mixtral',
      num_key_value_heads: 8,
      num_local_experts: 8,
      num_experts_per_tok: 2,
    };
    for (const scheme of ['fsdp2', 'zero'] as const) {
      const run = aRun({
        ...FSDP2,
        'parallel.data': scheme,
        'zero.stage': 3,
        'zero.persistenceThreshold': 0,
        'precision.scheme': scheme === 'zero' ? 'deepspeed' : 'fsdp',
        'parallel.expert': 4,
        'method.kind': 'lora',
        'lora.targets': ['q_proj'],
      });
      const stages = traceRun(aModel(config), run);
      const sums = sumWeights(stages, run);
      assert.ok(sums.expertFrozen > 0.5 * sums.frozen);
      const trained = scheme === 'zero' ? 2 : 4;
      const expected =
        (trained * sums.trained + 2 * (sums.frozen - sums.expertFrozen)) / 8 + (2 * sums.expertFrozen) / 2;
      assert.equal(bytesOf(shardingOf(run, sums, stages).atRest, 'weights'), expected);
    }
  });
});

describe("adapters of Megatron's experts", () => {
  it('are split as the experts are, lie in the type of the weights, and have one module for gate and up', () => {
    const config = {
      ...SMALL_LLAMA,
      model_type: 'mixtral',
      num_hidden_layers: 2,
      num_key_value_heads: 8,
      num_local_experts: 8,
      num_experts_per_tok: 2,
    };
    const run = aRun({
      'hardware.gpus': 8,
      'parallel.data': 'ddp',
      'parallel.distributedOptimizer': true,
      'parallel.expert': 4,
      'parallel.expertTensor': 1,
      'precision.weights': 'bf16',
      'precision.compute': 'bf16',
      'precision.scheme': 'megatron',
      'model.code': 'megatron',
      'method.kind': 'lora',
      'lora.rank': 4,
      'lora.targets': ['all-linear'],
      'lora.dtype': 'fp32',
      'version.transformers': '4.57',
      'optimizer.name': 'adamw',
    });
    const stages = traceRun(aModel(config), run);
    const sums = sumWeights(stages, run);
    // Two layers of two experts here: 2048 to 2 x 5632 and 5632 to 2048, of rank 4.
    const experts = 2 * 2 * 4 * (2048 + 2 * 5632 + 5632 + 2048);
    assert.equal(sums.expertTrained, experts);
    const { atRest } = shardingOf(run, sums, stages);
    assert.equal(bytesOf(atRest, 'adapters'), 2 * sums.trained);
    // Eight GPUs hold the others' copies, two an expert's.
    assert.equal(bytesOf(atRest, 'master-weights'), 4 * ((sums.trained - experts) / 8 + experts / 2));
  });
});
