import assert from 'node:assert/strict';
import { TriedHistory, type TriedStep } from '../../../client/webview/tried-history';

const step = (turned: TriedStep['turned'], name?: string): TriedStep => ({
  turned,
  fix: name === undefined ? undefined : { name, values: {} },
});

describe('what was tried before', () => {
  it('is gone back to and forth again, step by step', () => {
    const history = new TriedHistory();
    const [nothing, one, two] = [step({}), step({ 'micro-batch': 2 }), step({ 'micro-batch': 2, gpus: 4 })];
    history.leave(nothing, one, 0);
    history.leave(one, two, 10);
    assert.deepEqual(history.undo(two), one);
    assert.deepEqual(history.undo(one), nothing);
    assert.equal(history.undo(nothing), undefined);
    assert.deepEqual(history.redo(nothing), one);
    assert.deepEqual(history.redo(one), two);
    assert.equal(history.canRedo, false);
  });

  it('has one step for a slider that is dragged, and two for two turns of it', () => {
    const history = new TriedHistory();
    history.leave(step({}), step({ 'micro-batch': 2 }), 0);
    history.leave(step({ 'micro-batch': 2 }), step({ 'micro-batch': 4 }), 100);
    history.leave(step({ 'micro-batch': 4 }), step({ 'micro-batch': 8 }), 200);
    assert.deepEqual(history.undo(step({ 'micro-batch': 8 })), step({}));
    assert.equal(history.canUndo, false);
    history.leave(step({}), step({ 'micro-batch': 2 }), 1000);
    history.leave(step({ 'micro-batch': 2 }), step({ 'micro-batch': 4 }), 3000);
    assert.deepEqual(history.undo(step({ 'micro-batch': 4 })), step({ 'micro-batch': 2 }));
  });

  it('forgets what was ahead when something else is tried, and keeps a found run as a step', () => {
    const history = new TriedHistory();
    history.leave(step({}), step({}, 'ZeRO 3'), 0);
    assert.deepEqual(history.undo(step({}, 'ZeRO 3')), step({}));
    history.leave(step({}), step({ gpus: 4 }), 10);
    assert.equal(history.canRedo, false);
  });
});
