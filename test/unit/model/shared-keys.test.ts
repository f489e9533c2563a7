import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import { findAccelerator } from '../../../server/src/hardware/catalog';
import { traceRun } from '../../../server/src/memory/traced-run';
import { findModel } from '../../../server/src/model/catalog';
import type { RunValues } from '../../../server/src/run/fields';
import { aRun } from '../memory/a-run';

const accelerator = findAccelerator('A100') ?? assert.fail();
/** Linear layers of the language model alone, as Unsloth takes them without its vision layers. */
const LANGUAGE =
  '(?:model\\.)?(?:language_model\\.)?layers\\.[0-9]+\\..*\\.(?:q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj)';
const LORA: RunValues = {
  'method.kind': 'lora',
  'lora.rank': 8,
  'lora.targetPattern': LANGUAGE,
  'precision.weights': 'bf16',
  'kernels.unsloth': true,
};

const modelOf = (id: string) => findModel(id) ?? assert.fail(id);

describe('layers that share keys and values', () => {
  // The first three are what notebooks of Unsloth printed under the release that they pin (`Trainable parameters = ... of ...`).
  for (const [id, release, trained] of [
    ['google/gemma-3n-E4B', '4.56.2', 19_210_240],
    ['google/gemma-4-E2B', '5.5.0', 12_668_928],
    ['google/gemma-4-E4B', '5.5.0', 18_350_080],
    ['google/gemma-3n-E4B', '5.5.4', 19_210_240],
    ['google/gemma-3n-E4B', '5.6.0', 18_595_840],
    ['google/gemma-4-E2B', '5.5.2', 12_079_104],
    ['google/gemma-4-E4B', '5.23.0', 17_440_768],
  ] as const) {
    it(`have projections of their own as transformers ${release} has ${id}`, () => {
      const run = aRun({ ...LORA, 'version.transformers': release });
      assert.equal(estimate({ run, model: modelOf(id), accelerator }).model.trainableParameters, trained);
    });
  }

  it('compute keys of their own where those releases checkpoint, and Unsloth hands none over', () => {
    const flopsOf = (values: RunValues) => {
      const run = aRun({ ...LORA, 'version.transformers': '4.56.2', ...values });
      return traceRun(modelOf('google/gemma-3n-E4B'), run)
        .flatMap(({ tape, copies }) => tape.operations.map(({ flops }) => copies * flops))
        .reduce((sum, flops) => sum + flops, 0);
    };
    const shared = flopsOf({ 'activations.checkpointing': 'full' });
    const own = { 'kernels.unsloth': false } as const;
    assert.equal(shared, flopsOf({ 'activations.checkpointing': 'none' }));
    const computed = flopsOf({ ...own, 'activations.checkpointing': 'full' });
    assert.ok(computed > flopsOf({ ...own, 'activations.checkpointing': 'none' }));
  });
});
