import assert from 'node:assert/strict';
import { traceRun } from '../../../server/src/memory/traced-run';
import { findModel } from '../../../server/src/model/catalog';
import type { Model } from '../../../server/src/model/model';
import type { RunValues } from '../../../server/src/run/fields';
import { aRun } from './a-run';
import { unsettled } from './settled-blocks';

function named(id: string): Model {
  const model = findModel(id);
  assert.ok(model);
  return model;
}

/** Tensors of a step with as many rows as columns, of a length: how they grow. */
function squares(model: Model, sequence: number): (readonly [string, boolean])[] {
  const run = aRun({ 'batch.sequence': sequence, 'attention.implementation': 'eager' });
  return traceRun(model, run).flatMap(({ tape }) =>
    tape.operations.flatMap(({ outputs }) =>
      outputs
        .filter(({ shape }) => shape.length === 4 && shape[2] === sequence && shape[3] === sequence)
        .map(({ storage }) => [storage.name, storage.quadratic === true] as const),
    ),
  );
}

describe('blocks of a step', () => {
  const wide: readonly (readonly [string, RunValues])[] = [
    ['google/gemma-3n-E4B', {}],
    ['google/gemma-3n-E4B', { 'activations.checkpointing': 'full', 'activations.reentrant': true }],
    ['google-t5/t5-small', { 'attention.implementation': 'eager' }],
    ['google/gemma-2-2b', { 'attention.implementation': 'eager' }],
  ];
  for (const [id, values] of wide) {
    it(`of ${id} are given back as they were asked for, at a length that is also its width`, () => {
      const model = named(id);
      const batch: RunValues = { 'batch.micro': 2, 'batch.sequence': model.hiddenSize };
      assert.deepEqual(unsettled(model, { ...batch, ...values }), []);
    });
  }

  it('grow with the square of the length where they hold scores, whatever sizes coincide', () => {
    const scores = squares(named('google/gemma-2-2b'), 777);
    assert.ok(scores.length > 0);
    assert.deepEqual(
      scores.filter(([, quadratic]) => !quadratic),
      [],
    );
    const streams = squares(named('google/gemma-3n-E4B'), 2048).filter(
      ([name]) => !/attention|attn|mask/.test(name),
    );
    assert.deepEqual(
      streams.filter(([, quadratic]) => quadratic),
      [],
    );
    assert.ok(streams.length > 0);
  });
});
