import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import { bytesOf } from '../../../server/src/memory/ledger';
import { shardingOf } from '../../../server/src/memory/sharding';
import { traceRun } from '../../../server/src/memory/traced-run';
import { sumWeights } from '../../../server/src/memory/weights';
import { findModel } from '../../../server/src/model/catalog';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, CARD, SMALL_LLAMA } from './a-run';

const QLORA: RunValues = {
  'method.kind': 'lora',
  'lora.rank': 16,
  'lora.dropout': 0.1,
  'lora.targets': ['q_proj', 'k_proj', 'v_proj', 'o_proj'],
  'quantization.kind': 'nf4',
  'quantization.double': true,
  'quantization.prepared': true,
  'precision.weights': 'bf16',
  'precision.compute': 'bf16',
  'precision.scheme': 'autocast',
};

describe('weights beside quantized ones that TRL casts back', () => {
  const allocated = (config: Record<string, unknown>, recast: boolean) => {
    const run = aRun({ ...QLORA, 'quantization.recast': recast });
    const stages = traceRun(aModel(config), run);
    return bytesOf(shardingOf(run, sumWeights(stages, run), stages).atRest, 'weights');
  };

  it('are embedding and head: 2 bytes of 4 for each of their elements', () => {
    const ends = 2 * SMALL_LLAMA.vocab_size * SMALL_LLAMA.hidden_size;
    assert.equal(allocated(SMALL_LLAMA, false) - allocated(SMALL_LLAMA, true), 2 * ends);
    const tied = { ...SMALL_LLAMA, tie_word_embeddings: true };
    assert.equal(allocated(tied, false) - allocated(tied, true), ends);
  });

  // foundation-model-stack/fms-acceleration, scripts/benchmarks/refs/a100_80gb.csv: `baseline-peft-bnb` on one GPU, packed to
  // 4096 tokens, transformers 4.48.1, TRL 0.13, torch 2.4.1; `mem_peak_torch_mem_alloc_in_bytes`.
  for (const [samples, bytes] of [
    [4, 20_669_338_112],
    [8, 37_002_646_016],
  ] as const) {
    it(`meets Mistral 7B with ${samples} samples as published`, () => {
      const model = findModel('mistralai/Mistral-7B-v0.1');
      assert.ok(model);
      const run = aRun({
        ...QLORA,
        'quantization.recast': true,
        'batch.micro': samples,
        'batch.sequence': 4096,
        'batch.packed': true,
        'attention.implementation': 'flash2',
        'activations.checkpointing': 'full',
        'activations.reentrant': true,
        'loss.implementation': 'full-shifted',
        'version.transformers': '4.48',
        'version.bitsandbytes': '0.43.3',
        'version.torch': '2.4',
      });
      const { peak } = estimate({ run, model, accelerator: CARD });
      assert.ok(Math.abs(peak.allocatedBytes / bytes - 1) < 0.002, `${peak.allocatedBytes} for ${bytes}`);
    });
  }
});
