import assert from 'node:assert/strict';
import { catalogEntries, findModel } from '../../../server/src/model/catalog';
import type { RunValues } from '../../../server/src/run/fields';
import { unsettled } from '../../unit/memory/settled-blocks';

/** One model of each type. */
const FIRST = [...new Map(catalogEntries().map(({ id, model_type }) => [model_type, id])).values()];

describe('blocks of a step of any model type', () => {
  const plain: readonly RunValues[] = [
    { 'activations.checkpointing': 'none' },
    { 'activations.checkpointing': 'full', 'activations.reentrant': false },
    { 'activations.checkpointing': 'full', 'activations.reentrant': true },
  ];
  for (const attention of ['eager', 'sdpa'] as const) {
    for (const values of plain) {
      const reentrant = values['activations.reentrant'] ? ', reentrant' : '';
      it(`are all given back: ${attention}, ${values['activations.checkpointing']}${reentrant}`, () => {
        for (const id of FIRST) {
          const model = findModel(id);
          assert.ok(model);
          for (const sequence of [777, 1024, model.hiddenSize]) {
            const of: RunValues = { 'batch.sequence': sequence, 'attention.implementation': attention };
            const open = unsettled(model, { 'batch.micro': 2, ...of, ...values });
            assert.deepEqual(open, [], `${id} at ${sequence} tokens`);
          }
        }
      });
    }
  }
});
