import assert from 'node:assert/strict';
import { bytesOf, emptyLedger } from '../../../server/src/memory/ledger';
import { shardingOf } from '../../../server/src/memory/sharding';
import { walkStep } from '../../../server/src/memory/step';
import { traceRun } from '../../../server/src/memory/traced-run';
import { sumWeights } from '../../../server/src/memory/weights';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, SMALL_LLAMA } from './a-run';

const GRANITE = {
  ...SMALL_LLAMA,
  model_type: 'granitemoe',
  architectures: ['GraniteMoeForCausalLM'],
  num_local_experts: 4,
  num_experts_per_tok: 2,
  logits_scaling: 8,
};
const SAMPLES = 2;
const TOKENS = 1024;
const LOGITS = SAMPLES * TOKENS * SMALL_LLAMA.vocab_size;

/** What lies there of logits and loss when the loss takes the most, bytes. */
function atLoss(
  loss: RunValues['loss.implementation'],
  config: Record<string, unknown> = SMALL_LLAMA,
  values: RunValues = {},
): number {
  const run = aRun({
    'batch.micro': SAMPLES,
    'batch.sequence': TOKENS,
    'precision.weights': 'bf16',
    'precision.compute': 'bf16',
    'precision.scheme': 'native',
    'loss.implementation': loss,
    ...values,
  });
  const stages = traceRun(aModel(config), run);
  const sharding = shardingOf(run, sumWeights(stages, run), stages);
  const walk = walkStep(stages, run, sharding, emptyLedger());
  const points = walk.points.filter((point) => point.moment === 'loss');
  return Math.max(...points.map((point) => bytesOf(point.ledger, 'logits-and-loss')));
}

describe('logits that transformers made fp32', () => {
  // `logits = self.lm_head(...).float()`: the 16-bit ones have no name and go; the fp32 ones, their shifted copy and the
  // log-softmax lie there together (transformers 4.45, `modeling_llama.py`).
  it('take the place of the 16-bit ones where the model upcast them, before 4.46', () => {
    assert.equal(atLoss('full-upcast'), (4 + 4 + 4) * LOGITS + 512);
  });

  // `loss_function(logits=logits, ...)` upcasts a copy of its own: the model still names the 16-bit ones (4.48, `loss_utils.py`).
  it('lie beside the 16-bit ones where the loss upcasts them', () => {
    assert.equal(atLoss('full-shifted'), (2 + 4 + 4 + 4) * LOGITS + 512);
  });

  // `loss_fct(shift_logits.view(...), ...)` of `lm_logits[..., :-1, :].contiguous()` (4.48, `modeling_gpt_neox.py`).
  it('are none in GPT-NeoX and its like before 4.49, which scored a copy of the 16-bit ones', () => {
    const neox = { ...SMALL_LLAMA, model_type: 'gpt_neox' };
    const at = (version: string) => atLoss('full-shifted', neox, { 'version.transformers': version });
    assert.equal(at('4.48'), (2 + 2 + 2) * LOGITS + 512);
    assert.equal(at('4.49'), (2 + 4 + 4 + 4) * LOGITS + 512);
    assert.equal(atLoss('full-shifted', SMALL_LLAMA, { 'version.transformers': '4.48' }), 14 * LOGITS + 512);
  });

  // The copies in chunks are never written (inductor fuses them), but Accelerate returns the logits in fp32 under autocast.
  it('are none where chunks of the loss are compiled, but for what autocast returns', () => {
    const rows = 2 * 4 * SAMPLES * TOKENS;
    assert.equal(atLoss('compiled-chunks'), 2 * LOGITS + rows + 512);
    const scheme = { 'precision.scheme': 'autocast' } as const;
    assert.equal(atLoss('compiled-chunks', SMALL_LLAMA, scheme), (2 + 4) * LOGITS + rows + 512);
  });

  it('take the place of scaled ones, too', () => {
    const granite = { ...SMALL_LLAMA, model_type: 'granite', logits_scaling: 8 };
    assert.equal(atLoss('full-upcast', granite), (4 + 4 + 4) * LOGITS + 512);
  });

  it('are those of Granite with experts before transformers 5, whatever takes the loss', () => {
    const granite = { ...GRANITE, vocab_size: SMALL_LLAMA.vocab_size };
    const of = (transformers: string) =>
      atLoss('in-place', granite, { 'version.transformers': transformers, 'kernels.unsloth': true });
    // Scaled ones in 16 bits until the fp32 ones are there; the kernel writes the gradient over those.
    assert.ok(Math.abs(of('4.57.3') - (2 + 4) * LOGITS) < LOGITS / 10, `${of('4.57.3') / LOGITS}`);
    assert.ok(of('5.0.0') <= of('4.57.3') - 2 * LOGITS);
  });
});
