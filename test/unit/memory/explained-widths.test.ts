import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, CARD, SMALL_LLAMA } from './a-run';

const formulaIn = (values: RunValues, category: string) =>
  estimate({ run: aRun(values), model: aModel(SMALL_LLAMA), accelerator: CARD }).parts.find(
    (part) => part.category === category,
  )?.formula;

describe('formulas of parts', () => {
  const lora: RunValues = { 'method.kind': 'lora', 'lora.targets': ['q_proj'], 'optimizer.name': 'adamw' };

  it("take the states' width from the type of adapters", () => {
    const formula = (dtype: 'fp32' | 'bf16', weights: 'fp32' | 'bf16') =>
      formulaIn({ ...lora, 'lora.dtype': dtype, 'precision.weights': weights }, 'optimizer-states');
    assert.match(formula('bf16', 'fp32') ?? '', /× 4 bytes/);
    assert.match(formula('fp32', 'bf16') ?? '', /× 8 bytes/);
  });

  it('take the width of upcast weights', () => {
    const packed: RunValues = { ...lora, 'quantization.kind': 'nf4', 'precision.weights': 'bf16' };
    assert.match(formulaIn({ ...packed, 'quantization.prepared': true }, 'weights') ?? '', /× 4 bytes/);
    assert.match(formulaIn({ ...packed, 'quantization.prepared': false }, 'weights') ?? '', /× 2 bytes/);
  });

  it('have a rank where the adapters have one', () => {
    const adapters = (values: RunValues) => formulaIn({ ...lora, ...values }, 'adapters') ?? '';
    assert.match(adapters({ 'lora.rank': 8 }), /\(rank 8\)$/);
    assert.match(adapters({ 'lora.kind': 'fourierft', 'lora.rank': 100 }), /\(100 frequencies\)$/);
    for (const kind of ['prompt-tuning', 'prefix-tuning', 'p-tuning'] as const)
      assert.match(
        adapters({ 'lora.kind': kind, 'lora.virtualTokens': 20 }),
        /^[\d.,KM]+ adapter parameters × \d bytes \(20 virtual tokens\)$/,
        kind,
      );
    for (const kind of ['ia3', 'oft', 'boft'] as const)
      assert.match(adapters({ 'lora.kind': kind, 'lora.blockSize': 4 }), /× \d bytes$/, kind);
  });
});
