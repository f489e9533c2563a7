import assert from 'node:assert/strict';
import { traceRun } from '../../../server/src/memory/traced-run';
import type { Weight } from '../../../server/src/model/tape';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, SMALL_LLAMA } from './a-run';

/** Bytes that the tapes of a run's stages keep for backward, each storage once. */
function keptOf(scheme: RunValues['quantization.fake'], more: RunValues = {}): number {
  const stages = traceRun(
    aModel(SMALL_LLAMA),
    aRun({
      'batch.micro': 1,
      'batch.sequence': 8,
      'precision.weights': 'bf16',
      'precision.compute': 'bf16',
      'precision.scheme': 'native',
      'quantization.fake': scheme,
      ...more,
    }),
  );
  let bytes = 0;
  for (const stage of stages) {
    const seen = new Set(stage.tape.operations.flatMap(({ saves }) => saves));
    for (const storage of seen) bytes += storage.bytes;
  }
  return bytes;
}

/** Elements of the weights of a run's stages, of which equal layers have one. */
function elementsOf(roles: readonly Weight['role'][], more: RunValues = {}): number {
  const stages = traceRun(aModel(SMALL_LLAMA), aRun(more));
  let elements = 0;
  for (const stage of stages)
    for (const weight of stage.tape.weights)
      if (roles.includes(weight.role)) elements += weight.localElements;
  return elements;
}

const LINEAR = elementsOf(['matrix', 'head']);

describe('what quantization-aware training keeps for backward', () => {
  // Printed by torch 2.13's partitioner over torchao 0.18's quantizers: outputs of forward that backward takes.
  it('is the rounded weight, and one fp32 number per element in groups of int4', () => {
    assert.equal(keptOf('int4') - keptOf('none'), (2 + 4) * LINEAR);
  });

  it('is a mask per element where whole rows are int8', () => {
    assert.equal(keptOf('int8') - keptOf('none'), (2 + 1) * LINEAR);
  });

  it('is a mask of the embedding and of inputs, too, which are rounded each to a tensor of its own', () => {
    const { hidden_size: hidden, intermediate_size: inner } = SMALL_LLAMA;
    // Into q, k, v, o, gate, up, the head; into the way down.
    const inputs = 8 * (7 * hidden + inner);
    // Plain layers keep theirs once for those that share one; what attention gives to o it keeps itself.
    const plain = 8 * (3 * hidden + inner);
    assert.equal(
      keptOf('int8-int4') - keptOf('none'),
      (2 + 1) * LINEAR + elementsOf(['embedding']) + (2 + 1) * inputs - 2 * plain,
    );
  });

  it('is the rounded weight alone where weights are frozen', () => {
    const adapters: RunValues = {
      'method.kind': 'lora',
      'lora.rank': 8,
      'lora.targets': ['q_proj', 'down_proj'],
    };
    // Before the first adapter nothing needs a gradient: the first layer's q, k and v keep no weight.
    const first = 3 * SMALL_LLAMA.hidden_size ** 2;
    assert.equal(
      keptOf('int4', adapters) - keptOf('none', adapters),
      2 * (elementsOf(['matrix', 'head'], adapters) - first),
    );
  });
});
