import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, CARD } from './a-run';

const MIXTRAL = {
  model_type: 'mixtral',
  hidden_size: 256,
  num_hidden_layers: 2,
  num_attention_heads: 8,
  num_key_value_heads: 4,
  intermediate_size: 512,
  vocab_size: 1000,
  num_local_experts: 8,
  num_experts_per_tok: 2,
};

function noted(values: RunValues): boolean {
  const run = aRun({ 'precision.weights': 'bf16', ...values });
  const { notes } = estimate({ run, model: aModel(MIXTRAL), accelerator: CARD });
  return notes.some((note) => /stacked/.test(note));
}

describe('the note on balancing losses that a layer keeps', () => {
  const notes = (values: RunValues) =>
    estimate({
      run: aRun({ 'loss.routerLogits': true, 'activations.checkpointing': 'full', ...values }),
      model: aModel(MIXTRAL),
      accelerator: CARD,
    }).notes.filter((note) => /balancing loss/.test(note)).length;

  it('stands where layers are recomputed and the loss is taken', () => {
    assert.equal(notes({}), 1);
    assert.equal(notes({ 'activations.checkpointing': 'selective' }), 1);
  });

  it('stands nowhere else', () => {
    assert.equal(notes({ 'loss.routerLogits': false }), 0);
    assert.equal(notes({ 'activations.checkpointing': 'none' }), 0);
  });
});

describe('the note on experts that stay unquantized', () => {
  const qlora: RunValues = {
    'method.kind': 'lora',
    'lora.targets': ['all-linear'],
    'quantization.kind': 'nf4',
  };

  it('stands where they do: transformers 5 stacks them', () => {
    assert.equal(noted({ ...qlora, 'version.transformers': '5.23' }), true);
  });

  it('stands nowhere else: not where they are quantized, not where nothing is', () => {
    assert.equal(noted({ ...qlora, 'version.transformers': '4.57' }), false);
    assert.equal(noted({ ...qlora, 'version.transformers': '5.23', 'quantization.experts': true }), false);
    assert.equal(noted({ 'version.transformers': '5.23' }), false);
    assert.equal(noted({ 'version.transformers': '5.23', 'model.code': 'megatron' }), false);
  });
});
