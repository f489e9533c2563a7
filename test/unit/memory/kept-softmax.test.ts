import assert from 'node:assert/strict';
import { bytesOf, emptyLedger } from '../../../server/src/memory/ledger';
import { shardingOf } from '../../../server/src/memory/sharding';
import { walkStep } from '../../../server/src/memory/step';
import { traceRun } from '../../../server/src/memory/traced-run';
import { sumWeights } from '../../../server/src/memory/weights';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, SMALL_LLAMA } from './a-run';

const TOKENS = 1024;
const LOGITS = TOKENS * SMALL_LLAMA.vocab_size;

/** What still lies there of logits and loss at the end of backward, bytes. */
function atEnd(kept: RunValues['loss.keptLogits']): number {
  const run = aRun({
    'batch.micro': 1,
    'batch.sequence': TOKENS,
    'precision.weights': 'bf16',
    'precision.compute': 'bf16',
    'precision.scheme': 'native',
    'loss.implementation': 'full-shifted',
    'loss.keptLogits': kept,
  });
  const stages = traceRun(aModel(SMALL_LLAMA), run);
  const sharding = shardingOf(run, sumWeights(stages, run), stages);
  const { points } = walkStep(stages, run, sharding, emptyLedger());
  const last = points.filter(({ moment }) => moment === 'backward').at(-1);
  assert.ok(last);
  return bytesOf(last.ledger, 'logits-and-loss');
}

describe('logits that a training loop keeps through backward', () => {
  it('are in the type of the head', () => {
    assert.equal(atEnd('backward') - atEnd('none'), 2 * LOGITS);
  });

  it('have their fp32 softmax beside them where the loop keeps it too', () => {
    assert.equal(atEnd('backward-with-softmax') - atEnd('backward'), 4 * LOGITS);
  });
});
