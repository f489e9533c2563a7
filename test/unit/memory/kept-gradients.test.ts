import * as assert from 'node:assert/strict';
import { rounded } from '../../../server/src/memory/play';
import { playBackward } from '../../../server/src/memory/play-backward';
import { traceRun } from '../../../server/src/memory/traced-run';
import { aModel, aRun } from './a-run';

describe('gradients that take the place of what was kept', () => {
  const [rows, width, inner, tokens] = [64_000, 512, 1536, 256];
  const model = aModel({
    model_type: 'llama',
    vocab_size: rows,
    hidden_size: width,
    intermediate_size: inner,
    num_hidden_layers: 2,
    num_attention_heads: 8,
    tie_word_embeddings: false,
  });
  const run = aRun({
    'batch.micro': 1,
    'batch.sequence': tokens,
    'kernels.liger': true,
    'precision.weights': 'bf16',
    'precision.compute': 'bf16',
    'precision.scheme': 'native',
  });
  const stages = traceRun(model, run);
  const backward = (role: string) => {
    const traced = stages.find(({ stage }) => stage.role === role);
    assert.ok(traced);
    const { events, exit } = playBackward(traced.tape, { gradients: 'keep', holdGradient: false });
    const asked = (bytes: number) => events.filter((event) => event.bytes === rounded(bytes)).length;
    return { asked, exit, events, tape: traced.tape };
  };

  it("are the tensors that Liger's loss made in forward", () => {
    const { asked, tape, events } = backward('head');
    assert.equal(asked(2 * rows * width), 0);
    const kept = tape.operations.flatMap(({ keptGradients }) => [...(keptGradients?.values() ?? [])]);
    assert.deepEqual(
      kept.map(({ bytes, fixed = false }) => [bytes, fixed]),
      [
        [2 * tokens * width, false],
        [2 * rows * width, true],
      ],
    );
    // The gradient of the weight stays where it is: nothing of its size is given back.
    assert.ok(events.every(({ bytes }) => bytes !== -rounded(2 * rows * width)));
  });

  it("are gate and up of Liger's MLP, over which it writes them", () => {
    const { asked } = backward('layer');
    // The gradient of the product alone is new.
    assert.equal(asked(2 * tokens * inner), 1);
  });

  it('leave as much behind as new ones would', () => {
    const { exit, tape } = backward('head');
    const weights = tape.weights.reduce((sum, { localElements }) => sum + 2 * localElements, 0);
    let left = 0;
    for (const bytes of exit) left += bytes;
    const kept = new Set(tape.operations.flatMap(({ saves }) => saves));
    const before = [...kept].reduce((sum, { bytes }) => sum + rounded(bytes), 0);
    // Gradients of weights and of the input come, what was kept and the gradient of the loss go.
    assert.equal(left, weights + rounded(2 * tokens * width) - before - rounded(4));
  });
});
